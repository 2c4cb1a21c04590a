#include <algorithm>
#include <numeric>
#include <tuple>

#include "reports/trace/trace_internal.h"

namespace spillway {

namespace {

// Sources of TraceItems in front of the lanes.
enum : std::size_t { kMemorySource, kStallSource, kHostWaitSource, kIssueSource, kLanes };

bool Before(const TraceItem& a, const TraceItem& b) {
  if (a.time != b.time) return a.time < b.time;
  return a.kind != b.kind ? a.kind < b.kind : a.index < b.index;
}

}  // namespace

TraceItems::TraceItems(const Timeline& timeline, const Program& program, const Timeline* measured)
    : timeline_(timeline), program_(program), stalls_(timeline.stalls.size()) {
  std::iota(stalls_.begin(), stalls_.end(), 0u);
  std::stable_sort(stalls_.begin(), stalls_.end(),
                   [&](auto a, auto b) { return timeline.stalls[a].start < timeline.stalls[b].start; });
  AddLanes(timeline.spans, TraceItem::kWork);
  if (measured != nullptr) AddLanes(measured->spans, TraceItem::kMeasured);
  next_ = {{0, kNone, TraceItem::kMemory},
           {0, kNone, TraceItem::kStall},
           {0, kNone, TraceItem::kHostWait},
           {0, kNone, TraceItem::kIssue}};
  for (const Lane& lane : lanes_) next_.push_back({0, kNone, lane.kind});
  for (std::size_t source = 0; source < next_.size(); ++source) Advance(source);
}

void TraceItems::AddLanes(const std::vector<Span>& spans, TraceItem::Kind kind) {
  for (std::uint32_t stream = 0; stream <= program_.streams.size(); ++stream) lanes_.push_back({&spans, kind, stream});
}

bool TraceItems::Seek(Lane& lane) const {
  const std::vector<Span>& spans = *lane.spans;
  for (; lane.at < spans.size(); ++lane.at) {
    const Instruction& in = program_.code[spans[lane.at].instruction];
    const bool on_host = in.opcode == Opcode::kHostSync;
    if ((on_host ? program_.streams.size() : in.stream) == lane.stream) return true;
  }
  return false;
}

// What lies between the end of the last one, or of the last wait, and the moment when this one is issued.
bool TraceItems::AdvanceIssue() {
  for (; issue_ < timeline_.issued.size(); ++issue_) {
    const Nanos end = timeline_.issued[issue_];
    const std::vector<Stall>& waits = timeline_.host_waits;
    for (; issue_wait_ < waits.size() && waits[issue_wait_].start < end; ++issue_wait_) {
      busy_from_ = std::max(busy_from_, waits[issue_wait_].end);
    }
    const Nanos begin = std::exchange(busy_from_, std::max(busy_from_, end));
    if (end <= begin) continue;
    next_[kIssueSource] = {begin, issue_++, TraceItem::kIssue};
    return true;
  }
  return false;
}

void TraceItems::Advance(std::size_t source) {
  TraceItem& next = next_[source];
  const std::uint32_t at = next.index + 1;  // 0 behind kNone
  bool more = false;
  if (source >= kLanes) {
    Lane& lane = lanes_[source - kLanes];
    more = Seek(lane);
    if (more) next = {(*lane.spans)[lane.at].start, lane.at, lane.kind};
    ++lane.at;
  } else if (source == kMemorySource) {
    more = at < timeline_.memory.size();
    if (more) next = {timeline_.memory[at].time, at, TraceItem::kMemory};
  } else if (source == kStallSource) {
    // By its place in the order of starts.
    more = at < stalls_.size();
    if (more) next = {timeline_.stalls[stalls_[at]].start, at, TraceItem::kStall};
  } else if (source == kHostWaitSource) {
    more = at < timeline_.host_waits.size() && !program_.code.empty();
    if (more) next = {timeline_.host_waits[at].start, at, TraceItem::kHostWait};
  } else {
    more = AdvanceIssue();
  }
  if (!more) next.index = kNone;
}

bool TraceItems::Next(TraceItem& item) {
  std::size_t first = next_.size();
  for (std::size_t source = 0; source < next_.size(); ++source) {
    if (next_[source].index == kNone) continue;
    if (first == next_.size() || Before(next_[source], next_[first])) first = source;
  }
  if (first == next_.size()) return false;
  item = next_[first];
  if (item.kind == TraceItem::kStall) item.index = stalls_[item.index];
  Advance(first);
  return true;
}

// The copies sorted by piece, those of one piece as the step has them: each swap-in belongs to the last swap-out before it.
Swaps::Swaps(const Program& program) : brings_back(program.code.size(), false) {
  std::vector<std::uint32_t> copies;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode == Opcode::kCopy) copies.push_back(i);
  }
  const auto is_out = [&](std::uint32_t i) {
    return program.copies[program.code[i].arg].direction == Direction::kDeviceToHost;
  };
  const auto piece = [&](std::uint32_t i) {
    const Copy& copy = program.copies[program.code[i].arg];
    return std::tuple(is_out(i) ? copy.to : copy.from, copy.offset, copy.box);
  };
  std::sort(copies.begin(), copies.end(),
            [&](auto a, auto b) { return piece(a) != piece(b) ? piece(a) < piece(b) : a < b; });
  std::uint32_t out = kNoInstruction;
  for (const std::uint32_t i : copies) {
    if (is_out(i)) {
      out = i;
    } else if (out != kNoInstruction && piece(out) == piece(i)) {
      pairs.emplace_back(out, i);
      brings_back[i] = true;
    }
  }
  std::sort(pairs.begin(), pairs.end());
}

}  // namespace spillway
