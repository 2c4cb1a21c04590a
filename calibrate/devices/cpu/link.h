// The CPU device's link: memcpy at a stated rate, each direction by itself, so that the ratio of computing to moving
// is that of a machine with a slower link. What comes out of it is measured, never assumed.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_LINK_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_LINK_H_

#include <array>
#include <atomic>
#include <functional>

#include "model/profile/machine.h"
#include "model/step/box.h"
#include "sim/execute/clock.h"

namespace spillway {

// Tokens of one byte come in at `rate` per nanosecond; those that nobody takes are kept, `depth` of them at most.
class TokenBucket {
 public:
  TokenBucket(double rate, Bytes depth) : rate_(rate), depth_(depth) {}
  // Takes `bytes` tokens, by borrowing where they are not there yet. When all are: no earlier than `now`, which must
  // not go back.
  Nanos Take(Bytes bytes, Nanos now);
  double rate() const { return rate_; }

 private:
  double rate_;
  Bytes depth_;
  bool used_ = false;
  double paid_ = 0;  // nanoseconds since the clock's zero: everything taken is paid for then
};

// Sleeps for about so long; may take longer.
using Sleep = std::function<void(Nanos)>;
Sleep SystemSleep();

class CpuLink {
 public:
  // `rate`: bytes per nanosecond in each direction, 0 = as fast as memcpy goes.
  CpuLink(double rate, const Clock& clock, Sleep sleep = SystemSleep());

  // Returns when the bytes are there and their time has passed: bytes / rate after the call, or after the end of the
  // last copy in this direction if that is later. Never less, so that times of copies in a row add up.
  //
  // Copies in chunks, each when its time has come; a thread that was kept waiting catches up. It sleeps where it can and
  // watches the clock only for the last few microseconds, as copies of both directions and the issuing thread may share a
  // core; it yields the core while it watches only if a copy of the other direction wants it (Spin tells why). One
  // thread per direction at a time.
  //
  // Where `cancelled` becomes true meanwhile the rest is left out, at the next chunk.
  void Copy(Direction direction, void* to, const void* from, Bytes bytes, const std::atomic<bool>* cancelled = nullptr);
  // The same of a box, all of whose bytes count.
  void Copy(Direction direction, void* to, const void* from, const BoxRuns& runs,
            const std::atomic<bool>* cancelled = nullptr);

  double rate() const { return rate_; }

 private:
  void SleepUntil(Nanos time);
  void WatchUntil(Nanos time) const;

  double rate_;
  const Clock& clock_;
  Sleep sleep_;
  std::array<TokenBucket, 2> buckets_;  // by Direction
  std::atomic<int> awake_{0};           // copies under way whose threads do not sleep
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_LINK_H_
