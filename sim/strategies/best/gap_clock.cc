#include "sim/strategies/best/gap_clock.h"

#include <algorithm>
#include <iterator>

namespace spillway {

using Kind = GapTables::Event::Kind;

GapClock::GapClock(const GapTables& tables, const Runtime& runtime, Bytes capacity)
    : tables_(tables), runtime_(runtime), capacity_(capacity) {
  const std::size_t gaps = tables.gaps.size();
  caps_.reserve(tables.events.size() + 2);
  out_end_.resize(gaps);
  left_.resize(gaps);
  leaving_.reserve(gaps);
}

// Bytes copied in so far at a point must not exceed those needed so far by more than the room there is: its cap. Copies are
// issued in order of need, each right behind the last point before its need whose cap is below what has then been issued.
void GapClock::Prefetch() {
  caps_.clear();
  Bytes needed = 0, issued = 0;
  std::size_t next = 0;
  std::int32_t point = 0, previous = 0;
  for (CopyIn& copy : walked_->copies_in) {
    for (; point < copy.need; ++point) {
      for (; next < walked_->copies_in.size() && walked_->copies_in[next].need <= point; ++next) {
        needed += tables_.gaps[Index(walked_->copies_in[next].gap)].bytes;
      }
      const Bytes cap = capacity_ - walked_->points[Index(point)].load + needed;
      while (!caps_.empty() && caps_.back().second >= cap) caps_.pop_back();
      caps_.emplace_back(point, cap);
    }
    issued += tables_.gaps[Index(copy.gap)].bytes;
    const auto fits =
        std::partition_point(caps_.begin(), caps_.end(), [issued](const auto& cap) { return cap.second < issued; });
    const std::int32_t room = fits == caps_.begin() ? 0 : std::prev(fits)->first + 1;
    copy.issue = previous = std::max({room, walked_->opened[Index(copy.gap)], previous});
  }
}

void GapClock::Begin() {
  clock_ = in_lane_ = out_lane_ = 0;
  in_flight_ = pending_ = 0;
  oldest_ = issued_ = arrived_ = 0;
  act_ = 0;
  leaving_.clear();
}

bool GapClock::Run(const GapWay* gaps, const OpWays& ops, GapWalked& walked, double enough) {
  gaps_ = gaps;
  ops_ = &ops;
  walked_ = &walked;
  Prefetch();
  Begin();
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(walked.points.size()); ++p) {
    if (static_cast<double>(clock_ + ops.from(walked.points[Index(p)].begin)) > enough) return false;
    RunPoint(p);
  }
  return true;
}

void GapClock::RunPoint(std::int32_t number) {
  Point& point = walked_->points[Index(number)];
  point.start = clock_;
  op_ = point.begin;
  IssueAt(number);
  AwaitMemory(-in_flight_);
  AwaitCopies(number);
  if (point.brought > 0)
    in_lane_ = std::max(in_lane_, clock_) + InBoth(Direction::kHostToDevice, point.brought, std::max(in_lane_, clock_));
  RunOps(point);
  if (point.brought > 0) clock_ = std::max(clock_, in_lane_);
  for (; act_ < point.acts_end; ++act_) Act(tables_.events[Index(walked_->acts[Index(act_)])]);
}

Nanos GapClock::time() const { return std::max({clock_, in_lane_, out_lane_}); }

// What a kernel of so long takes beside the copies that are under way.
Nanos GapClock::Beside(Nanos time, double slowdown) const {
  const Nanos until = std::max(in_lane_, out_lane_);
  if (until <= clock_ || slowdown <= 1) return time;
  const auto busy = static_cast<double>(until - clock_), alone = static_cast<double>(time);
  return static_cast<Nanos>(alone * slowdown <= busy ? alone * slowdown : alone + busy - busy / slowdown);
}

// The time of a copy that takes `time` alone and begins at `start`, with the other direction's lane as busy as it is.
Nanos GapClock::InBoth(Direction direction, Nanos time, Nanos start) const {
  const Nanos other = direction == Direction::kHostToDevice ? out_lane_ : in_lane_;
  const double duplex = tables_.duplex[static_cast<std::size_t>(direction)];
  if (runtime_.copy_streams == 1 || duplex >= 1 || other <= start) return time;
  const auto busy = static_cast<double>(other - start), alone = static_cast<double>(time);
  const double longer = alone / duplex;
  return static_cast<Nanos>(longer <= busy ? longer : alone + busy - busy * duplex);
}

