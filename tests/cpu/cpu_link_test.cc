// The CPU device's link: arithmetic of the token bucket, times on a clock that tests set, contents of real copies.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <vector>

#include "calibrate/devices/cpu/link.h"
#include "sim/execute/clock.h"

namespace spillway {
namespace {

TEST_CASE("bucket without depth: tokens are paid one after another") {
  TokenBucket bucket(0.5, 0);  // a byte takes 2 ns
  CHECK(bucket.Take(100, 1000) == 1200);
  CHECK(bucket.Take(50, 1100) == 1300);  // behind the first
  CHECK(bucket.Take(10, 1300) == 1320);
  CHECK(bucket.Take(10, 9000) == 9020);  // idle time buys nothing
  CHECK(bucket.Take(0, 9500) == 9500);
}

TEST_CASE("bucket with depth: as many tokens are kept") {
  TokenBucket bucket(2, 100);            // full: 50 ns worth
  CHECK(bucket.Take(60, 1000) == 1000);  // 40 left
  CHECK(bucket.Take(60, 1000) == 1010);  // 20 borrowed
  CHECK(bucket.Take(20, 1020) == 1020);  // paid back at 1010, 20 came in since
  CHECK(bucket.Take(10, 1020) == 1025);
  CHECK(bucket.Take(200, 5000) == 5050);  // full again: 100 at once, 100 more take 50 ns
}

TEST_CASE("parts of a nanosecond are not lost") {
  TokenBucket bucket(4, 0);
  Nanos last = 0;
  for (int k = 0; k < 4000; ++k) last = bucket.Take(1, 0);
  CHECK(last == 1000);  // 4000 / 4, not 4000 times a whole nanosecond
}

TEST_CASE("no rate, no waiting") {
  TokenBucket bucket(0, 0);
  CHECK(bucket.Take(1000000, 7) == 7);
}

// Goes on by 100 ns when it is looked at, and by what is slept. Every sleep takes `late` longer than asked for.
class ToyClock : public Clock {
 public:
  explicit ToyClock(Nanos late = 0) : late_(late) {}
  Nanos Now() const override { return now_ += 100; }
  Sleep Sleeper() {
    return [this](Nanos time) {
      REQUIRE(time > 0);
      ++sleeps_;
      now_ += time + late_;
    };
  }
  int sleeps() const { return sleeps_; }
  void Pass(Nanos time) { now_ += time; }

 private:
  mutable Nanos now_ = 1000;
  Nanos late_;
  int sleeps_ = 0;
};

constexpr Bytes kSize = kMiB;  // four chunks

Nanos TimeOfCopy(CpuLink& link, const Clock& clock, Direction direction, Bytes bytes) {
  const std::vector<char> from(static_cast<std::size_t>(bytes), 'x');
  std::vector<char> to(from.size());
  const Nanos start = clock.Now();
  link.Copy(direction, to.data(), from.data(), bytes);
  REQUIRE(to == from);
  return clock.Now() - start;
}

TEST_CASE("a copy takes as long as its bytes at the link's rate") {
  for (const double rate : {0.25, 1.0, 4.0}) {
    ToyClock clock;
    CpuLink link(rate, clock, clock.Sleeper());
    for (int k = 0; k < 3; ++k) {
      const Nanos time = TimeOfCopy(link, clock, Direction::kDeviceToHost, kSize);
      CHECK(time >= static_cast<Nanos>(kSize / rate));
      CHECK(time <= static_cast<Nanos>(kSize / rate) + 1000);  // looks at the clock
    }
    CHECK(clock.sleeps() > 0);
  }
}

TEST_CASE("late wake-ups are caught up") {
  ToyClock clock(50 * kMicrosecond);  // each chunk takes 262 us, and each wake-up comes 50 us late
  CpuLink link(1, clock, clock.Sleeper());
  CHECK(TimeOfCopy(link, clock, Direction::kDeviceToHost, 16 * kMiB) <= 16 * kMiB + 1000);
  ToyClock very_late(kMillisecond);  // later than a chunk takes: the next three need no sleep
  CpuLink slow(1, very_late, very_late.Sleeper());
  const Nanos time = TimeOfCopy(slow, very_late, Direction::kDeviceToHost, 16 * kMiB);
  CHECK(time <= 16 * kMiB + kMillisecond);
  CHECK(very_late.sleeps() <= 20);  // of 64 chunks
}

TEST_CASE("each direction has its own rate; time that nobody used is lost") {
  ToyClock clock;
  CpuLink link(1, clock, clock.Sleeper());
  const Nanos out = TimeOfCopy(link, clock, Direction::kDeviceToHost, kSize);
  CHECK(TimeOfCopy(link, clock, Direction::kHostToDevice, kSize) <= out + 1000);  // not behind the other
  clock.Pass(kSecond);
  CHECK(TimeOfCopy(link, clock, Direction::kHostToDevice, kSize) >= kSize);
}

TEST_CASE("an unlimited link neither sleeps nor looks at the clock") {
  ToyClock clock;
  CpuLink link(0, clock, clock.Sleeper());
  CHECK(TimeOfCopy(link, clock, Direction::kHostToDevice, kSize) == 100);  // the test's own look
  CHECK(clock.sleeps() == 0);
}

TEST_CASE("copies of any size arrive whole") {
  const SteadyClock clock;
  CpuLink limited(4, clock), unlimited(0, clock);
  for (CpuLink* link : {&limited, &unlimited}) {
    for (const std::size_t size : {0, 1, 3, 4096, 262143, 262144, 262145, 1000003}) {
      std::vector<std::uint32_t> from(size + 2), to(size + 2, 0);
      std::iota(from.begin(), from.end(), 1u);
      link->Copy(Direction::kHostToDevice, to.data() + 1, from.data() + 1, static_cast<Bytes>(size * 4));
      std::vector<std::uint32_t> wanted = from;
      wanted.front() = wanted.back() = 0;
      REQUIRE(to == wanted);
    }
  }
}

TEST_CASE("on a real clock too, a copy never takes less than its time") {
  const SteadyClock clock;
  CpuLink link(0.5, clock);
  const Nanos start = clock.Now();
  for (int k = 0; k < 3; ++k) TimeOfCopy(link, clock, Direction::kDeviceToHost, 300000);
  CHECK(clock.Now() - start >= 3 * 600000);
}

}  // namespace
}  // namespace spillway
