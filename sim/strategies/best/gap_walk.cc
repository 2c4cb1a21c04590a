#include "sim/strategies/best/gap_walk.h"

#include <algorithm>
#include <utility>

namespace spillway {

namespace {

using Kind = GapTables::Event::Kind;

bool Recomputes(GapWay way) { return way == GapWay::kRecompute || way == GapWay::kRecomputeAnew; }

}  // namespace

GapWalk::GapWalk(const GapTables& tables, const Runtime& runtime, Bytes capacity)
    : tables_(tables), capacity_(capacity), layers_wait_(runtime.swap_in_waits == SwapInWaits::kBackwardLayer) {
  const std::size_t values = tables.values.size(), gaps = tables.gaps.size();
  open_.resize(values);
  passing_there_.resize(values);
  on_host_.resize(values);
  stays_.resize(values);
  seen_.resize(values);
  passing_.reserve(values);
  walked_.points.reserve(tables.events.size() + 2);
  walked_.acts.reserve(tables.events.size());
  walked_.leaner.reserve(tables.ops.size());
  walked_.again.reserve(tables.ops.size());
  leaner_.resize(tables.ops.size());
  walked_.copies_in.reserve(gaps);
  walked_.copied.resize(gaps);
  walked_.opened.resize(gaps);
}

void GapWalk::Begin() {
  std::fill(open_.begin(), open_.end(), -1);
  std::fill(on_host_.begin(), on_host_.end(), std::uint8_t{0});
  walked_.copies_in.clear();
  walked_.points.clear();
  walked_.acts.clear();
  walked_.leaner.clear();
  for (const auto& [op, row] : walked_.again) leaner_[Index(op)] = nullptr;
  walked_.again.clear();
  walked_.runs = 0;
  away_ = 0;
}

bool GapWalk::Run(const GapWay* gaps, OpWays& ops) {
  gaps_ = gaps;
  ops_ = &ops;
  Begin();
  const bool copies = std::find(gaps, gaps + tables_.gaps.size(), GapWay::kSwap) != gaps + tables_.gaps.size();
  BeginPoint(0);
  for (const GapTables::Event& event : tables_.events) {
    if (event.kind == Kind::kRoom) {
      if (copies) EndPoint(event.op);
    } else if (event.kind == Kind::kUpload || event.kind == Kind::kBarrier) {
      EndPoint(event.op);
      AddAct(event);
    } else if (gaps_[event.gap] != GapWay::kKeep) {
      Meet(event);
    } else if (event.kind == Kind::kOpen && tables_.gaps[Index(event.gap)].stale) {
      on_host_[Index(tables_.gaps[Index(event.gap)].value)] = 0;
    }
  }
  EndPoint(static_cast<OpId>(tables_.ops.size()));
  if (!walked_.leaner.empty()) ops.Sum(walked_.leaner.front().first);
  return !TooMany();
}

void GapWalk::BeginPoint(OpId op) {
  op_ = op;
  peak_ = 0;
  again_ = brought_ = 0;
  again_slowdown_ = 1;
}

// While it runs, with all kept. Where that is too much it runs in another way.
Bytes GapWalk::NeedOf(OpId op) {
  const Bytes need = ops_->need(op), room = capacity_ + away_ - (need - ops_->workspace(op));
  if (need - away_ <= capacity_) return need;
  const OpWays::Way* way = ops_->Within(op, room);
  if (way == nullptr) return need;
  walked_.leaner.emplace_back(op, way->row);
  ops_->Lean(op, way->row);
  return ops_->need(op);
}

// The ops from op_ on; none, if it has ended already.
void GapWalk::EndPoint(OpId end) {
  if (end <= op_) return;
  Bytes most = 0;
  for (OpId op = op_; op < end; ++op) most = std::max(most, NeedOf(op));
  GapWalked::Point& point = walked_.points.emplace_back();
  point.begin = op_;
  point.end = end;
  point.load = std::max(peak_, most - away_);
  point.away = away_;
  point.peak = peak_;
  point.again = again_;
  point.brought = brought_;
  point.again_slowdown = again_slowdown_;
  BeginPoint(end);
}

void GapWalk::Meet(const GapTables::Event& event) {
  const GapTables::Gap& gap = tables_.gaps[Index(event.gap)];
  const GapWay way = gaps_[event.gap];
  if (gap.streamed) return MeetStreamed(event);
  if (gap.serves >= 0) return MeetOpen(event);
  if (event.kind == Kind::kUnit || event.kind == Kind::kClose) {
    const bool waits = Recomputes(way) || layers_wait_;
    if (open_[Index(gap.value)] != event.gap || (event.kind == Kind::kUnit && !waits)) return;
    EndPoint(event.op);
    return Fetch(gap.value);
  }
  if (event.kind == Kind::kMade && way != GapWay::kSwap) return;
  EndPoint(event.op + 1);
  AddAct(event);
  if (event.kind == Kind::kOpen) Open(event.gap);
}

// It is away from its gap on, which the tables count, and comes in while the ops run.
void GapWalk::MeetStreamed(const GapTables::Event& event) {
  const GapTables::Gap& gap = tables_.gaps[Index(event.gap)];
  const bool behind = event.kind == Kind::kMade || event.kind == Kind::kOpen;
  EndPoint(behind ? event.op + 1 : event.op);
  if (event.kind == Kind::kClose) brought_ += gap.in;
  if (!behind) return;
  AddAct(event);
  if (event.kind == Kind::kMade) walked_.copied[Index(event.gap)] = on_host_[Index(gap.value)] == 0 ? 1 : 0;
  on_host_[Index(gap.value)] = 1;
}

void GapWalk::AddAct(const GapTables::Event& event) {
  if (walked_.points.empty()) walked_.points.push_back({});  // before all ops
  walked_.acts.push_back(static_cast<std::int32_t>(&event - tables_.events.data()));
  walked_.points.back().acts_end = static_cast<std::int32_t>(walked_.acts.size());
}

void GapWalk::Open(std::int32_t gap) {
  const std::size_t value = Index(tables_.gaps[Index(gap)].value);
  if (tables_.gaps[Index(gap)].stale) on_host_[value] = 0;
  open_[value] = gap;
  away_ += tables_.gaps[Index(gap)].bytes;
  if (gaps_[gap] != GapWay::kSwap) return;
  walked_.opened[Index(gap)] = static_cast<std::int32_t>(walked_.points.size());
  walked_.copied[Index(gap)] = on_host_[value] == 0 && !tables_.values[value].on_host ? 1 : 0;
  on_host_[value] = 1;
}

bool GapWalk::IsThere(std::int32_t value) const {
  return passing_there_[Index(value)] != 0 || (open_[Index(value)] < 0 && op_ <= tables_.values[Index(value)].last);
}

// Whether a value brought back for another one's sake stays until a use of its own.
bool GapWalk::StaysFor(std::int32_t value) const {
  const std::int32_t g = open_[Index(value)];
  if (g < 0) return false;
  return gaps_[g] != GapWay::kRecomputeAnew || tables_.gaps[Index(g)].before < tables_.ops[Index(op_)].unit_end;
}

// Rather than computed.
bool GapWalk::IsCopied(std::int32_t value) const {
  const std::int32_t g = open_[Index(value)];
  if (tables_.values[Index(value)].on_host) return true;
  return g >= 0 ? !Recomputes(gaps_[g]) : on_host_[Index(value)] != 0;
}

// Up to which a value's writers run again: what makes it later has not run yet.
OpId GapWalk::LastWriter(std::int32_t value) const {
  const std::int32_t g = open_[Index(value)];
  return g < 0 ? op_ - 1 : tables_.gaps[Index(g)].after;
}

void GapWalk::Fetch(std::int32_t value) {
  if (IsThere(value)) return;
  if (!IsCopied(value)) BringSources(value);
  if (!IsThere(value)) BringBack(value);
}

// What stays comes first, as far back as need be, so that nothing waits in passing beside another recomputation.
void GapWalk::BringSources(std::int32_t value) {
  if (walking_++ == 0) ++round_;
  WalkSources(value);
  --walking_;
}

void GapWalk::WalkSources(std::int32_t value) {
  if (std::exchange(seen_[Index(value)], round_) == round_) return;
  const GapTables::Value& row = tables_.values[Index(value)];
  const OpId last = LastWriter(value);
  for (std::int32_t w = row.writers.begin; w < row.writers.end; ++w) {
    const GapTables::Writer& writer = tables_.writers[Index(w)];
    if (writer.op > last) break;
    for (std::int32_t i = writer.inputs.begin; i < writer.inputs.end; ++i) {
      const std::int32_t input = tables_.sources[Index(i)];
      if (IsThere(input)) continue;
      if (StaysFor(input)) {
        Fetch(input);
      } else if (!IsCopied(input)) {
        WalkSources(input);
      }
    }
  }
}

void GapWalk::BringBack(std::int32_t value) {
  if (IsCopied(value)) return CopyBack(value);
  const GapTables::Value& row = tables_.values[Index(value)];
  const OpId last = LastWriter(value);
  for (std::int32_t w = row.writers.begin; w < row.writers.end; ++w) {
    if (tables_.writers[Index(w)].op <= last) RunAgain(tables_.writers[Index(w)], value, w == row.writers.begin);
  }
}

// From here on it is there: to stay, or in passing.
void GapWalk::Place(std::int32_t value) {
  away_ -= tables_.values[Index(value)].bytes;
  if (StaysFor(value)) {
    open_[Index(value)] = -1;
  } else {
    passing_there_[Index(value)] = 1;
    passing_.push_back(value);
  }
}

void GapWalk::CopyBack(std::int32_t value) {
  const std::int32_t g = open_[Index(value)], point = static_cast<std::int32_t>(walked_.points.size());
  if (StaysFor(value)) {
    walked_.copies_in.push_back({.gap = g, .need = point, .issue = point});
  } else {
    again_ += tables_.values[Index(value)].in;
  }
  Place(value);
}

void GapWalk::DropPassing(std::size_t kept) {
  for (; passing_.size() > kept; passing_.pop_back()) {
    passing_there_[Index(passing_.back())] = 0;
    away_ += tables_.values[Index(passing_.back())].bytes;
  }
}

// nullptr: none fits, or `first` does.
const OpWays::Way* GapWalk::LeanerAgain(OpId op, const OpWays::Way& first, Bytes room) {
  if (tables_.ops[Index(op)].DiffersAgain()) return ops_->WithinAgain(op, room);
  const OpWays::Way*& known = leaner_[Index(op)];
  if ((known == nullptr ? first : *known).workspace <= room) return known;
  const OpWays::Way* const leaner = ops_->WithinAgain(op, room);
  if (leaner != nullptr && first.divided) known = leaner;
  return leaner == nullptr ? known : leaner;
}

// As the first time; where there is no room for that, whole, in the fastest way that there is room for. One that differs
// runs in the fastest of its ways, in the leanest where there is no room.
OpWays::Way GapWalk::WayAgain(OpId op) {
  const GapTables::Op& row = tables_.ops[Index(op)];
  const Bytes room = capacity_ - (tables_.ops[Index(op_)].before - away_);
  OpWays::Way way = row.DiffersAgain() ? ops_->LeanestAgain(op) : ops_->Chosen(op);
  if (const OpWays::Way* const other = LeanerAgain(op, way, room)) way = *other;
  walked_.again.emplace_back(op, way.row);
  return way;
}

// For `value`, then drops what nothing but it needed.
void GapWalk::RunAgain(const GapTables::Writer& writer, std::int32_t value, bool first) {
  ++walked_.runs;
  if (TooMany()) return;
  const std::size_t kept = passing_.size();
  for (const bool transients : {false, true}) {  // a map may be a long way back
    for (std::int32_t i = writer.inputs.begin; i < writer.inputs.end; ++i) {
      const std::int32_t input = tables_.sources[Index(i)];
      if (tables_.values[Index(input)].transient == transients && !IsThere(input)) BringBack(input);
    }
  }
  for (std::int32_t i = writer.others.begin; i < writer.others.end; ++i) {
    if (!IsThere(tables_.sources[Index(i)])) Place(tables_.sources[Index(i)]);
  }
  const bool passes = first && !StaysFor(value);
  if (first) Place(value);
  const OpWays::Way way = WayAgain(writer.op);
  peak_ = std::max(peak_, tables_.ops[Index(op_)].before - away_ + way.workspace);
  again_ += way.time;
  again_slowdown_ = std::max(again_slowdown_, way.slowdown);
  if (passes) passing_.pop_back();  // it is who asked that drops it
  DropPassing(kept);
  if (passes) passing_.push_back(value);
}

}  // namespace spillway