void GapClock::RunOps(const Point& point) {
  const bool room = point.load + in_flight_ + pending_ <= capacity_;
  if (!room) AwaitMemory(point.peak);
  if (point.again > 0) clock_ += Beside(point.again, point.again_slowdown);
  const Nanos until = std::max(in_lane_, out_lane_), slowed = ops_->SlowedBetween(point.begin, point.end);
  if (room && (until <= clock_ || clock_ + slowed <= until)) {
    clock_ += until <= clock_ ? ops_->Between(point.begin, point.end) : slowed;
    return;
  }
  for (; op_ < point.end; ++op_) {
    if (!room) AwaitMemory(ops_->need(op_) - point.away);
    clock_ += Beside(ops_->time(op_), ops_->slowdown(op_));
  }
}

void GapClock::IssueAt(std::int32_t point) {
  for (; issued_ < walked_->copies_in.size() && walked_->copies_in[issued_].issue <= point; ++issued_) {
    CopyIn& copy = walked_->copies_in[issued_];
    const GapTables::Gap& gap = tables_.gaps[Index(copy.gap)];
    if (copy.need > point) in_flight_ += gap.bytes;
    copy.start = std::max({in_lane_, clock_, WhenThereIsRoom(walked_->points[Index(point)].load)});
    if (walked_->copied[Index(copy.gap)] != 0)
      copy.start = std::max(copy.start, out_end_[Index(copy.gap)]);  // its way out
    copy.end = in_lane_ = copy.start + InBoth(Direction::kHostToDevice, gap.in, copy.start);
  }
}

// For what the point takes and what is on its way in: the end of the copies out that hold it.
Nanos GapClock::WhenThereIsRoom(Bytes load) const {
  Bytes held = load + in_flight_ + pending_;
  Nanos when = 0;
  for (std::size_t k = oldest_; k < leaving_.size() && held > capacity_; ++k) {
    when = std::max(when, leaving_[k].end);
    held -= leaving_[k].bytes;
  }
  return when;
}

// Until copies out have ended beside which so many bytes find no room.
void GapClock::AwaitMemory(Bytes load) {
  for (; oldest_ < leaving_.size(); ++oldest_) {
    const Leaving& leaving = leaving_[oldest_];
    if (leaving.end > clock_ && load + in_flight_ + pending_ <= capacity_) return;
    clock_ = std::max(clock_, leaving.end);
    pending_ -= leaving.bytes;
    left_[Index(leaving.gap)] = op_;
  }
}

void GapClock::AwaitCopies(std::int32_t point) {
  for (; arrived_ < walked_->copies_in.size() && walked_->copies_in[arrived_].need == point; ++arrived_) {
    const CopyIn& copy = walked_->copies_in[arrived_];
    if (copy.issue < point) in_flight_ -= tables_.gaps[Index(copy.gap)].bytes;
    clock_ = std::max(clock_, copy.end);
  }
}

void GapClock::Act(const GapTables::Event& event) {
  if (event.kind == Kind::kUpload) {
    clock_ = in_lane_ = std::max(clock_, in_lane_) + tables_.uploads[Index(event.gap)];
    return;
  }
  if (event.kind == Kind::kBarrier) {
    if (runtime_.barrier != Barrier::kNone) clock_ = std::max({clock_, in_lane_, out_lane_});
    return;
  }
  if (gaps_[event.gap] != GapWay::kSwap || walked_->copied[Index(event.gap)] == 0) return;
  const GapTables::Gap& gap = tables_.gaps[Index(event.gap)];
  left_[Index(event.gap)] = kNoOp;
  Nanos& end = out_end_[Index(event.gap)];
  if (event.kind == Kind::kMade) {
    const Nanos start = std::max(OutLane(), clock_);
    end = OutLane() = start + InBoth(Direction::kDeviceToHost, gap.out, start);
  } else if (end > clock_) {
    leaving_.push_back({end, gap.bytes, event.gap});
    pending_ += gap.bytes;
  }
}

}  // namespace spillway
