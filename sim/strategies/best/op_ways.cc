#include "sim/strategies/best/op_ways.h"

#include <algorithm>
#include <limits>

namespace spillway {

OpWays::OpWays(const GapTables& tables) : tables_(tables) {
  const std::size_t ops = tables.ops.size();
  way_of_.resize(ops);
  need_.resize(ops);
  workspace_.resize(ops);
  time_.resize(ops);
  slowdown_.resize(ops);
  time_before_.resize(ops + 1);
  slowed_before_.resize(ops + 1);
  for (std::size_t op = 0; op < ops; ++op) {
    SetOne(op, 0);
    AddByTime(tables.ops[op].ways);
  }
  differ_.resize(ops);
  for (std::size_t op = 0; op < ops; ++op) {
    if (!tables.ops[op].DiffersAgain()) continue;
    differ_[op] = first_by_time_.size();
    AddByTime(tables.ops[op].again);
  }
  first_by_time_.push_back(by_time_.size());
  SumFrom(0);
}

void OpWays::AddByTime(const GapTables::Rows& rows) {
  std::vector<Way> ways;
  for (std::int32_t w = rows.begin; w < rows.end; ++w) {
    const GapTables::Way& way = tables_.ways[Index(w)];
    ways.push_back(
        {static_cast<std::uint8_t>(w - rows.begin), way.time, way.workspace, way.slowdown, way.division >= 0});
  }
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.time != b.time ? a.time < b.time : a.workspace < b.workspace;
  });
  first_by_time_.push_back(by_time_.size());
  Bytes least = std::numeric_limits<Bytes>::max(), least_whole = least;
  for (const Way& way : ways) {
    if (way.workspace >= (way.divided ? least : least_whole)) continue;
    by_time_.push_back(way);
    least = std::min(least, way.workspace);
    if (!way.divided) least_whole = way.workspace;
  }
}

const OpWays::Way* OpWays::FastestOf(std::size_t row, Bytes workspace, bool whole) const {
  for (std::size_t k = first_by_time_[row]; k < first_by_time_[row + 1]; ++k) {
    if (by_time_[k].workspace <= workspace && !(whole && by_time_[k].divided)) return &by_time_[k];
  }
  return nullptr;
}

const OpWays::Way* OpWays::Within(OpId op, Bytes workspace) const { return FastestOf(Index(op), workspace, false); }

const OpWays::Way* OpWays::WithinAgain(OpId op, Bytes workspace) const {
  return FastestOf(differ_[Index(op)] > 0 ? differ_[Index(op)] : Index(op), workspace, true);
}

OpWays::Way OpWays::Chosen(OpId op) const {
  const std::uint8_t row = way_of_[Index(op)];
  const GapTables::Way& way = tables_.ways[Index(tables_.ops[Index(op)].ways.begin) + row];
  return {row, way.time, way.workspace, way.slowdown, way.division >= 0};
}

void OpWays::SetOne(std::size_t op, std::uint8_t way) {
  const GapTables::Op& row = tables_.ops[op];
  const GapTables::Way& chosen = tables_.ways[Index(row.ways.begin) + way];
  way_of_[op] = way;
  workspace_[op] = chosen.workspace;
  need_[op] = row.during + chosen.workspace;
  time_[op] = chosen.time;
  slowdown_[op] = chosen.slowdown;
}

void OpWays::SumFrom(std::size_t op) {
  for (; op < time_.size(); ++op) {
    time_before_[op + 1] = time_before_[op] + time_[op];
    const double slowed = static_cast<double>(time_[op]) * std::max(1.0, slowdown_[op]);
    slowed_before_[op + 1] = slowed_before_[op] + static_cast<Nanos>(slowed);
  }
}

void OpWays::Set(const std::vector<std::uint8_t>& ways) {
  const auto changed = std::mismatch(way_of_.begin(), way_of_.end(), ways.begin()).first;
  if (changed == way_of_.end()) return;
  const auto first = static_cast<std::size_t>(changed - way_of_.begin());
  for (std::size_t op = first; op < way_of_.size(); ++op) {
    if (ways[op] != way_of_[op]) SetOne(op, ways[op]);
  }
  SumFrom(first);
}

}  // namespace spillway
