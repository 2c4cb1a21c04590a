// The streams of the event engine: the instructions issued to each stream, the kernel or copy that runs on it, its
// rate, and its end.
//
// Rates: a kernel slows down while a copy runs on its device, a copy slows down while another copy runs the other way
// over its link. Example: a kernel of 100 ns with copy_slowdown 1.25 (rate 1 / 1.25 = 0.8) runs alone for 60 ns, then a
// copy starts. The 40 ns of work left take 40 / 0.8 = 50 ns, so the kernel ends after 110 ns.
//
// Times are nanoseconds. Vectors live in the Scratch, so that thousands of simulations allocate them once.
#ifndef SPILLWAY_SIM_ENGINE_EVENT_LANES_H_
#define SPILLWAY_SIM_ENGINE_EVENT_LANES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/engine_internal.h"

namespace spillway {

// A set of streams: bit s stands for stream s.
using StreamSet = std::uint32_t;
constexpr StreamSet SetOf(StreamId stream) { return StreamSet{1} << stream; }

// Instructions that are issued and not started yet: one linked list per stream. The links and issue times lie in the
// scratch, by instruction; the scratch must outlive the lists.
class IssuedLists {
 public:
  static constexpr std::uint32_t kEnd = 0xffffffffu;
  IssuedLists(std::size_t instructions, Scratch& scratch) {
    if (scratch.issued.size() < instructions) scratch.issued.resize(instructions);
    if (scratch.next.size() < instructions) scratch.next.resize(instructions);
    time_ = scratch.issued.data();
    next_ = scratch.next.data();
    head_.fill(kEnd);
  }

  // Adds a run of consecutive instructions [first, last] of one stream: call Issue for each of them, then Append once.
  // `time` is the host's clock at the issue.
  void Issue(std::uint32_t instruction, Nanos time) {
    time_[instruction] = time;
    next_[instruction] = instruction + 1;
  }
  void Append(StreamId stream, std::uint32_t first, std::uint32_t last) {
    if (head_[stream] == kEnd) {
      head_[stream] = first;
      filled_ |= SetOf(stream);
    } else {
      next_[tail_[stream]] = first;
    }
    tail_[stream] = last;
    next_[last] = kEnd;
  }

  // The streams whose empty list was appended to since the last call.
  StreamSet TakeFilled() { return std::exchange(filled_, 0); }
  bool Empty() const {
    return std::all_of(head_.begin(), head_.end(), [](std::uint32_t head) { return head == kEnd; });
  }
  // The first instruction of the stream's list; kEnd: the list is empty. SetHead drops all before `instruction`.
  std::uint32_t Head(StreamId stream) const { return head_[stream]; }
  void SetHead(StreamId stream, std::uint32_t instruction) { head_[stream] = instruction; }
  std::uint32_t After(std::uint32_t instruction) const { return next_[instruction]; }
  Nanos TimeOf(std::uint32_t instruction) const { return time_[instruction]; }

 private:
  Nanos* time_;
  std::uint32_t* next_;
  std::array<std::uint32_t, kMaxStreams> head_;
  std::array<std::uint32_t, kMaxStreams> tail_{};
  StreamSet filled_ = 0;
};

// Counts the running copies by device, and by link and direction, because they slow down kernels and each other. A
// kernel proceeds at 1 / copy_slowdown while a copy runs on its device. A copy proceeds at its direction's duplex
// factor while a copy in the other direction runs on the same link. Owns neither argument: both must outlive it.
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
    for (const double slowdown : conditions.copy_slowdown) kernel_rate_.push_back(1 / slowdown);
  }
  RunningCopies(const RunningCopies&) = delete;
  RunningCopies& operator=(const RunningCopies&) = delete;

  // One running kernel or copy: the counters that it adds itself to, and the counter that slows it down. The pointers
  // point into the RunningCopies.
  struct Entry {
    int* device = nullptr;
    int* link = nullptr;
    const int* beside = nullptr;  // while this counter is above 0, the rate is `slowed`, else 1
    double slowed = 1;            // work per nanosecond, at most 1
    void Count(int change) const {
      *device += change;
      *link += change;
    }
    double Rate() const { return *beside > 0 ? slowed : 1; }
  };
  Entry OfKernel(StreamId stream, const Kernel& kernel) {
    const double slowed = kernel_rate_.empty() ? 1 : kernel_rate_[kernel.launch];
    return {&kernels_, &kernels_, &on_device_[DeviceOf(stream)], slowed};
  }
  Entry OfCopy(StreamId stream, const Copy& copy) {
    const auto direction = static_cast<std::size_t>(copy.direction);
    const std::size_t way = 2 * copy.link + direction;
    const double slowed = conditions_.duplex_factor.empty() ? 1 : conditions_.duplex_factor[copy.link][direction];
    return {&on_device_[DeviceOf(stream)], &over_link_[way], &over_link_[way ^ 1], slowed};
  }

 private:
  std::size_t DeviceOf(StreamId stream) const { return static_cast<std::size_t>(program_.streams[stream].device); }

  const Program& program_;
  const Conditions& conditions_;
  std::vector<double> kernel_rate_;  // by launch: work per nanosecond while a copy runs; empty: always 1
  std::vector<int> on_device_;       // running copies, by device
  std::vector<int> over_link_;       // running copies, by 2 x link + direction
  int kernels_ = 0;                  // kernels count themselves here; no rate depends on it
};

struct Lane {  // the kernel or copy that runs on one stream, or ran last
  std::uint32_t instruction = 0;
  RunningCopies::Entry entry;
  Nanos start = 0;
  double remaining = 0;  // work left at `since`, as nanoseconds at rate 1
  double rate = 1;       // work per nanosecond since `since`
  Nanos since = 0;       // when the rate changed last
  Nanos idle_since = 0;

  // Starts an instruction that takes `duration` at rate 1. The caller sets the rate next, by SetRate.
  void Start(std::uint32_t starts, Nanos duration, Nanos now, const RunningCopies::Entry& beside) {
    instruction = starts;
    entry = beside;
    entry.Count(+1);
    start = since = now;
    remaining = static_cast<double>(duration);
    rate = 0;
  }
  // Takes the entry's present rate. If the rate has changed, updates the work left and sets `end` to the new end.
  void SetRate(Nanos now, Nanos& end) {
    const double new_rate = entry.Rate();
    if (new_rate == rate) return;
    remaining = std::max(0.0, remaining - rate * static_cast<double>(now - since));
    since = now;
    rate = new_rate;
    end = now + RoundedUp((rate == 1 ? remaining : remaining / rate) - 1e-6);
  }

 private:
  static Nanos RoundedUp(double time) {  // std::ceil would be a call
    const auto whole = static_cast<Nanos>(time);
    return whole + (static_cast<double>(whole) < time ? 1 : 0);
  }
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_EVENT_LANES_H_
