#include "model/util/thread_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

namespace spillway {
namespace {

TEST_CASE("values are the same with any number of helpers, whichever is asked for first") {
  for (const int threads : {0, 1, 2, 3, 8}) {
    ThreadPool helpers(threads);
    std::vector<Future<int>> later;
    for (int k = 0; k < 50; ++k) later.push_back(helpers.Submit([k] { return k * k; }));
    for (int k = 49; k >= 0; k -= 2) CHECK(later[static_cast<std::size_t>(k)].Get() == k * k);
    for (int k = 0; k < 50; k += 2) CHECK(later[static_cast<std::size_t>(k)].Get() == k * k);
  }
}

TEST_CASE("without helpers nothing is made that nobody asks for, and that when it is asked for") {
  ThreadPool helpers(1);
  std::string made;
  {
    Future<int> first = helpers.Submit([&] { return made += "first ", 1; });
    Future<int> dropped = helpers.Submit([&] { return made += "dropped ", 2; });
    Future<int> last = helpers.Submit([&] { return made += "last ", 3; });
    CHECK(last.Get() == 3);
    CHECK(first.Get() == 1);
  }
  CHECK(made == "last first ");
}

TEST_CASE("what a helper throws, the one who asks gets") {
  for (const int threads : {1, 2}) {
    ThreadPool helpers(threads);
    Future<int> later = helpers.Submit([]() -> int { throw std::runtime_error("thirteen"); });
    CHECK_THROWS_WITH(later.Get(), "thirteen");
  }
}

// The one that is dropped while it is made would go on for ever, and the helpers end only when it has.
TEST_CASE("what is dropped is told to stop, or never begun") {
  for (const int threads : {2, 3}) {
    std::atomic<int> begun{0}, ended{0};
    {
      ThreadPool helpers(threads);
      std::vector<Future<int>> later;
      for (int k = 0; k < 20; ++k) {
        later.push_back(helpers.Submit([&](const std::stop_token& stop) {
          ++begun;
          while (!stop.stop_requested()) std::this_thread::yield();
          return ++ended, 0;
        }));
      }
      while (begun < threads) std::this_thread::yield();
      later.clear();
      CHECK(helpers.Submit([] { return 7; }).Get() == 7);
    }
    CHECK(begun == ended);
  }
}

TEST_CASE("what is asked for is made before what waits") {
  ThreadPool helpers(2);
  std::atomic<bool> go{false};
  std::atomic<int> made{0};
  std::vector<Future<int>> later;
  for (int k = 0; k < 2; ++k) {
    later.push_back(helpers.Submit([&] {
      while (!go) std::this_thread::yield();
      return 0;
    }));
  }
  for (int k = 0; k < 100; ++k) {
    later.push_back(helpers.Submit([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return static_cast<int>(made++);
    }));
  }
  go = true;
  CHECK(later.back().Get() < 50);
}

}  // namespace
}  // namespace spillway
