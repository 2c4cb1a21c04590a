// The event engine's streams: what runs on each, how fast that goes beside what else runs, and when it ends.
#ifndef SPILLWAY_SIM_ENGINE_EVENT_LANES_H_
#define SPILLWAY_SIM_ENGINE_EVENT_LANES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/simulate.h"

namespace spillway {

struct Lane {  // one stream
  static constexpr Nanos kNever = INT64_MAX;
  static constexpr std::uint32_t kEndOfStream = 0xffffffffu;
  std::uint32_t head = kEndOfStream;  // next instruction to take up; kEndOfStream while none is issued
  std::uint32_t tail = kEndOfStream;  // last one issued
  bool compute = false;
  bool running = false;
  std::uint32_t current = 0;  // instruction that runs
  Nanos start = 0;
  double remaining = 0;  // work left at `since`, nanoseconds alone
  double rate = 1;       // work per nanosecond since then
  Nanos since = 0;
  Nanos finish = kNever;  // at that rate
  Nanos wake = kNever;    // when the head's issue time comes
  Nanos idle_since = 0;

  // Without a rate yet: SetRate follows.
  void Start(std::uint32_t instruction, Nanos duration, Nanos now) {
    running = true;
    current = instruction;
    start = since = now;
    remaining = static_cast<double>(duration);
    rate = 0;
  }
  void SetRate(double new_rate, Nanos now) {
    if (new_rate == rate) return;
    remaining = std::max(0.0, remaining - rate * static_cast<double>(now - since));
    since = now;
    rate = new_rate;
    finish = now + static_cast<Nanos>(std::ceil((rate == 1 ? remaining : remaining / rate) - 1e-6));
  }
};

// The copies that run, by device and by link and direction: what kernels and other copies run beside. A kernel proceeds
// at 1 / copy_slowdown while a copy runs on its device, a copy at the link's duplex factor while one in the other
// direction runs on that link. Refers to both arguments.
class RunningCopies {
 public:
  RunningCopies(const Program& program, const Conditions& conditions) : program_(program), conditions_(conditions) {
    std::size_t devices = 1, links = 1;
    for (std::size_t s = 0; s < program.streams.size(); ++s) {
      devices = std::max(devices, DeviceOf(static_cast<StreamId>(s)) + 1);
    }
    for (const Copy& copy : program.copies) links = std::max<std::size_t>(links, copy.link + 1u);
    on_device_.assign(devices, 0);
    over_link_.assign(2 * links, 0);
  }

  // A copy begins (+1) or ends (-1); of other instructions nothing is counted.
  void Count(StreamId stream, Instruction in, int change) {
    if (in.opcode != Opcode::kCopy) return;
    const Copy& copy = program_.copies[in.arg];
    on_device_[DeviceOf(stream)] += change;
    over_link_[2 * copy.link + Along(copy)] += change;
  }

  // Work per nanosecond of a kernel or copy that runs on the stream now.
  double RateOf(StreamId stream, Instruction in) const {
    if (in.opcode == Opcode::kKernel) {
      const bool slowed = !conditions_.copy_slowdown.empty() && on_device_[DeviceOf(stream)] > 0;
      return slowed ? 1 / conditions_.copy_slowdown[program_.kernels[in.arg].launch] : 1;
    }
    const Copy& copy = program_.copies[in.arg];
    const bool shared = !conditions_.duplex_factor.empty() && over_link_[2 * copy.link + 1 - Along(copy)] > 0;
    return shared ? conditions_.duplex_factor[copy.link] : 1;
  }

 private:
  static std::size_t Along(const Copy& copy) { return static_cast<std::size_t>(copy.direction); }
  std::size_t DeviceOf(StreamId stream) const { return static_cast<std::size_t>(program_.streams[stream].device); }

  const Program& program_;
  const Conditions& conditions_;
  std::vector<int> on_device_;
  std::vector<int> over_link_;  // by 2 x link + direction
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_EVENT_LANES_H_
