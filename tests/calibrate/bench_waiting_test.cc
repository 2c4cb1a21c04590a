// Waiting for a core, on clocks that move as a scheduler would move them.
#include <catch2/catch.hpp>

#include "calibrate/host/host_facts.h"

namespace spillway {
namespace {

// Between two looks at its own clock the thread computes for a moment; whenever a slice of it is used up, others have
// the core for a while.
class SharedCore : public Clock {
 public:
  SharedCore(Nanos slice, Nanos away) : slice_(slice), away_(away) {}
  Nanos Now() const override {
    own += 10 * kMicrosecond;
    return own;
  }
  Nanos Passed() const { return own + own / slice_ * away_; }
  mutable Nanos own = 0;

 private:
  Nanos slice_, away_;
};

class WallBeside : public Clock {
 public:
  explicit WallBeside(const SharedCore& core) : core_(core) {}
  Nanos Now() const override { return core_.Passed(); }

 private:
  const SharedCore& core_;
};

double Waiting(const SharedCore& core, const WaitingOptions& options = {}) {
  return MeasureWaiting(WallBeside(core), core, options);
}

TEST_CASE("four others on the core: five times as long, however long the slices are") {
  for (const Nanos slice : {kMillisecond, 3 * kMillisecond, 10 * kMillisecond}) {
    const SharedCore core(slice, 4 * slice);
    CHECK(Waiting(core) == Approx(5).epsilon(0.05));
    CHECK(core.own >= 100 * kMillisecond);
  }
}

TEST_CASE("nobody else: as long as it computes") {
  const SharedCore core(3 * kMillisecond, 0);
  CHECK(Waiting(core) == Approx(1).epsilon(1e-3));
}

TEST_CASE("timings shorter than a slice say nothing: most have no wait in them") {
  const Nanos slice = 3 * kMillisecond;
  int without = 0;
  const SharedCore core(slice, 4 * slice);
  for (int k = 0; k < 100; ++k) without += Waiting(core, {.own = 200 * kMicrosecond}) < 1.1 ? 1 : 0;
  CHECK(without > 80);
}

TEST_CASE("a thread that hardly ever gets its core is not waited for without end") {
  const SharedCore core(kMillisecond, kSecond);
  CHECK(Waiting(core) > 500);
  CHECK(core.own < 10 * kMillisecond);
}

TEST_CASE("a thread whose own clock stands still tells nothing") {
  class Still : public Clock {
   public:
    Nanos Now() const override { return 5; }
  };
  class Running : public Clock {
   public:
    Nanos Now() const override { return now += kMillisecond; }
    mutable Nanos now = 0;
  };
  CHECK(MeasureWaiting(Running(), Still()) == 0);
}

}  // namespace
}  // namespace spillway
