// The event engine: kernels slow down while copies run, and copies in both directions share a link, so durations
// depend on what runs beside them. The clock goes from one end of a kernel or copy to the next; in between every rate
// is constant.
//
// The host runs ahead: it issues until it has to wait for the device (a sync, a pool without room), and a stream takes
// up an instruction when it gets there and the instruction's issue time has come.
#include "sim/engine/engine_parts.h"
#include "sim/engine/event_lanes.h"
#include "sim/engine/event_pool.h"

namespace spillway {

namespace {

constexpr Nanos kNever = Lane::kNever;
constexpr std::uint32_t kEndOfStream = Lane::kEndOfStream;

template <bool kTimeline>
class Events {
 public:
  Events(const Program& program, std::span<const Nanos> durations, const Conditions& conditions, Scratch& scratch,
         Timeline* timeline)
      : program_(program),
        durations_(durations),
        conditions_(conditions),
        scratch_(scratch),
        timeline_(timeline),
        memory_(program, scratch),
        pool_(program, conditions, scratch),
        stalls_(timeline),
        streams_(program.streams.size()),
        copies_(program, conditions) {
    const std::size_t count = program.code.size();
    scratch.event_time.assign(program.events, kNever);
    if (scratch.issued.size() < count) scratch.issued.resize(count);
    if (scratch.next.size() < count) scratch.next.resize(count);
    if (!program.arena) scratch.reached.assign(count, kNever);
    for (std::size_t s = 0; s < streams_; ++s) lanes_[s].compute = program.streams[s].kind == StreamKind::kCompute;
    if constexpr (kTimeline) {
      *timeline_ = Timeline{.spans = {}, .stall = std::vector<Nanos>(kCauses, 0), .memory = {}};
      blocks_.resize(count);
    }
  }

  Simulated Run() {
    for (;;) {
      TakeUpAll();
      if (failed_) return Failed();
      const Nanos next = NextTime();
      if (next == kNever) break;
      Advance(next);
    }
    assert(issued_ == program_.code.size() && "a program must not wait for what never comes");
    return Finish();
  }

 private:
  // Everything that can happen at this very moment, then the rates until the next one.
  void TakeUpAll() {
    for (bool progress = true; progress && !failed_;) {
      progress = Issue();
      for (std::size_t s = 0; s < streams_; ++s) progress |= TakeUp(lanes_[s]);
    }
    if (changed_) SetRates();
  }

  bool Issue() {
    bool any = false;
    for (; issued_ < program_.code.size() && awaited_ == kNoInstruction; ++issued_, any = true) {
      const Instruction in = program_.code[issued_];
      if (!paid_ && in.opcode != Opcode::kHostSync) host_ += IssueCost(in);
      paid_ = true;  // even if it has to be tried again
      if (!HostGoesOn(in)) break;
      paid_ = false;
      if (in.opcode != Opcode::kHostSync) Append(in);
      if (in.opcode == Opcode::kCopy && conditions_.Blocks(program_.copies[in.arg])) awaited_ = issued_;
      if (in.opcode == Opcode::kKernel && Collects(program_.kernels[in.arg])) host_ += conditions_.collection_time;
    }
    return any;
  }

  Nanos IssueCost(Instruction in) const {
    if (in.opcode != Opcode::kKernel) return CostOf(in.opcode);
    const Kernel& kernel = program_.kernels[in.arg];
    const Nanos cost = conditions_.launch_cost.empty() ? CostOf(in.opcode) : conditions_.launch_cost[kernel.launch];
    return kernel.first_part ? cost : cost - conditions_.framework_time;
  }
  static bool Collects(const Kernel& kernel) { return kernel.recomputation && kernel.last_part; }
  Nanos CostOf(Opcode opcode) const { return conditions_.host_cost[static_cast<std::size_t>(opcode)]; }

