#include "model/util/once_cache.h"

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace spillway {
namespace {

using Plain = OnceCache<int, std::string>;
using Hashed = OnceCache<int, std::string, std::hash<int>>;

// Asks a cache of texts, and counts what is made.
template <typename Cache>
struct Asker {
  Cache& cache;
  int made = 0;
  std::string operator()(int key) {
    return cache.Get(key, [&] { return ++made, std::to_string(key); });
  }
  // True: `key` is kept. Asks for it if so, and makes nothing.
  bool Keeps(int key) {
    try {
      cache.Get(key, []() -> std::string { throw std::runtime_error("not kept"); });
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }
};

TEMPLATE_TEST_CASE("a value is made once for each key", "", Plain, Hashed) {
  TestType cache;
  Asker<TestType> ask{cache};
  for (int key = 0; key < 1000; ++key) CHECK(ask(key % 100) == std::to_string(key % 100));
  CHECK(ask.made == 100);
  cache.Clear();
  CHECK(ask(7) == "7");
  CHECK(ask.made == 101);
}

TEST_CASE("without a hash the value goes that was asked for longest ago") {
  Plain cache(3);
  Asker<Plain> ask{cache};
  for (const int key : {1, 2, 3, 1, 2, 1, 4}) ask(key);  // longest ago: 3
  CHECK(ask.made == 4);
  CHECK_FALSE(ask.Keeps(3));
  CHECK((ask.Keeps(2) && ask.Keeps(4) && ask.Keeps(1)));
  ask(5);
  CHECK_FALSE(ask.Keeps(2));
  CHECK(ask(2) == "2");  // made again
  CHECK(ask.made == 6);
}

TEST_CASE("with a hash all values go") {
  Hashed cache(3);
  Asker<Hashed> ask{cache};
  for (const int key : {1, 2, 3, 1, 4}) ask(key);
  CHECK(ask.Keeps(4));
  for (const int key : {1, 2, 3}) CHECK_FALSE(ask.Keeps(key));
}

TEST_CASE("values stay where they are, and need not be copied") {
  OnceCache<int, std::unique_ptr<int>, std::hash<int>> cache;
  const auto ask = [&](int key) -> const std::unique_ptr<int>& {
    return cache.Ref(key, [&] { return std::make_unique<int>(key); });
  };
  const std::unique_ptr<int>& first = ask(0);
  for (int key = 1; key < 1000; ++key) ask(key);
  CHECK(&ask(0) == &first);
  CHECK(*first == 0);
}

TEST_CASE("a maker may ask for other keys") {
  OnceCache<int, int> cache;
  int made = 0;
  const std::function<int(int)> fibonacci = [&](int n) -> int {
    return cache.Get(n, [&] { return ++made, n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); });
  };
  CHECK(fibonacci(30) == 832040);
  CHECK(made == 31);
}

TEST_CASE("a maker that throws makes nothing: who asks next runs his own") {
  Plain cache;
  Asker<Plain> ask{cache};
  CHECK_THROWS_WITH(cache.Get(1, []() -> std::string { throw std::runtime_error("no"); }), "no");
  CHECK(ask(1) == "1");
  CHECK(ask.made == 1);
}

TEMPLATE_TEST_CASE("threads that ask for the same get one", "", Plain, Hashed) {
  TestType cache;
  std::atomic<int> made = 0, right = 0;
  std::barrier begin(8);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        begin.arrive_and_wait();
        for (int key = 0; key < 200; ++key) {
          right += cache.Get(key, [&] { return ++made, std::to_string(key); }) == std::to_string(key) ? 1 : 0;
        }
      });
    }
  }
  CHECK(made == 200);
  CHECK(right == 8 * 200);
}

TEMPLATE_TEST_CASE("threads in need of room get what they ask for", "", Plain, Hashed) {
  TestType cache(5);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          const int key = (i * (t + 1)) % 11;
          right += cache.Get(key, [&] { return std::to_string(key); }) == std::to_string(key) ? 1 : 0;
        }
      });
    }
  }
  CHECK(right == 4 * 2000);
}

TEST_CASE("makers of different keys run at the same time") {
  Plain cache;
  std::barrier both(2);
  const auto ask = [&](int key) {
    cache.Get(key, [&] {
      both.arrive_and_wait();  // each waits for the other
      return std::to_string(key);
    });
  };
  std::jthread other([&] { ask(1); });
  ask(2);
}

// A thread asks while another one makes, which then does as `outcome` says.
template <typename Outcome>
std::string AskedMeanwhile(Plain& cache, const Outcome& outcome) {
  std::latch making(1);
  std::jthread maker([&] {
    try {
      cache.Get(1, [&]() -> std::string {
        making.count_down();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return outcome();
      });
    } catch (const std::runtime_error&) {
    }
  });
  making.wait();
  return cache.Get(1, [] { return std::string("my own"); });
}

TEST_CASE("who waits for a maker gets its value, or runs his own where it throws") {
  Plain good, bad, cleared;
  CHECK(AskedMeanwhile(good, [] { return std::string("first"); }) == "first");
  CHECK(AskedMeanwhile(bad, []() -> std::string { throw std::runtime_error("no"); }) == "my own");
  CHECK(AskedMeanwhile(cleared, [&] { return cleared.Clear(), std::string("kept after all"); }) == "kept after all");
}

}  // namespace
}  // namespace spillway
