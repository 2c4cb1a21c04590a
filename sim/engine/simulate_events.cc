// The event engine: kernels slow down while copies run, and copies in both directions share a link, so durations
// depend on what runs beside them. The clock goes from one end of a kernel or copy to the next; in between every rate
// is constant.
//
// The host runs ahead: it issues until it has to wait for the device (a sync, a pool without room), and a stream takes
// up an instruction when it gets there and the instruction's issue time has come.
#include <cmath>
#include <optional>

#include "sim/engine/engine_parts.h"
#include "sim/engine/pool.h"

namespace spillway {

namespace {

constexpr Nanos kNever = INT64_MAX;
constexpr std::uint32_t kEndOfStream = 0xffffffffu;
constexpr std::uint32_t kNoInstruction = 0xffffffffu;

struct Lane {                         // one stream
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
};

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
        pool_(program.arena ? 0 : conditions.pool_capacity, scratch),
        stalls_(timeline),
        streams_(program.streams.size()) {
    const std::size_t count = program.code.size();
    scratch.event_time.assign(program.events, kNever);
    if (scratch.issued.size() < count) scratch.issued.resize(count);
    if (scratch.next.size() < count) scratch.next.resize(count);
    if (!program.arena) scratch.reached.assign(count, kNever);
    const bool limited = !program.arena && conditions.pool_capacity > 0;
    if (limited && conditions.pool == PoolKind::kAddresses) addresses_.emplace(conditions.pool_capacity);
    std::size_t devices = 1, links = 1;
    for (std::size_t s = 0; s < streams_; ++s) {
      lanes_[s].compute = program.streams[s].kind == StreamKind::kCompute;
      devices = std::max(devices, DeviceOf(static_cast<StreamId>(s)) + 1);
    }
    for (const Copy& copy : program.copies) links = std::max<std::size_t>(links, copy.link + 1u);
    copies_on_.assign(devices, 0);
    copies_over_.assign(2 * links, 0);
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
      BlockHost(in.cause, scratch_.event_time[in.arg]);
      host_ += CostOf(Opcode::kHostSync);  // to wake up
    } else if (!program_.arena && in.opcode == Opcode::kAlloc) {
      return PoolGives(in.arg);
    } else if (!program_.arena && in.opcode == Opcode::kFree) {
      PoolTakes(in);
    }
    return true;
  }

  bool PoolGives(BufferId buffer) {
    const Bytes bytes = program_.buffers[buffer].bytes;
    while (!pool_.Fits(bytes) || (addresses_ && !addresses_->Fits(bytes))) {
      if (!pool_.HasPending()) {
        failed_ = !pool_.Fits(bytes);
        if (failed_ || !Drained()) return false;
        Compact();
        break;
      }
      const std::uint32_t oldest = pool_.OldestPending();
      if (scratch_.reached[oldest] == kNever) return false;
      BlockHost(Cause::kSwapOut, scratch_.reached[oldest]);
      host_ += conditions_.collection_time;
      pool_.TakeOldest();
      if (addresses_) addresses_->Free(program_.code[oldest].arg);
    }
    pool_.Allocate(bytes);
    if (addresses_) addresses_->Allocate(buffer, bytes);
    return true;
  }