  bool HostGoesOn(Instruction in) {
    if (in.opcode == Opcode::kHostSync) {
      if (scratch_.event_time[in.arg] == kNever) return false;
      BlockHost(issued_, in.cause, scratch_.event_time[in.arg]);
      host_ += CostOf(Opcode::kHostSync);  // to wake up
    } else if (!program_.arena && in.opcode == Opcode::kAlloc) {
      return PoolGives(in.arg);
    } else if (!program_.arena && in.opcode == Opcode::kFree) {
      lanes_[in.stream].compute ? pool_.FreeNow(in.arg) : pool_.FreeLater(issued_);
    }
    return true;
  }

  bool PoolGives(BufferId buffer) {
    while (!pool_.FitsInOneBlock(buffer)) {
      if (!pool_.HasPending()) {
        failed_ = !pool_.Fits(buffer);
        if (failed_ || !Drained()) return false;
        Compact();
        break;
      }
      const std::uint32_t oldest = pool_.OldestPending();
      if (scratch_.reached[oldest] == kNever) return false;
      BlockHost(oldest, Cause::kSwapOut, scratch_.reached[oldest]);
      host_ += conditions_.collection_time;
      pool_.TakeOldest();
    }
    pool_.Allocate(buffer);
    return true;
  }

  // Whether the device has done all that was issued.
  bool Drained() const {
    return std::all_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(streams_),
                       [](const Lane& lane) { return !lane.running && lane.head == kEndOfStream; });
  }

  // The host waits for the device, has the live blocks moved and waits for that, since nothing else can go on.
  void Compact() {
    BlockHost(kNoInstruction, Cause::kBarrier, now_);
    host_ += CostOf(Opcode::kHostSync);
    BlockHost(kNoInstruction, Cause::kBarrier, host_ + pool_.Compact());
  }

  void BlockHost(std::uint32_t i, Cause cause, Nanos until) {
    if (until <= host_) return;
    if constexpr (kTimeline) stalls_.HostBlocked(i, cause, host_, until);
    host_ = until;
  }

  void Append(Instruction in) {
    Lane& lane = lanes_[in.stream];
    if (lane.head == kEndOfStream) {
      lane.head = issued_;
    } else {
      scratch_.next[lane.tail] = issued_;
    }
    lane.tail = issued_;
    scratch_.next[issued_] = kEndOfStream;
    scratch_.issued[issued_] = host_;
    if constexpr (kTimeline) blocks_[issued_] = stalls_.blocks();
  }

  bool TakeUp(Lane& lane) {
    bool any = false;
    lane.wake = kNever;
    while (!lane.running && lane.head != kEndOfStream) {
      const std::uint32_t i = lane.head;
      if (scratch_.issued[i] > now_) {
        lane.wake = scratch_.issued[i];
        break;
      }
      const Instruction in = program_.code[i];
      if (in.opcode == Opcode::kWait && scratch_.event_time[in.arg] == kNever) break;
      Execute(lane, i, in);
      lane.head = scratch_.next[i];
      any = true;
    }
    return any;
  }

  void Execute(Lane& lane, std::uint32_t i, Instruction in) {
    switch (in.opcode) {
      case Opcode::kKernel:
      case Opcode::kCopy:
        if constexpr (kTimeline) ChargeLateIssue(lane, i);
        lane.Start(i, durations_[i], now_);
        copies_.Count(in.stream, in, +1);
        changed_ = true;
        break;
      case Opcode::kRecord:
        scratch_.event_time[in.arg] = now_;
        break;
      case Opcode::kWait:
        if constexpr (kTimeline) ChargeWait(lane, i, in.cause);
        break;
      case Opcode::kAlloc:
        if (program_.buffers[in.arg].place == 0) memory_.Change(in.stream, now_, true, program_.buffers[in.arg].bytes);
        break;
      case Opcode::kFree:
        if (!program_.arena) scratch_.reached[i] = now_;
        if (program_.buffers[in.arg].place == 0) memory_.Change(in.stream, now_, false, program_.buffers[in.arg].bytes);
        break;
      case Opcode::kHostSync:
        break;
    }
  }

