// What threads of the CPU device wait for. Waiting spins for a moment, then sleeps in the kernel; nothing is allocated.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_EVENT_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_EVENT_H_

#include <atomic>
#include <cstdint>

#include "hw/text/units.h"

namespace spillway {

// How long a thread watches before it sleeps. A pause is some 30 ns. Watching answers in half a microsecond, waking up takes
// some 5 to 50 us. A thread with a core of its own may watch for long; threads that share one had better sleep soon, and
// not yield: on a busy machine that costs a whole time slice, while a sleeper is let in at once.
struct Spin {
  int pauses = 0;
};
constexpr Spin kSpinAlone{.pauses = 5000};
constexpr Spin kSpinShared{.pauses = 50};

void Pause();  // a moment for a thread that watches

constexpr Nanos kForEver = -1;

// The two things that the Linux call futex() does. Both may be called from any thread.
void SleepWhile(std::atomic<std::uint32_t>& word, std::uint32_t value, Nanos timeout = kForEver);  // or less long
void WakeSleepers(std::atomic<std::uint32_t>& word);

// Fires once; Reset() makes it new when nobody uses it. What happened before Fire() is seen after Wait().
class CpuEvent {
 public:
  void Fire() {
    if (state_.exchange(kFired, std::memory_order_acq_rel) == kSleepers) WakeSleepers(state_);
  }
  bool fired() const { return state_.load(std::memory_order_acquire) == kFired; }
  // False: it has not fired after about `patience`.
  bool Wait(Spin spin, Nanos patience = kForEver);
  void Reset() { state_.store(kOpen, std::memory_order_relaxed); }

 private:
  enum State : std::uint32_t { kOpen, kSleepers, kFired };
  std::atomic<std::uint32_t> state_{kOpen};
};

// Calls `done` until it is true or the spin is over; what it said last.
bool SpinUntil(Spin spin, bool (*done)(const void*), const void* context);
template <typename Done>
bool SpinUntil(Spin spin, const Done& done) {
  return SpinUntil(
      spin, [](const void* context) { return (*static_cast<const Done*>(context))(); }, &done);
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_EVENT_H_
