#include "model/cost/menu.h"

#include <algorithm>

namespace spillway {

namespace {

// The answers at all grants, the largest first. What is chosen within a grant is chosen within all smaller ones that
// still hold it, so the next other answer lies just below what this one needs.
void AddAnswers(Launch launch, const std::function<Cost(const Launch&)>& ask, std::vector<MenuEntry>& menu) {
  launch.workspace = kMostWorkspace;
  while (launch.workspace >= 0) {
    const Cost cost = ask(launch);
    if (cost.calls == 0) return;                                              // refused, whatever is granted
    if (cost.workspace > launch.workspace) return;                            // nothing runs in so little
    if (launch.algorithm != 0 && cost.algorithm != launch.algorithm) return;  // unknown here: a law's answer
    menu.push_back({launch.algorithm, cost.workspace, cost});
    launch.workspace = cost.workspace - 1;
  }
}

}  // namespace

std::vector<MenuEntry> MenuOf(Launch launch, std::span<const std::int32_t> algorithms,
                              const std::function<Cost(const Launch&)>& ask) {
  std::vector<MenuEntry> menu;
  launch.algorithm = 0;
  AddAnswers(launch, ask, menu);
  for (const std::int32_t algorithm : algorithms) {
    launch.algorithm = algorithm;
    AddAnswers(launch, ask, menu);
  }
  return menu;
}

std::vector<MenuEntry> ParetoSet(std::vector<MenuEntry> menu) {
  std::stable_sort(menu.begin(), menu.end(), [](const MenuEntry& a, const MenuEntry& b) {
    return a.cost.time != b.cost.time ? a.cost.time < b.cost.time : a.workspace < b.workspace;
  });
  std::vector<MenuEntry> best;
  for (const MenuEntry& entry : menu) {
    if (best.empty() || entry.workspace < best.back().workspace) best.push_back(entry);
  }
  return best;
}

}  // namespace spillway
