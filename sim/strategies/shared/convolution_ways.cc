#include "sim/strategies/shared/convolution_ways.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "sim/program/lower/lower.h"

namespace spillway {

std::vector<Choosable> ChoosablesOf(const Problem& problem) {
  std::vector<Choosable> all;
  std::vector<Launch> launches;
  for (std::size_t op = 0; op < problem.step->ops.size(); ++op) {
    const Op& o = problem.step->ops[op];
    if (!HasAlgorithms(o.kind)) continue;
    const Launch launch = LaunchOf(o);
    const auto known = std::find(launches.begin(), launches.end(), launch) - launches.begin();
    launches.push_back(launch);
    if (known + 1 < static_cast<std::ptrdiff_t>(launches.size())) {
      all.push_back({static_cast<OpId>(op), all[static_cast<std::size_t>(known)].ways});
      continue;
    }
    std::vector<MenuEntry> menu = problem.costs->Menu(launch, problem.device);
    std::erase_if(menu, [](const MenuEntry& entry) { return entry.algorithm == 0; });
    all.push_back({static_cast<OpId>(op), menu.empty() ? menu : ParetoSet(std::move(menu))});
  }
  return all;
}

std::vector<OpDecision> Algorithms(const std::vector<Choosable>& convolutions, Ways ways) {
  std::vector<OpDecision> decisions;
  for (const Choosable& one : convolutions) {
    if (one.ways.empty()) continue;
    const MenuEntry& way = ways == Ways::kLeastWorkspace ? one.ways.back() : one.ways.front();
    decisions.push_back({.op = one.op, .algorithm = way.algorithm, .workspace = way.workspace});
  }
  return decisions;
}

void UpgradeWithin(const Problem& problem, const StepTables& tables, const std::vector<Choosable>& convolutions,
                   Plan& plan) {
  const std::vector<Bytes> live = Lower(plan, tables, 0).live_at;
  auto decision = plan.ops.begin();
  for (const Choosable& one : convolutions) {
    if (one.ways.empty()) continue;
    assert(decision != plan.ops.end() && decision->op == one.op);
    assert(decision->workspace == one.ways.back().workspace);
    const Bytes own = decision->workspace > 0 ? RoundToUnit(decision->workspace) : 0;
    const Bytes left = problem.capacity - (live[Index(one.op)] - own);
    const auto way = std::find_if(one.ways.begin(), one.ways.end(), [left](const MenuEntry& entry) {
      return entry.workspace == 0 || RoundToUnit(entry.workspace) <= left;
    });
    if (way != one.ways.end()) *decision = {.op = one.op, .algorithm = way->algorithm, .workspace = way->workspace};
    ++decision;
  }
}

}  // namespace spillway
