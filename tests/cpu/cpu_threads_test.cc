// Threads that stand for streams: order, events, failures, and that nobody sleeps through anything.
#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "calibrate/devices/cpu/stream.h"
#include "calibrate/host/pin.h"
#include "hw/text/document.h"

namespace spillway {
namespace {

using Done = std::vector<std::uint32_t>;

TEST_CASE("things are done in order, once each") {
  Done done;
  CpuEvent end;
  CpuStream stream({}, [&](std::uint32_t instruction) { done.push_back(instruction); });
  for (std::uint32_t k = 0; k < 500; ++k) REQUIRE(stream.Call(k));
  REQUIRE(stream.Record(500, end));
  REQUIRE(end.Wait(kSpinShared));
  REQUIRE(done.size() == 500);
  CHECK(std::is_sorted(done.begin(), done.end()));
  while (stream.done() != 501) std::this_thread::yield();  // the event fires a moment before it counts as done
  CHECK(stream.At().instruction == kNoInstruction);
}

TEST_CASE("a destroyed stream has done everything") {
  Done done;
  {
    CpuStream stream({}, [&](std::uint32_t instruction) { done.push_back(instruction); });
    stream.Call(7);
  }
  CHECK(done == Done{7});
}

TEST_CASE("a stream waits for another one's event") {
  CpuEvent first, second, end;
  Done done;  // only one of the two may be at it
  const auto note = [&](std::uint32_t instruction) { done.push_back(instruction); };
  CpuStream a({}, note), b({}, note);
  b.Wait(0, first);  // given before it is recorded: the owner may do so, the contract's clause 2 is the device's
  b.Call(1);
  b.Record(2, second);
  a.Call(3);
  a.Record(4, first);
  a.Wait(5, second);
  a.Call(6);
  a.Record(7, end);
  end.Wait(kSpinShared);
  CHECK(done == Done{3, 1, 6});
}

// Two streams in turn, each step behind the other's: a wake-up that got lost would stop it for ever.
void PingPong(Spin spin, int rounds) {
  std::vector<CpuEvent> events(static_cast<std::size_t>(rounds));
  std::uint32_t sum = 0;
  StreamFailure failure;
  const CpuStreamOptions options{.capacity = 100000, .spin = spin, .failure = &failure};
  const auto add = [&](std::uint32_t instruction) { sum = 3 * sum + instruction; };
  CpuStream a(options, add), b(options, add);
  std::uint32_t expected = 0;
  for (std::uint32_t k = 0; k < events.size(); ++k) {
    CpuStream& stream = k % 2 == 0 ? a : b;
    if (k > 0) stream.Wait(k, events[k - 1]);
    stream.Call(k);
    stream.Record(k, events[k]);
    expected = 3 * expected + k;
    if (k % 100 == 99) events[k].Wait(spin);  // the owner in between; queues run empty
  }
  events.back().Wait(spin);
  CHECK(sum == expected);
}

TEST_CASE("no wake-up is lost, whether threads spin or sleep") {
  PingPong({}, 4000);
  PingPong({.pauses = 3}, 4000);
  PingPong(kSpinShared, 4000);
}

TEST_CASE("waiting has an end if one is asked for") {
  CpuEvent never;
  CHECK_FALSE(never.Wait({}, 2 * kMillisecond));
  CHECK_FALSE(never.Wait(kSpinShared, 0));
  never.Fire();
  CHECK(never.Wait({}, 0));
  never.Reset();
  CHECK_FALSE(never.fired());
}

TEST_CASE("a stream takes no more than it has room for") {
  CpuEvent go, end;
  Done done;
  CpuStream stream({.capacity = 3}, [&](std::uint32_t instruction) { done.push_back(instruction); });
  REQUIRE(stream.Wait(0, go));
  REQUIRE(stream.Call(1));
  REQUIRE(stream.Call(2));
  CHECK_FALSE(stream.Call(3));
  CHECK(stream.At().instruction == 0);
  CHECK(stream.At().waits);
  go.Fire();
  while (stream.done() != 3) std::this_thread::yield();
  REQUIRE(stream.Call(4));  // and again, around the ring's end
  REQUIRE(stream.Record(5, end));
  end.Wait(kSpinShared);
  CHECK(done == Done{1, 2, 4});
}

TEST_CASE("an exception is kept with its instruction, and what comes behind is left out") {
  StreamFailure failure;
  CpuEvent end, never;
  Done done;
  CpuStream stream({.failure = &failure}, [&](std::uint32_t instruction) {
    done.push_back(instruction);
    if (instruction == 1) throw std::runtime_error("broken");
  });
  failure.Check();
  for (std::uint32_t k = 0; k < 3; ++k) stream.Call(k);
  stream.Wait(3, never);  // nobody will fire it: it is left out too
  stream.Record(4, end);  // events fire all the same
  end.Wait(kSpinShared);
  CHECK(done == Done{0, 1});
  try {
    failure.Check();
    FAIL("it says nothing");
  } catch (const DeviceError& error) {
    CHECK(error.fault() == Fault::kFailed);
    CHECK(error.instruction() == 1);
    CHECK(std::string(error.what()) == "broken");
  }
}

TEST_CASE("a stream that waits is let go by another one's failure") {
  StreamFailure failure;
  CpuEvent late, end;
  Done done;
  CpuStream waits({.failure = &failure}, [&](std::uint32_t k) { done.push_back(k); });
  CpuStream fails({.failure = &failure}, [&](std::uint32_t k) { throw DeviceError(Fault::kContents, k, "nothing"); });
  waits.Wait(0, late);
  waits.Call(1);
  waits.Record(2, end);
  fails.Call(3);
  fails.Record(4, late);
  end.Wait(kSpinShared);
  CHECK(done.empty());
  CHECK_THROWS_WITH(failure.Check(), "nothing");
}

TEST_CASE("cores are shared out") {
  using Cores = std::vector<int>;
  const auto choose = [](const Cores& allowed, int threads, int compute = -1, int copy = -1) {
    const CoreChoice choice = ChooseCores(allowed, threads, compute, copy);
    return std::make_tuple(choice.compute, choice.others, choice.shared);
  };
  CHECK(choose({0, 1}, 1) == std::make_tuple(Cores{1}, Cores{0}, false));
  CHECK(choose({2, 5, 7, 9}, 2) == std::make_tuple(Cores{7, 9}, Cores{2, 5}, false));
  CHECK(choose({0, 1}, 1, 0) == std::make_tuple(Cores{0}, Cores{1}, false));
  CHECK(choose({0, 1, 2, 3}, 1, -1, 3) == std::make_tuple(Cores{2}, Cores{3}, false));
  CHECK(choose({0, 1, 2, 3}, 1, 1, 2) == std::make_tuple(Cores{1}, Cores{2}, false));
  // The compute core is one of several.
  CHECK(choose({0, 1, 2, 3}, 2, 0) == std::make_tuple(Cores{0, 3}, Cores{1, 2}, false));
  CHECK(choose({0, 1, 2, 3}, 2, 1, 3) == std::make_tuple(Cores{1, 2}, Cores{3}, false));
  CHECK(choose({0, 1}, 1, 0, 0) == std::make_tuple(Cores{0}, Cores{0}, true));
  CHECK(choose({3}, 1) == std::make_tuple(Cores{3}, Cores{3}, true));
  CHECK(choose({0, 1}, 2) == std::make_tuple(Cores{0, 1}, Cores{0, 1}, true));
  CHECK(choose({0, 1}, 1, 8, 9) == std::make_tuple(Cores{1}, Cores{0}, false));  // cores that are not ours
  CHECK(choose({}, 1) == std::make_tuple(Cores{}, Cores{}, false));
  CHECK(CoresText(Cores{1}) == "core 1");
  CHECK(CoresText(Cores{2, 3}) == "cores 2, 3");
  CHECK(CoresText(Cores{}) == "any core");
}

TEST_CASE("more threads than cores are refused") {
  const int cores = static_cast<int>(AllowedCores().size());
  REQUIRE(cores > 0);
  CHECK_NOTHROW(NeedCores(cores, "mine"));
  CHECK_THROWS_AS(NeedCores(cores + 1, "mine"), UserError);
  CHECK_THROWS_WITH(NeedCores(cores + 1, "mine"), "mine: computes on " + std::to_string(cores + 1) +
                                                      " threads, but this process may use " + std::to_string(cores) +
                                                      (cores == 1 ? " core" : " cores") + " of this machine");
}

TEST_CASE("a stream runs on its core, and the owner comes back to where it was") {
  const std::vector<int> allowed = AllowedCores();
  REQUIRE(!allowed.empty());
  std::vector<int> there;
  CpuEvent end;
  {
    CpuStream stream({.cores = {allowed.back()}}, [&](std::uint32_t) { there = AllowedCores(); });
    stream.Call(0);
    stream.Record(1, end);
    end.Wait(kSpinShared);
    CHECK((!stream.pinned() || there == std::vector<int>{allowed.back()}));
    const PinnedHere here(std::vector<int>{allowed.front()});
    CHECK((!here.pinned() || AllowedCores() == std::vector<int>{allowed.front()}));
  }
  CHECK(AllowedCores() == allowed);
  CHECK_FALSE(PinThisThread(100000));
  CHECK_FALSE(PinThisThread(std::vector<int>{}));
}

}  // namespace
}  // namespace spillway