  // Whether the device has done all that was issued.
  bool Drained() const {
    return std::all_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(streams_),
                       [](const Lane& lane) { return !lane.running && lane.head == kEndOfStream; });
  }

  // The host waits for the device, has the live blocks moved and waits for that, since nothing else can go on.
  void Compact() {
    BlockHost(Cause::kBarrier, now_);
    host_ += CostOf(Opcode::kHostSync);
    const AddressPool::Moves moves = addresses_->Compact();
    const CompactionCost& cost = conditions_.compaction;
    const double moving = cost.rate > 0 ? static_cast<double>(moves.bytes) / cost.rate : 0;
    BlockHost(Cause::kBarrier, host_ + moves.copies * cost.per_copy + static_cast<Nanos>(std::llround(moving)));
    ++compactions_;
    compacted_bytes_ += moves.bytes;
  }

  void PoolTakes(Instruction in) {
    if (lanes_[in.stream].compute) {
      pool_.FreeNow(program_.buffers[in.arg].bytes);
      if (addresses_) addresses_->Free(in.arg);
    } else {
      pool_.FreeLater(issued_, program_.buffers[in.arg].bytes);
    }
  }

  void BlockHost(Cause cause, Nanos until) {
    if (until <= host_) return;
    if constexpr (kTimeline) stalls_.HostBlocked(cause, host_, until);
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
        Start(lane, i);
        CountCopy(in.stream, i, +1);
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

  void Start(Lane& lane, std::uint32_t i) {
    lane.running = true;
    lane.current = i;
    lane.start = lane.since = now_;
    lane.remaining = static_cast<double>(durations_[i]);
    lane.rate = 0;  // none yet
    changed_ = true;
  }

  void ChargeLateIssue(Lane& lane, std::uint32_t i) {
    if (!lane.compute) return;
    stalls_.LateIssue(lane.idle_since, scratch_.issued[i], blocks_[i]);
    lane.idle_since = std::max(lane.idle_since, scratch_.issued[i]);
  }

  void ChargeWait(Lane& lane, std::uint32_t i, Cause cause) {
    if (!lane.compute) return;
    ChargeLateIssue(lane, i);
    stalls_.Wait(cause, lane.idle_since, now_);
    lane.idle_since = std::max(lane.idle_since, now_);
  }

  // A kernel proceeds at 1 / copy_slowdown while a copy runs on its device, a copy at the link's duplex factor while
  // one in the other direction runs on that link.
  void SetRates() {
    changed_ = false;
    for (std::size_t s = 0; s < streams_; ++s) {
      Lane& lane = lanes_[s];
      if (!lane.running) continue;
      const double rate = RateOf(static_cast<StreamId>(s));
      if (rate == lane.rate) continue;
      lane.remaining = std::max(0.0, lane.remaining - lane.rate * static_cast<double>(now_ - lane.since));
      lane.since = now_;
      lane.rate = rate;
      lane.finish = now_ + static_cast<Nanos>(std::ceil((rate == 1 ? lane.remaining : lane.remaining / rate) - 1e-6));
    }
  }

  double RateOf(StreamId stream) const {
    const Instruction in = program_.code[lanes_[stream].current];
    if (in.opcode == Opcode::kKernel) {
      const bool slowed = !conditions_.copy_slowdown.empty() && copies_on_[DeviceOf(stream)] > 0;
      return slowed ? 1 / conditions_.copy_slowdown[program_.kernels[in.arg].launch] : 1;
    }
    const Copy& copy = program_.copies[in.arg];
    const bool shared = !conditions_.duplex_factor.empty() && copies_over_[2 * copy.link + Opposite(copy)] > 0;
    return shared ? conditions_.duplex_factor[copy.link] : 1;
  }

  static std::size_t Opposite(const Copy& copy) { return 1 - static_cast<std::size_t>(copy.direction); }
  std::size_t DeviceOf(StreamId stream) const { return static_cast<std::size_t>(program_.streams[stream].device); }

  // Keeps count of the copies that run on each device and over each link and direction.
  void CountCopy(StreamId stream, std::uint32_t i, int change) {
    const Instruction in = program_.code[i];
    if (in.opcode != Opcode::kCopy) return;
    const Copy& copy = program_.copies[in.arg];
    copies_on_[DeviceOf(stream)] += change;
    copies_over_[2 * copy.link + static_cast<std::size_t>(copy.direction)] += change;
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
      CountCopy(static_cast<StreamId>(s), lane.current, -1);
      if (lane.current == awaited_) {
        awaited_ = kNoInstruction;
        BlockHost(Cause::kBarrier, next);
      }
      if constexpr (kTimeline) spans_.push_back({lane.current, lane.start, next});
    }
  }

  Simulated Failed() {
    Simulated result;
    result.completed = false;
    result.failed_at = issued_;
    result.failed_live = pool_.in_use();
    return result;
  }

  Simulated Finish() {
    Simulated result;
    result.makespan = std::max(now_, host_);
    result.live_peak = memory_.Finish(timeline_);
    result.pool_peak = pool_.peak();
    result.compactions = compactions_;
    result.compacted_bytes = compacted_bytes_;
    if constexpr (kTimeline) {
      std::sort(spans_.begin(), spans_.end(),
                [](const Span& a, const Span& b) { return a.instruction < b.instruction; });
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
  Pool pool_;
  std::optional<AddressPool> addresses_;  // beside pool_, which counts
  StallAccount stalls_;
  std::size_t streams_;
  std::array<Lane, kMaxStreams> lanes_{};
  std::vector<int> copies_on_;       // by device
  std::vector<int> copies_over_;     // by 2 x link + direction
  std::vector<std::size_t> blocks_;  // by instruction: how often the host had been blocked when it was issued
  std::vector<Span> spans_;
  Nanos now_ = 0;
  Nanos host_ = 0;
  std::uint32_t issued_ = 0;
  std::uint32_t awaited_ = kNoInstruction;  // a copy that the host waits for
  int compactions_ = 0;
  Bytes compacted_bytes_ = 0;
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
