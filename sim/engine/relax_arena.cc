// The relaxing engine where nothing but a sync holds the host up and nobody asks what happened in between: an arena, no
// copy that blocks, no timeline. What simulate_relax.cc computes, in fewer steps. Most of its time goes into telling
// instructions apart, so that it takes what one stream does in a row together, in the order in which it is mostly issued.
#include <bit>
#include <cstdint>

#include "sim/engine/engine_internal.h"

namespace spillway {

namespace {

enum class HostCost { kNone, kByOpcode, kByKernel };

HostCost HostCostOf(const Conditions& conditions) {
  const bool alike =
      conditions.launch_cost.empty() && conditions.framework_time == 0 && conditions.collection_time == 0;
  if (!alike) return HostCost::kByKernel;
  const auto none = [](Nanos cost) { return cost == 0; };
  return std::all_of(conditions.host_cost.begin(), conditions.host_cost.end(), none) ? HostCost::kNone
                                                                                     : HostCost::kByOpcode;
}

// Where the last instructions begin that are one stream's in a row.
std::size_t LastRun(const std::vector<Instruction>& code) {
  std::size_t begin = code.size();
  while (begin > 0 && code[begin - 1].stream == code.back().stream) --begin;
  return begin;
}

// An Instruction as one number, of which two bytes are compared at once.
class Word {
 public:
  explicit Word(Instruction in) : word_(std::bit_cast<std::uint64_t>(in)) {}
  bool Is(Opcode opcode, StreamId stream) const {
    return static_cast<std::uint16_t>(word_) == static_cast<std::uint16_t>(static_cast<int>(opcode) | stream << 8);
  }
  bool IsWork(StreamId stream) const { return static_cast<std::uint16_t>(word_ - (std::uint64_t{stream} << 8)) <= 1; }
  std::uint32_t arg() const { return static_cast<std::uint32_t>(word_ >> 32); }

 private:
  static_assert(std::endian::native == std::endian::little);
  static_assert(static_cast<int>(Opcode::kKernel) == 0 && static_cast<int>(Opcode::kCopy) == 1);
  std::uint64_t word_;
};

template <bool kPeak, HostCost kHostCost>
class RelaxArena {
 public:
  RelaxArena(const Program& program, const Conditions& conditions, Scratch& scratch)
      : program_(program), conditions_(conditions), scratch_(scratch), memory_(program, scratch) {
    if (scratch.event_time.size() < program.events) scratch.event_time.resize(program.events);
    event_time_ = scratch.event_time.data();
  }

  // A stream's run ends where another's begins, so that only after the last one somebody has to look for the end: that is
  // copied and closed with an instruction of no stream.
  Simulated Run(const Nanos* durations) {
    const std::size_t last = LastRun(program_.code);
    scratch_.last_run.assign(program_.code.begin() + static_cast<std::ptrdiff_t>(last), program_.code.end());
    scratch_.last_run.push_back({.stream = kMaxStreams});
    Take(program_.code.data(), last, durations);
    Take(scratch_.last_run.data(), program_.code.size() - last, durations + last);
    return Finish();
  }

 private:
  // REQUIRES: code[count] is another stream's than code[count - 1].
  void Take(const Instruction* const code, std::size_t count, const Nanos* durations) {
    Nanos host = host_;
    for (const Instruction* in = code, * const end = code + count; in != end;) {
      const StreamId stream = in->stream;
      Nanos ready = ready_[stream];
      Word at(*in);
      while (at.Is(Opcode::kWait, stream)) {
        Pay(host, Opcode::kWait);
        ready = std::max(ready, event_time_[at.arg()]);
        at = Word(*++in);
      }
      if (at.Is(Opcode::kAlloc, stream)) {
        Change(Opcode::kAlloc, stream, at.arg(), host, ready);
        at = Word(*++in);
      }
      if (at.IsWork(stream)) {
        const Nanos pause = PayWork(host, *in);
        ready = std::max(ready, host) + durations[in - code];
        host += pause;
        at = Word(*++in);
      }
      if (at.Is(Opcode::kFree, stream)) {
        Change(Opcode::kFree, stream, at.arg(), host, ready);
        at = Word(*++in);
      }
      if (at.Is(Opcode::kRecord, stream)) {
        Pay(host, Opcode::kRecord);
        event_time_[at.arg()] = std::max(ready, host);
        at = Word(*++in);
      }
      if (at.Is(Opcode::kHostSync, stream)) {
        host = std::max(host, event_time_[at.arg()]);
        Pay(host, Opcode::kHostSync);  // to wake up
        ++in;
      }
      ready_[stream] = ready;
    }
    host_ = host;
  }

  void Pay(Nanos& host, Opcode opcode) const {
    if constexpr (kHostCost != HostCost::kNone) host += conditions_.host_cost[static_cast<std::size_t>(opcode)];
  }
  // Returns what follows the issue.
  Nanos PayWork(Nanos& host, Instruction in) const {
    if (kHostCost != HostCost::kByKernel || in.opcode == Opcode::kCopy) {
      Pay(host, in.opcode);
      return 0;
    }
    const Kernel& kernel = program_.kernels[in.arg];
    if (conditions_.launch_cost.empty()) Pay(host, Opcode::kKernel);
    if (!conditions_.launch_cost.empty()) host += conditions_.launch_cost[kernel.launch];
    if (!kernel.first_part) host -= conditions_.framework_time;
    return kernel.recomputation && kernel.last_part ? conditions_.collection_time : 0;
  }

  void Change(Opcode opcode, StreamId stream, BufferId changed, Nanos& host, Nanos ready) {
    Pay(host, opcode);
    if constexpr (kPeak) {
      const Buffer& buffer = program_.buffers[changed];
      if (buffer.place != 0) return;
      memory_.Change(stream, std::max(ready, host), opcode == Opcode::kAlloc, buffer.bytes);
    }
  }

  Simulated Finish() {
    Simulated result;
    result.makespan = std::max(host_, *std::max_element(ready_.begin(), ready_.end()));
    if constexpr (kPeak) result.live_peak = memory_.Finish(nullptr);
    return result;
  }

  const Program& program_;
  const Conditions& conditions_;
  Scratch& scratch_;
  MemoryLog<kPeak> memory_;
  Nanos* event_time_;
  Nanos host_ = 0;
  std::array<Nanos, kMaxStreams> ready_{};
};

template <bool kPeak>
Simulated Relax(const Program& program, const Nanos* durations, const Conditions& conditions, Scratch& scratch) {
  switch (HostCostOf(conditions)) {
    case HostCost::kNone:
      return RelaxArena<kPeak, HostCost::kNone>(program, conditions, scratch).Run(durations);
    case HostCost::kByOpcode:
      return RelaxArena<kPeak, HostCost::kByOpcode>(program, conditions, scratch).Run(durations);
    default:
      return RelaxArena<kPeak, HostCost::kByKernel>(program, conditions, scratch).Run(durations);
  }
}

}  // namespace

Simulated SimulateRelaxArena(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                             Scratch& scratch, bool peak) {
  assert(durations.size() == program.code.size() && IsForRelaxArena(program, conditions));
  return peak ? Relax<true>(program, durations.data(), conditions, scratch)
              : Relax<false>(program, durations.data(), conditions, scratch);
}

}  // namespace spillway
