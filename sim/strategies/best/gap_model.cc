#include "sim/strategies/best/gap_model.h"

#include <algorithm>

namespace spillway {

GapModel::GapModel(const GapTables& tables, const Runtime& runtime, Bytes capacity)
    : tables_(tables),
      capacity_(capacity),
      ops_(tables),
      walk_(tables, runtime, capacity),
      clock_(tables, runtime, capacity) {}

GapJudgement GapModel::Judge(const GapChoices& choices, const WorthTiming& worth) {
  ++judgements_;
  ops_.Set(choices.ops);
  if (!walk_.Run(choices.gaps.data(), ops_)) return {kEndless, capacity_};
  GapJudgement judged{.time = ops_.all(), .excess = 0};
  for (const GapWalked::Point& point : walk_.walked().points) {
    judged.excess = std::max(judged.excess, point.load - capacity_);
    judged.time += point.again;
  }
  double enough = worth.cost - worth.price * static_cast<double>(judged.excess);
  if (judged.excess == 0) enough = std::max(enough, static_cast<double>(worth.time));
  if (static_cast<double>(judged.time) > enough) return judged;
  const bool done = clock_.Run(choices.gaps.data(), ops_, walk_.walked(), enough);
  judged.time = done ? clock_.time() : static_cast<Nanos>(enough) + 1;
  return judged;
}

GapChoices GapModel::Settled(GapChoices choices) {
  Judge(choices);
  for (const auto& [op, way] : walk_.walked().leaner) choices.ops[Index(op)] = way;
  return choices;
}

OpId GapModel::LeavesBefore(std::int32_t gap) const {
  const bool waits = walk_.walked().copied[Index(gap)] != 0 && clock_.left(gap) != kNoOp;
  return waits ? clock_.left(gap) : tables_.gaps[Index(gap)].after + 1;
}

OpId GapModel::LatestIssue(const CopyIn& copy) const {
  const std::vector<GapWalked::Point>& points = walk_.walked().points;
  std::int32_t latest = copy.issue;
  while (latest < copy.need && points[Index(latest) + 1].start <= copy.start) ++latest;
  return std::max(points[Index(latest)].begin, tables_.gaps[Index(copy.gap)].after + 1);
}

}  // namespace spillway
