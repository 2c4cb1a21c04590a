// The event engine: kernels slow down while copies run, and copies in both directions share a link, so durations
// depend on what runs beside them. The clock goes from one end of a kernel or copy to the next; in between every rate
// is constant.
//
// The host runs ahead: it issues until it has to wait for the device (a sync, a pool without room), and a stream takes
// up an instruction when it gets there and the instruction's issue time has come.
#include "sim/engine/engine_internal.h"
#include "sim/engine/event_host.h"
#include "sim/engine/event_lanes.h"

namespace spillway {

namespace {

// An event that is not recorded yet has for a time, which is never negative, what makes it so: all bits but those of the
// streams that wait for it.
constexpr Nanos kNotRecorded = ~Nanos{0};

template <bool kTimeline, bool kPeak>
class Events {
 public:
  Events(const Program& program, std::span<const Nanos> durations, const Conditions& conditions, Scratch& scratch,
         Timeline* timeline)
      : program_(program),
        durations_(durations),
        scratch_(scratch),
        timeline_(timeline),
        memory_(program, scratch),
        stalls_(timeline),
        streams_(program.streams.size()),
        lists_(program.code.size(), scratch),
        host_(program, conditions, scratch, lists_, stalls_),
        copies_(program, conditions) {
    scratch.event_time.assign(program.events, kNotRecorded);
    next_.fill(kNever);
    if constexpr (kTimeline) *timeline_ = Timeline{.spans = {}, .stall = std::vector<Nanos>(kCauses, 0), .memory = {}};
  }

  Simulated Run() {
    for (;;) {
      TakeUpAll();
      if (host_.failed()) return Failed();
      const Nanos next = NextTime();
      if (next == kNever) break;
      Advance(next);
    }
    assert(host_.done() && "a program must not wait for what never comes");
    return Finish();
  }

 private:
  static constexpr Nanos kNever = INT64_MAX;

  // Everything that can happen at this very moment, then the rates until the next one. Here and below a loop that asks
  // every stream is faster than one over those that matter: a processor foresees most of the answers.
  void TakeUpAll() {
    for (;;) {
      const bool issued = !host_.done() && host_.Issue(now_, running_);
      if (issued) ready_ |= lists_.TakeFilled() & ~running_;
      if ((!issued && ready_ == 0) || host_.failed()) break;
      for (StreamId s = 0; s < streams_; ++s) {
        if ((ready_ & SetOf(s)) != 0) TakeUp(s);
      }
    }
    SetRates();
  }

  // REQUIRES: nothing runs on the stream.
  void TakeUp(StreamId stream) {
    ready_ &= ~SetOf(stream);
    next_[stream] = kNever;
    std::uint32_t i = lists_.Head(stream);
    while (i != IssuedLists::kEnd && (running_ & SetOf(stream)) == 0) {
      if (lists_.TimeOf(i) > now_) {
        next_[stream] = lists_.TimeOf(i);
        break;
      }
      if (!Execute(stream, i)) break;
      i = lists_.After(i);
    }
    lists_.SetHead(stream, i);
  }

  // False: the stream has to wait.
  bool Execute(StreamId stream, std::uint32_t i) {
    const Instruction in = program_.code[i];
    switch (in.opcode) {
      case Opcode::kKernel:
        Start(stream, i, copies_.OfKernel(stream, program_.kernels[in.arg]));
        break;
      case Opcode::kCopy:
        Start(stream, i, copies_.OfCopy(stream, program_.copies[in.arg]));
        copies_changed_ = true;
        break;
      case Opcode::kRecord:
        assert(scratch_.event_time[in.arg] < 0 && "an event is recorded once");
        ready_ |= ~static_cast<StreamSet>(scratch_.event_time[in.arg]);
        scratch_.event_time[in.arg] = now_;
        break;
      case Opcode::kWait:
        if (scratch_.event_time[in.arg] < 0) {
          scratch_.event_time[in.arg] &= ~Nanos{SetOf(stream)};
          return false;
        }
        if constexpr (kTimeline) ChargeWait(stream, i, in.cause);
        break;
      case Opcode::kAlloc:
        Change(in, true);
        break;
      case Opcode::kFree:
        if (program_.memory == ProgramMemory::kPool) scratch_.reached[i] = now_;
        Change(in, false);
        break;
      case Opcode::kHostSync:
        break;
    }
    return true;
  }

  void Start(StreamId stream, std::uint32_t i, const RunningCopies::Entry& entry) {
    if constexpr (kTimeline) ChargeLateIssue(stream, i);
    lanes_[stream].Start(i, durations_[i], now_, entry);
    running_ |= SetOf(stream);
    started_ |= SetOf(stream);
  }

