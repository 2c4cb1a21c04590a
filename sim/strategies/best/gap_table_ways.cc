// GapTables' ways to run ops, and what is fixed of those that run in groups.
#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "model/cost/menu.h"
#include "sim/strategies/best/divided_ways.h"
#include "sim/strategies/best/gap_tables.h"

namespace spillway {

namespace {

std::int32_t Size(const auto& table) { return static_cast<std::int32_t>(table.size()); }

Bytes Taken(Bytes workspace) { return workspace > 0 ? RoundToUnit(workspace) : 0; }

// Groups around ops that take more than so many per cent of the memory by themselves: less than all of it leaves room for
// what addresses cost and for copies ahead.
constexpr int kGroupPercents[] = {95, 80, 60};

}  // namespace

std::vector<WaysLookedAt> InPartsTried(const StepTables& tables, Bytes capacity) {
  std::vector<WaysLookedAt> tried{{.algorithms = true, .divided = true, .groups = {}}};
  for (const int percent : kGroupPercents) {
    std::vector<PartGroup> groups = GroupsOver(tables, capacity / 100 * percent);
    if (groups.empty() || groups == tried.back().groups) continue;
    tried.push_back({.algorithms = true, .divided = false, .groups = std::move(groups)});
  }
  return tried;
}

void GapTables::AddGroups(const StepFacts& facts) {
  for (OpId op = 0; op < Size(ops); ++op) ops[Index(op)].group_first = ops[Index(op)].group_last = op;
  for (const PartGroup& group : groups) {
    for (OpId op = group.first; op < group.end; ++op) {
      ops[Index(op)].group_first = group.first;
      ops[Index(op)].group_last = group.end - 1;
      ops[Index(op)].unit_end = ops[Index(group.end - 1)].unit_end;
      ops[Index(op)].grouped = Size(grouped);
      grouped.push_back(DecisionInGroup(facts.tables(), group, op));
    }
  }
}

void GapTables::AddWays(const StepFacts& facts, Bytes capacity, const WaysLookedAt& looked_at) {
  const StepTables& step = facts.tables();
  std::vector<Rows> of_launch;
  for (std::size_t launch = 0; launch < step.launches.size(); ++launch) {
    of_launch.push_back(AddWaysOf(facts, launch, capacity, looked_at));
  }
  for (OpId op = 0; op < Size(ops); ++op) {
    ops[Index(op)].ways = ops[Index(op)].grouped >= 0 ? AddWaysInParts(facts, op) : of_launch[step.launch[Index(op)]];
    const bool differs = step.launch_again[Index(op)] != step.launch[Index(op)] && ops[Index(op)].grouped < 0;
    ops[Index(op)].again = differs ? of_launch[step.launch_again[Index(op)]] : ops[Index(op)].ways;
    kernels += ways[Index(ops[Index(op)].ways.begin)].time;
  }
}

std::int32_t GapTables::AddDivision(const DividedWay& way) {
  divisions.push_back(way.parts);
  return Size(divisions) - 1;
}

// The usual one, then those that neither it nor another one beats in both time and workspace, the fastest first. Of a
// launch that the library refuses whole the ways are in parts, and the fastest of them comes first.
GapTables::Rows GapTables::AddWaysOf(const StepFacts& facts, std::size_t launch, Bytes capacity,
                                     const WaysLookedAt& looked_at) {
  const StepTables& step = facts.tables();
  const Cost usually = facts.costs().Kernel(step.launches[launch], step.device);
  const Way whole{usually.time, Taken(step.launches[launch].workspace), 0, usually.copy_slowdown};
  const bool refused = usually.calls == 0;
  std::vector<Way> all(refused ? 0 : 1, whole);
  if (looked_at.algorithms) {
    for (const MenuEntry& entry : facts.menus()[launch]) {
      all.push_back({entry.cost.time, Taken(entry.workspace), entry.algorithm, entry.cost.copy_slowdown});
    }
  }
  if (refused || (looked_at.algorithms && looked_at.divided)) {
    for (const DividedWay& way : DividedWaysOf(facts.costs(), step.launches[launch], capacity, step.device)) {
      all.push_back({way.time, Taken(way.workspace), 0, way.slowdown, AddDivision(way)});
    }
  }
  if (all.empty()) all.push_back(whole);  // nothing runs it: whoever judges the plan says so
  std::stable_sort(all.begin() + (refused ? 0 : 1), all.end(), [](const Way& a, const Way& b) {
    return std::pair(a.time, a.workspace) < std::pair(b.time, b.workspace);
  });
  const Rows rows{Size(ways), Size(ways) + static_cast<std::int32_t>(kMostWays)};
  const Way usual = all.front();
  ways.push_back(usual);
  Bytes least = std::numeric_limits<Bytes>::max();
  for (std::size_t k = 1; k < all.size() && Size(ways) < rows.end; ++k) {
    const Way& way = all[k];
    if (way.workspace >= least) continue;
    least = way.workspace;
    if (way.time < usual.time || way.workspace < usual.workspace) ways.push_back(way);
  }
  return {rows.begin, Size(ways)};
}

GapTables::Rows GapTables::AddWaysInParts(const StepFacts& facts, OpId op) {
  const StepTables& step = facts.tables();
  const std::int64_t parts = PartsOf(op);
  const std::int32_t begin = Size(ways);
  for (const DividedWay& way : WaysInParts(facts.costs(), step.launches[step.launch[Index(op)]], parts, step.device)) {
    if (ways.size() - Index(begin) == kMostWays) break;
    ways.push_back({way.time, Taken(way.workspace), 0, way.slowdown, AddDivision(way)});
  }
  assert(Size(ways) > begin && "an op that has parts runs in them");
  return {begin, Size(ways)};
}

}  // namespace spillway
