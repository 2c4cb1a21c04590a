// What belongs to the caller of a session and is used on the session's threads, until the session is abandoned.
//
//   CallerGate gate;                        // shared by the threads
//   const CallerGate::Pass pass(gate);      // a thread, for a moment: nothing within may hang
//   if (!pass) return;
//   ... step->tensors ...
//
//   gate.Close();                           // the caller: from now on nobody passes, and nobody is within
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_CALLER_GATE_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_CALLER_GATE_H_

#include <sched.h>

#include <atomic>
#include <limits>

#include "sim/execute/clock.h"

namespace spillway {

class CallerGate {
 public:
  class Pass {
   public:
    explicit Pass(CallerGate& gate) : gate_(gate), open_(gate.Enter()) {}
    ~Pass() {
      if (open_) gate_.Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    explicit operator bool() const { return open_; }

   private:
    CallerGate& gate_;
    bool open_;
  };

  // Waits for those within.
  void Close() {
    closed_.store(true);
    while (within_.load() != 0) sched_yield();
  }

 private:
  // Either the one who closes sees this thread within, or this thread sees that it is closed: both are sequentially
  // consistent.
  bool Enter() {
    within_.fetch_add(1);
    if (!closed_.load()) return true;
    Leave();
    return false;
  }
  void Leave() { within_.fetch_sub(1, std::memory_order_release); }

  std::atomic<int> within_{0};
  std::atomic<bool> closed_{false};
};

// The caller's clock for a session's threads. Behind a closed gate it is later than everything, by far, and yet no
// number to overflow with.
class GatedClock : public Clock {
 public:
  GatedClock(const Clock& clock, CallerGate& gate) : clock_(clock), gate_(gate) {}
  Nanos Now() const override {
    const CallerGate::Pass pass(gate_);
    return pass ? clock_.Now() : std::numeric_limits<Nanos>::max() / 4;
  }

 private:
  const Clock& clock_;
  CallerGate& gate_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_CALLER_GATE_H_