  void ChargeLateIssue(Lane& lane, std::uint32_t i) {
    if (!lane.compute) return;
    stalls_.LateIssue(i, lane.idle_since, scratch_.issued[i], blocks_[i]);
    lane.idle_since = std::max(lane.idle_since, scratch_.issued[i]);
  }

  void ChargeWait(Lane& lane, std::uint32_t i, Cause cause) {
    if (!lane.compute) return;
    ChargeLateIssue(lane, i);
    stalls_.Wait(i, cause, lane.idle_since, now_);
    lane.idle_since = std::max(lane.idle_since, now_);
  }

  void SetRates() {
    changed_ = false;
    for (std::size_t s = 0; s < streams_; ++s) {
      Lane& lane = lanes_[s];
      if (lane.running) lane.SetRate(copies_.RateOf(static_cast<StreamId>(s), program_.code[lane.current]), now_);
    }
  }

  Nanos NextTime() const {
    Nanos next = kNever;
    for (std::size_t s = 0; s < streams_; ++s) {
      next = std::min(next, lanes_[s].running ? lanes_[s].finish : lanes_[s].wake);
    }
    return next;
  }

  void Advance(Nanos next) {
    now_ = next;
    for (std::size_t s = 0; s < streams_; ++s) {
      Lane& lane = lanes_[s];
      if (!lane.running || lane.finish != next) continue;
      lane.running = false;
      lane.idle_since = next;
      changed_ = true;
      copies_.Count(static_cast<StreamId>(s), program_.code[lane.current], -1);
      if (lane.current == awaited_) {
        awaited_ = kNoInstruction;
        BlockHost(lane.current, Cause::kBarrier, next);
      }
      if constexpr (kTimeline) spans_.push_back({lane.current, lane.start, next});
    }
  }

  Simulated Failed() { return {.completed = false, .failed_at = issued_, .failed_live = pool_.in_use()}; }

  Simulated Finish() {
    Simulated result;
    result.makespan = std::max(now_, host_);
    result.live_peak = memory_.Finish(timeline_);
    result.pool_peak = pool_.peak();
    result.compactions = pool_.compactions();
    result.compacted_bytes = pool_.compacted_bytes();
    if constexpr (kTimeline) {
      std::sort(spans_.begin(), spans_.end(),
                [](const Span& a, const Span& b) { return a.instruction < b.instruction; });
      timeline_->issued.reserve(spans_.size());
      for (const Span& span : spans_) timeline_->issued.push_back(scratch_.issued[span.instruction]);
      timeline_->spans = std::move(spans_);
      timeline_->makespan = result.makespan;
    }
    return result;
  }

  const Program& program_;
  std::span<const Nanos> durations_;
  const Conditions& conditions_;
  Scratch& scratch_;
  Timeline* timeline_;
  MemoryLog memory_;
  EventPool pool_;
  StallAccount stalls_;
  std::size_t streams_;
  std::array<Lane, kMaxStreams> lanes_{};
  RunningCopies copies_;
  std::vector<std::size_t> blocks_;  // by instruction: how often the host had been blocked when it was issued
  std::vector<Span> spans_;
  Nanos now_ = 0;
  Nanos host_ = 0;
  std::uint32_t issued_ = 0;
  std::uint32_t awaited_ = kNoInstruction;  // a copy that the host waits for
  bool paid_ = false;
  bool changed_ = false;
  bool failed_ = false;
};

}  // namespace

Simulated SimulateEvents(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                         Scratch& scratch, Timeline* timeline) {
  assert(durations.size() == program.code.size());
  if (timeline != nullptr) return Events<true>(program, durations, conditions, scratch, timeline).Run();
  return Events<false>(program, durations, conditions, scratch, nullptr).Run();
}

}  // namespace spillway
