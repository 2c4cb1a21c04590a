#include "sim/strategies/best/search_space.h"

#include <utility>

namespace spillway {

namespace {

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

}  // namespace spillway