  void Change(Instruction in, bool is_alloc) {
    if constexpr (kPeak) {
      const Buffer& buffer = program_.buffers[in.arg];
      if (buffer.place == 0) memory_.Change(in.stream, now_, is_alloc, buffer.bytes);
    }
  }

  void ChargeLateIssue(StreamId stream, std::uint32_t i) {
    if (!IsCompute(stream)) return;
    Nanos& idle_since = lanes_[stream].idle_since;
    stalls_.LateIssue(i, idle_since, lists_.TimeOf(i), host_.BlocksBefore(i));
    idle_since = std::max(idle_since, lists_.TimeOf(i));
  }

  void ChargeWait(StreamId stream, std::uint32_t i, Cause cause) {
    if (!IsCompute(stream)) return;
    ChargeLateIssue(stream, i);
    Nanos& idle_since = lanes_[stream].idle_since;
    stalls_.Wait(i, cause, idle_since, now_);
    idle_since = std::max(idle_since, now_);
  }

  // Kernels slow nobody down.
  void SetRates() {
    const StreamSet changed = copies_changed_ ? running_ : started_;
    for (StreamId s = 0; s < streams_; ++s) {
      if ((changed & SetOf(s)) != 0) lanes_[s].SetRate(now_, next_[s]);
    }
    copies_changed_ = false;
    started_ = 0;
  }

  Nanos NextTime() const {
    Nanos next = kNever;
    for (std::size_t s = 0; s < streams_; ++s) next = std::min(next, next_[s]);
    return next;
  }

  void Advance(Nanos next) {
    now_ = next;
    for (StreamId s = 0; s < streams_; ++s) {
      if (next_[s] != next) continue;
      ready_ |= SetOf(s);
      if ((running_ & SetOf(s)) != 0) End(s);
    }
  }

  void End(StreamId stream) {
    Lane& lane = lanes_[stream];
    running_ &= ~SetOf(stream);
    lane.idle_since = now_;
    lane.entry.Count(-1);
    copies_changed_ |= program_.code[lane.instruction].opcode == Opcode::kCopy;
    host_.Ended(lane.instruction, now_);
    if constexpr (kTimeline) spans_.push_back({lane.instruction, lane.start, now_});
  }

  bool IsCompute(StreamId stream) const { return program_.streams[stream].kind == StreamKind::kCompute; }

  Simulated Failed() { return {.completed = false, .failed_at = host_.issued(), .failed_live = host_.pool().in_use()}; }

  Simulated Finish() {
    Simulated result;
    result.makespan = std::max(now_, host_.time());
    result.live_peak = memory_.Finish(timeline_);
    result.pool_peak = host_.pool().peak();
    result.compactions = host_.pool().compactions();
    result.compacted_bytes = host_.pool().compacted_bytes();
    if constexpr (kTimeline) {
      std::sort(spans_.begin(), spans_.end(),
                [](const Span& a, const Span& b) { return a.instruction < b.instruction; });
      timeline_->issued.reserve(spans_.size());
      for (const Span& span : spans_) timeline_->issued.push_back(lists_.TimeOf(span.instruction));
      timeline_->spans = std::move(spans_);
      timeline_->makespan = result.makespan;
    }
    return result;
  }

  const Program& program_;
  std::span<const Nanos> durations_;
  Scratch& scratch_;
  Timeline* timeline_;
  MemoryLog<kPeak> memory_;
  StallAccount stalls_;
  std::size_t streams_;
  IssuedLists lists_;
  EventHost<kTimeline> host_;
  RunningCopies copies_;
  std::array<Lane, kMaxStreams> lanes_{};
  // By stream: when what runs ends; else when the issue time comes of what is next.
  std::array<Nanos, kMaxStreams> next_;
  StreamSet running_ = 0;
  StreamSet started_ = 0;        // they have no rate yet
  StreamSet ready_ = 0;          // to be asked what they take up; nothing runs on them
  bool copies_changed_ = false;  // since the rates were set
  std::vector<Span> spans_;
  Nanos now_ = 0;
};

}  // namespace

Simulated SimulateEvents(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                         Scratch& scratch, Timeline* timeline) {
  assert(durations.size() == program.code.size());
  if (timeline != nullptr) return Events<true, true>(program, durations, conditions, scratch, timeline).Run();
  return Events<false, true>(program, durations, conditions, scratch, nullptr).Run();
}

Simulated SimulateEventTimes(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                             Scratch& scratch) {
  assert(durations.size() == program.code.size());
  return Events<false, false>(program, durations, conditions, scratch, nullptr).Run();
}

}  // namespace spillway
