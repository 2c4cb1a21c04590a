#include "sim/strategies/best/gap_model.h"

#include <algorithm>

#include "hw/text/lists.h"

namespace spillway {

namespace {

using Kind = GapTables::Event::Kind;

bool Recomputes(GapWay way) { return way == GapWay::kRecompute || way == GapWay::kRecomputeAnew; }

}  // namespace

GapModel::GapModel(const GapTables& tables, const Runtime& runtime, Bytes capacity)
    : tables_(tables), runtime_(runtime), capacity_(capacity) {
  const std::size_t ops = tables.ops.size(), values = tables.values.size(), gaps = tables.gaps.size();
  way_of_.resize(ops);
  need_.resize(ops);
  workspace_.resize(ops);
  time_.resize(ops);
  slowdown_.resize(ops);
  time_before_.resize(ops + 1);
  slowed_before_.resize(ops + 1);
  for (std::size_t op = 0; op < ops; ++op) SetWay(op, 0);
  SumFrom(0);
  open_.resize(values);
  passing_there_.resize(values);
  on_host_.resize(values);
  seen_.resize(values);
  passing_.reserve(values);
  points_.reserve(tables.events.size() + 2);
  acts_.reserve(tables.events.size());
  copies_in_.reserve(gaps);
  copied_.resize(gaps);
  opened_.resize(gaps);
  caps_.reserve(tables.events.size() + 2);
  out_end_.resize(gaps);
  left_.resize(gaps);
  leaving_.reserve(gaps);
}

void GapModel::SetWay(std::size_t op, std::uint8_t way) {
  const GapTables::Op& row = tables_.ops[op];
  const GapTables::Way& chosen = tables_.ways[Index(row.ways.begin) + way];
  way_of_[op] = way;
  workspace_[op] = chosen.workspace;
  need_[op] = row.during + chosen.workspace;
  time_[op] = chosen.time;
  slowdown_[op] = chosen.slowdown;
}

void GapModel::SumFrom(std::size_t op) {
  for (; op < time_.size(); ++op) {
    time_before_[op + 1] = time_before_[op] + time_[op];
    const double slowed = static_cast<double>(time_[op]) * std::max(1.0, slowdown_[op]);
    slowed_before_[op + 1] = slowed_before_[op] + static_cast<Nanos>(slowed);
  }
}

void GapModel::SetWays(const GapChoices& choices) {
  const auto changed = std::mismatch(way_of_.begin(), way_of_.end(), choices.ops.begin()).first;
  if (changed == way_of_.end()) return;
  const auto first = static_cast<std::size_t>(changed - way_of_.begin());
  for (std::size_t op = first; op < way_of_.size(); ++op) {
    if (choices.ops[op] != way_of_[op]) SetWay(op, choices.ops[op]);
  }
  SumFrom(first);
}

GapJudgement GapModel::Judge(const GapChoices& choices, const WorthTiming& worth) {
  ++judgements_;
  SetWays(choices);
  ways_ = choices.gaps.data();
  Walk();
  if (runs_ > kRecomputeLimit * tables_.first_backward) return {kEndless, capacity_};
  GapJudgement judged{.time = time_before_.back(), .excess = 0};
  for (const Point& point : points_) {
    judged.excess = std::max(judged.excess, point.load - capacity_);
    judged.time += point.again;
  }
  double enough = worth.cost - worth.price * static_cast<double>(judged.excess);
  if (judged.excess == 0) enough = std::max(enough, static_cast<double>(worth.time));
  if (static_cast<double>(judged.time) > enough) return judged;
  Prefetch();
  judged.time = Clock(enough) ? std::max({clock_, in_lane_, out_lane_}) : static_cast<Nanos>(enough) + 1;
  return judged;
}

// ---- The walk.

void GapModel::Walk() {
  std::fill(open_.begin(), open_.end(), -1);
  std::fill(on_host_.begin(), on_host_.end(), std::uint8_t{0});
  copies_in_.clear();
  points_.clear();
  acts_.clear();
  away_ = 0;
  runs_ = 0;
  const bool copies = std::find(ways_, ways_ + tables_.gaps.size(), GapWay::kSwap) != ways_ + tables_.gaps.size();
  BeginPoint(0);
  for (const GapTables::Event& event : tables_.events) {
    if (event.kind == Kind::kRoom) {
      if (copies) EndPoint(event.op);
    } else if (event.kind == Kind::kUpload || event.kind == Kind::kBarrier) {
      EndPoint(event.op);
      AddAct(event);
    } else if (ways_[event.gap] != GapWay::kKeep) {
      Meet(event);
    } else if (event.kind == Kind::kOpen && tables_.gaps[Index(event.gap)].stale) {
      on_host_[Index(tables_.gaps[Index(event.gap)].value)] = 0;
    }
  }
  EndPoint(static_cast<OpId>(tables_.ops.size()));
}

void GapModel::BeginPoint(OpId op) {
  op_ = op;
  peak_ = 0;
  again_ = 0;
  again_slowdown_ = 1;
}

// The ops from op_ on; none, if it has ended already.
void GapModel::EndPoint(OpId end) {
  if (end <= op_) return;
  Bytes most = 0;
  for (OpId op = op_; op < end; ++op) most = std::max(most, need_[Index(op)]);
  Point& point = points_.emplace_back();
  point.begin = op_;
  point.end = end;
  point.load = std::max(peak_, most - away_);
  point.away = away_;
  point.peak = peak_;
  point.again = again_;
  point.again_slowdown = again_slowdown_;
  BeginPoint(end);
}

void GapModel::Meet(const GapTables::Event& event) {
  const GapTables::Gap& gap = tables_.gaps[Index(event.gap)];
  const GapWay way = ways_[event.gap];
  if (event.kind == Kind::kUnit || event.kind == Kind::kClose) {
    const bool waits = Recomputes(way) || runtime_.swap_in_waits == SwapInWaits::kBackwardLayer;
    if (open_[Index(gap.value)] != event.gap || (event.kind == Kind::kUnit && !waits)) return;
    EndPoint(event.op);
    return Fetch(gap.value);
  }
  if (event.kind == Kind::kMade && way != GapWay::kSwap) return;
  EndPoint(event.op + 1);
  AddAct(event);
  if (event.kind == Kind::kOpen) Open(event.gap);
}

void GapModel::AddAct(const GapTables::Event& event) {
  if (points_.empty()) points_.push_back({});  // before all ops
  acts_.push_back(static_cast<std::int32_t>(&event - tables_.events.data()));
  points_.back().acts_end = static_cast<std::int32_t>(acts_.size());
}

void GapModel::Open(std::int32_t gap) {
  const std::size_t value = Index(tables_.gaps[Index(gap)].value);
  if (tables_.gaps[Index(gap)].stale) on_host_[value] = 0;
  open_[value] = gap;
  away_ += tables_.gaps[Index(gap)].bytes;
  if (ways_[gap] != GapWay::kSwap) return;
  opened_[Index(gap)] = static_cast<std::int32_t>(points_.size());
  copied_[Index(gap)] = on_host_[value] == 0 && !tables_.values[value].on_host ? 1 : 0;
  on_host_[value] = 1;
}

bool GapModel::IsThere(std::int32_t value) const {
  return passing_there_[Index(value)] != 0 || (open_[Index(value)] < 0 && op_ <= tables_.values[Index(value)].last);
}

// Whether a value brought back for another one's sake stays until a use of its own.
bool GapModel::StaysFor(std::int32_t value) const {
  const std::int32_t g = open_[Index(value)];
  if (g < 0) return false;
  return ways_[g] != GapWay::kRecomputeAnew || tables_.gaps[Index(g)].before < tables_.ops[Index(op_)].unit_end;
}

// Rather than computed.
bool GapModel::IsCopied(std::int32_t value) const {
  const std::int32_t g = open_[Index(value)];
  if (tables_.values[Index(value)].on_host) return true;
  return g >= 0 ? !Recomputes(ways_[g]) : on_host_[Index(value)] != 0;
}

// Up to which a value's writers run again: what makes it later has not run yet.
OpId GapModel::LastWriter(std::int32_t value) const {
  const std::int32_t g = open_[Index(value)];
  return g < 0 ? op_ - 1 : tables_.gaps[Index(g)].after;
}

void GapModel::Fetch(std::int32_t value) {
  if (IsThere(value)) return;
  if (!IsCopied(value)) BringSources(value);
  if (!IsThere(value)) BringBack(value);
}

// What stays comes first, as far back as need be, so that nothing waits in passing beside another recomputation.
void GapModel::BringSources(std::int32_t value) {
  if (walking_++ == 0) ++round_;
  WalkSources(value);
  --walking_;
}

void GapModel::WalkSources(std::int32_t value) {
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

void GapModel::BringBack(std::int32_t value) {
  if (IsCopied(value)) return CopyBack(value);
  const GapTables::Value& row = tables_.values[Index(value)];
  const OpId last = LastWriter(value);
  for (std::int32_t w = row.writers.begin; w < row.writers.end; ++w) {
    if (tables_.writers[Index(w)].op <= last) RunAgain(tables_.writers[Index(w)], value, w == row.writers.begin);
  }
}

// From here on it is there: to stay, or in passing.
void GapModel::Place(std::int32_t value) {
  away_ -= tables_.values[Index(value)].bytes;
  if (StaysFor(value)) {
    open_[Index(value)] = -1;
  } else {
    passing_there_[Index(value)] = 1;
    passing_.push_back(value);
  }
}

void GapModel::CopyBack(std::int32_t value) {
  const std::int32_t g = open_[Index(value)], point = static_cast<std::int32_t>(points_.size());
  if (StaysFor(value)) {
    copies_in_.push_back({.gap = g, .need = point, .issue = point});
  } else {
    again_ += tables_.values[Index(value)].in;
  }
  Place(value);
}

void GapModel::DropPassing(std::size_t kept) {
  for (; passing_.size() > kept; passing_.pop_back()) {
    passing_there_[Index(passing_.back())] = 0;
    away_ += tables_.values[Index(passing_.back())].bytes;
  }
}

// For `value`, then drops what nothing but it needed.
void GapModel::RunAgain(const GapTables::Writer& writer, std::int32_t value, bool first) {
  if (++runs_ > kRecomputeLimit * tables_.first_backward) return;
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
  peak_ = std::max(peak_, tables_.ops[Index(op_)].before - away_ + workspace_[Index(writer.op)]);
  again_ += time_[Index(writer.op)];
  again_slowdown_ = std::max(again_slowdown_, slowdown_[Index(writer.op)]);
  if (passes) passing_.pop_back();  // it is who asked that drops it
  DropPassing(kept);
  if (passes) passing_.push_back(value);
}

// ---- When copies in are issued.

// Bytes copied in so far at a point must not exceed those needed so far by more than the room there is: its cap. Copies are
// issued in order of need, each right behind the last point before its need whose cap is below what has then been issued.
void GapModel::Prefetch() {
  caps_.clear();
  Bytes needed = 0, issued = 0;
  std::size_t next = 0;
  std::int32_t point = 0, previous = 0;
  for (CopyIn& copy : copies_in_) {
    for (; point < copy.need; ++point) {
      for (; next < copies_in_.size() && copies_in_[next].need <= point; ++next) {
        needed += tables_.gaps[Index(copies_in_[next].gap)].bytes;
      }
      const Bytes cap = capacity_ - points_[Index(point)].load + needed;
      while (!caps_.empty() && caps_.back().second >= cap) caps_.pop_back();
      caps_.emplace_back(point, cap);
    }
    issued += tables_.gaps[Index(copy.gap)].bytes;
    const auto fits =
        std::partition_point(caps_.begin(), caps_.end(), [issued](const auto& cap) { return cap.second < issued; });
    const std::int32_t room = fits == caps_.begin() ? 0 : std::prev(fits)->first + 1;
    copy.issue = previous = std::max({room, opened_[Index(copy.gap)], previous});
  }
}

// ---- The clock.

// False: it takes longer than `enough`.
bool GapModel::Clock(double enough) {
  clock_ = in_lane_ = out_lane_ = 0;
  in_flight_ = pending_ = 0;
  oldest_ = issued_ = arrived_ = 0;
  leaving_.clear();
  std::int32_t act = 0;
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(points_.size()); ++p) {
    Point& point = points_[Index(p)];
    if (static_cast<double>(clock_ + time_before_.back() - time_before_[Index(point.begin)]) > enough) return false;
    point.start = clock_;
    op_ = point.begin;
    IssueAt(p);
    AwaitMemory(-in_flight_);
    AwaitCopies(p);
    RunOps(point);
    for (; act < point.acts_end; ++act) Act(tables_.events[Index(acts_[Index(act)])]);
  }
  return true;
}

// What a kernel of so long takes beside the copies that are under way.
Nanos GapModel::Beside(Nanos time, double slowdown) const {
  const Nanos until = std::max(in_lane_, out_lane_);
  if (until <= clock_ || slowdown <= 1) return time;
  const auto busy = static_cast<double>(until - clock_), alone = static_cast<double>(time);
  return static_cast<Nanos>(alone * slowdown <= busy ? alone * slowdown : alone + busy - busy / slowdown);
}

// What a copy of so long takes that begins while the other lane is busy until `other`.
Nanos GapModel::InBoth(Nanos time, Nanos start, Nanos other) const {
  if (runtime_.copy_streams == 1 || tables_.duplex >= 1 || other <= start) return time;
  const auto busy = static_cast<double>(other - start), alone = static_cast<double>(time);
  const double longer = alone / tables_.duplex;
  return static_cast<Nanos>(longer <= busy ? longer : alone + busy - busy * tables_.duplex);
}

void GapModel::RunOps(const Point& point) {
  const bool room = point.load + in_flight_ + pending_ <= capacity_;
  if (!room) AwaitMemory(point.peak);
  if (point.again > 0) clock_ += Beside(point.again, point.again_slowdown);
  const Nanos until = std::max(in_lane_, out_lane_), slowed = Sum(slowed_before_, point);
  if (room && (until <= clock_ || clock_ + slowed <= until)) {
    clock_ += until <= clock_ ? Sum(time_before_, point) : slowed;
    return;
  }
  for (; op_ < point.end; ++op_) {
    if (!room) AwaitMemory(need_[Index(op_)] - point.away);
    clock_ += Beside(time_[Index(op_)], slowdown_[Index(op_)]);
  }
}

Nanos GapModel::Sum(const std::vector<Nanos>& before, const Point& point) {
  return before[Index(point.end)] - before[Index(point.begin)];
}

void GapModel::IssueAt(std::int32_t point) {
  for (; issued_ < copies_in_.size() && copies_in_[issued_].issue <= point; ++issued_) {
    CopyIn& copy = copies_in_[issued_];
    const GapTables::Gap& gap = tables_.gaps[Index(copy.gap)];
    if (copy.need > point) in_flight_ += gap.bytes;
    copy.start = std::max({in_lane_, clock_, WhenThereIsRoom(points_[Index(point)].load)});
    if (copied_[Index(copy.gap)] != 0) copy.start = std::max(copy.start, out_end_[Index(copy.gap)]);  // its way out
    copy.end = in_lane_ = copy.start + InBoth(gap.in, copy.start, out_lane_);
  }
}

// For what the point takes and what is on its way in: the end of the copies out that hold it.
Nanos GapModel::WhenThereIsRoom(Bytes load) const {
  Bytes held = load + in_flight_ + pending_;
  Nanos when = 0;
  for (std::size_t k = oldest_; k < leaving_.size() && held > capacity_; ++k) {
    when = std::max(when, leaving_[k].end);
    held -= leaving_[k].bytes;
  }
  return when;
}

// Until copies out have ended beside which so many bytes find no room.
void GapModel::AwaitMemory(Bytes load) {
  for (; oldest_ < leaving_.size(); ++oldest_) {
    const Leaving& leaving = leaving_[oldest_];
    if (leaving.end > clock_ && load + in_flight_ + pending_ <= capacity_) return;
    clock_ = std::max(clock_, leaving.end);
    pending_ -= leaving.bytes;
    left_[Index(leaving.gap)] = op_;
  }
}

void GapModel::AwaitCopies(std::int32_t point) {
  for (; arrived_ < copies_in_.size() && copies_in_[arrived_].need == point; ++arrived_) {
    const CopyIn& copy = copies_in_[arrived_];
    if (copy.issue < point) in_flight_ -= tables_.gaps[Index(copy.gap)].bytes;
    clock_ = std::max(clock_, copy.end);
  }
}

void GapModel::Act(const GapTables::Event& event) {
  if (event.kind == Kind::kUpload) {
    clock_ = in_lane_ = std::max(clock_, in_lane_) + tables_.uploads[Index(event.gap)];
    return;
  }
  if (event.kind == Kind::kBarrier) {
    if (runtime_.barrier != Barrier::kNone) clock_ = std::max({clock_, in_lane_, out_lane_});
    return;
  }
  if (ways_[event.gap] != GapWay::kSwap || copied_[Index(event.gap)] == 0) return;
  const GapTables::Gap& gap = tables_.gaps[Index(event.gap)];
  left_[Index(event.gap)] = kNoOp;
  Nanos& end = out_end_[Index(event.gap)];
  if (event.kind == Kind::kMade) {
    const Nanos start = std::max(OutLane(), clock_);
    end = OutLane() = start + InBoth(gap.out, start, in_lane_);
  } else if (end > clock_) {
    leaving_.push_back({end, gap.bytes, event.gap});
    pending_ += gap.bytes;
  }
}

OpId GapModel::LeavesBefore(std::int32_t gap) const {
  const bool waits = copied_[Index(gap)] != 0 && left_[Index(gap)] != kNoOp;
  return waits ? left_[Index(gap)] : tables_.gaps[Index(gap)].after + 1;
}

OpId GapModel::LatestIssue(const CopyIn& copy) const {
  std::int32_t latest = copy.issue;
  while (latest < copy.need && points_[Index(latest) + 1].start <= copy.start) ++latest;
  return std::max(points_[Index(latest)].begin, tables_.gaps[Index(copy.gap)].after + 1);
}

}  // namespace spillway
