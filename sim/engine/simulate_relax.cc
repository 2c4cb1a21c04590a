// The relaxing engine: since list order is the host's issue order, streams are FIFO and an event is recorded before
// it is waited for, one pass over the list knows every time when it needs it. No queue, no clock. Where there is less to
// do, relax_arena.cc does it.
#include "sim/engine/engine_internal.h"

namespace spillway {

namespace {

template <bool kTimeline>
class Relax {
 public:
  Relax(const Program& program, std::span<const Nanos> durations, const Conditions& conditions, Scratch& scratch,
        Timeline* timeline)
      : program_(program),
        durations_(durations),
        conditions_(conditions),
        scratch_(scratch),
        timeline_(timeline),
        memory_(program, scratch),
        pool_(program.memory == ProgramMemory::kPool ? conditions.pool_capacity : 0, scratch),
        stalls_(timeline) {
    if (scratch.event_time.size() < program.events) scratch.event_time.resize(program.events);
    if (program.memory == ProgramMemory::kPool && scratch.reached.size() < program.code.size())
      scratch.reached.resize(program.code.size());
    if constexpr (kTimeline) *timeline_ = Timeline{.spans = {}, .stall = std::vector<Nanos>(kCauses, 0), .memory = {}};
  }

  Simulated Run() { return conditions_.launch_cost.empty() ? Issue<false>() : Issue<true>(); }

 private:
  // kByLaunch: what a kernel costs the host depends on its launch. Two loops, since asking costs 5 % of the time.
  template <bool kByLaunch>
  Simulated Issue() {
    const Instruction* const code = program_.code.data();
    const auto count = static_cast<std::uint32_t>(program_.code.size());
    Nanos* const event_time = scratch_.event_time.data();
    std::array<Nanos, kOpcodes> issue_cost = conditions_.host_cost;
    issue_cost[static_cast<std::size_t>(Opcode::kHostSync)] = 0;                         // comes after the wait
    if constexpr (kByLaunch) issue_cost[static_cast<std::size_t>(Opcode::kKernel)] = 0;  // its launch's instead
    for (std::uint32_t i = 0; i < count; ++i) {
      const Instruction in = code[i];
      host_ += issue_cost[static_cast<std::size_t>(in.opcode)];
      switch (in.opcode) {
        case Opcode::kKernel: {
          const Kernel& kernel = program_.kernels[in.arg];
          if constexpr (kByLaunch) host_ += conditions_.launch_cost[kernel.launch];
          if (!kernel.first_part) host_ -= conditions_.framework_time;
          Work(i, in);
          if (kernel.recomputation && kernel.last_part) host_ += conditions_.collection_time;
          break;
        }
        case Opcode::kCopy:
          Work(i, in);
          if (conditions_.Blocks(program_.copies[in.arg])) BlockHost(i, Cause::kBarrier, ready_[in.stream]);
          break;
        case Opcode::kRecord:
          event_time[in.arg] = std::max(ready_[in.stream], host_);
          break;
        case Opcode::kWait:
          Wait(i, in, event_time[in.arg]);
          break;
        case Opcode::kAlloc:
          if (!Alloc(in)) return Failed(i);
          break;
        case Opcode::kFree:
          Free(i, in);
          break;
        case Opcode::kHostSync:
          BlockHost(i, in.cause, event_time[in.arg]);
          host_ += conditions_.host_cost[static_cast<std::size_t>(Opcode::kHostSync)];  // to wake up
          break;
      }
    }
    return Finish();
  }

  void Work(std::uint32_t i, Instruction in) {
    if constexpr (kTimeline) {
      if (IsCompute(in.stream)) stalls_.LateIssue(i, ready_[in.stream], host_, stalls_.blocks());
      timeline_->issued.push_back(host_);
    }
    const Nanos start = std::max(ready_[in.stream], host_);
    ready_[in.stream] = start + durations_[i];
    if constexpr (kTimeline) timeline_->spans.push_back({i, start, ready_[in.stream]});
  }

  void Wait(std::uint32_t i, Instruction in, Nanos until) {
    if constexpr (kTimeline) {
      if (IsCompute(in.stream)) {
        stalls_.LateIssue(i, ready_[in.stream], host_, stalls_.blocks());
        ready_[in.stream] = std::max(ready_[in.stream], host_);
        stalls_.Wait(i, in.cause, ready_[in.stream], until);
      }
    }
    ready_[in.stream] = std::max(ready_[in.stream], until);
  }

  bool Alloc(Instruction in) {
    const Buffer& buffer = program_.buffers[in.arg];
    if (program_.memory == ProgramMemory::kPool) {
      while (!pool_.Fits(buffer.bytes)) {
        if (!pool_.HasPending()) return false;
        const std::uint32_t oldest = pool_.OldestPending();
        BlockHost(oldest, Cause::kSwapOut, scratch_.reached[oldest]);
        host_ += conditions_.collection_time;
        pool_.TakeOldest();
      }
      pool_.Allocate(buffer.bytes);
    }
    if (buffer.place == 0) memory_.Change(in.stream, std::max(ready_[in.stream], host_), true, buffer.bytes);
    return true;
  }

  void Free(std::uint32_t i, Instruction in) {
    const Buffer& buffer = program_.buffers[in.arg];
    if (program_.memory == ProgramMemory::kPool) {
      if (IsCompute(in.stream)) {
        pool_.FreeNow(buffer.bytes);
      } else {
        pool_.FreeLater(i, buffer.bytes);
        scratch_.reached[i] = std::max(ready_[in.stream], host_);
      }
    }
    if (buffer.place == 0) memory_.Change(in.stream, std::max(ready_[in.stream], host_), false, buffer.bytes);
  }

  void BlockHost(std::uint32_t i, Cause cause, Nanos until) {
    if (until <= host_) return;
    if constexpr (kTimeline) stalls_.HostBlocked(i, cause, host_, until);
    host_ = until;
  }

  bool IsCompute(StreamId stream) const { return program_.streams[stream].kind == StreamKind::kCompute; }

  Simulated Failed(std::uint32_t i) {
    Simulated result;
    result.completed = false;
    result.failed_at = i;
    result.failed_live = pool_.in_use();
    return result;
  }

  Simulated Finish() {
    Simulated result;
    result.makespan = host_;
    for (std::size_t s = 0; s < program_.streams.size(); ++s) result.makespan = std::max(result.makespan, ready_[s]);
    result.live_peak = memory_.Finish(timeline_);
    result.pool_peak = pool_.peak();
    if constexpr (kTimeline) timeline_->makespan = result.makespan;
    return result;
  }

  const Program& program_;
  std::span<const Nanos> durations_;
  const Conditions& conditions_;
  Scratch& scratch_;
  Timeline* timeline_;
  MemoryLog<> memory_;
  Pool pool_;
  StallAccount stalls_;
  Nanos host_ = 0;
  std::array<Nanos, kMaxStreams> ready_{};
};

}  // namespace

Simulated SimulateRelax(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                        Scratch& scratch, Timeline* timeline) {
  assert(durations.size() == program.code.size());
  assert((program.memory != ProgramMemory::kPool || conditions.pool == PoolKind::kBytes) &&
         "compaction waits for all streams: a matter of events");
  if (timeline != nullptr) return Relax<true>(program, durations, conditions, scratch, timeline).Run();
  if (IsForRelaxArena(program, conditions)) return SimulateRelaxArena(program, durations, conditions, scratch, true);
  return Relax<false>(program, durations, conditions, scratch, nullptr).Run();
}

}  // namespace spillway
