
#include <fmt/format.h>

#include <set>
#include <utility>

#include "model/profile/profile_text.h"

namespace spillway {
namespace {

LaunchCost ReadLaunchCost(const Node& node, Diagnostics& diagnostics, const std::string& owner) {
  MapReader reader(node, diagnostics, owner, LaunchCostKeys());
  LaunchCost cost;
  cost.op = reader.RequiredString("op");
  cost.pass = reader.RequiredString("pass");
  cost.time = reader.RequiredDuration("time");
  cost.places = {diagnostics.file(), reader.MarkOf("op"), reader.MarkOf("pass")};
  reader.Finish();
  return cost;
}

void CheckUnique(const Node& list, const std::vector<LaunchCost>& launches, Diagnostics& diagnostics) {
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchCost& cost = launches[i];
    if (cost.op.empty() || cost.pass.empty() || seen.emplace(cost.op, cost.pass).second) continue;
    diagnostics.Error(list.items[i].mark, fmt::format("a second launch cost of {} {}", cost.op, cost.pass));
  }
}

}  // namespace

void ReadLaunchCosts(const Node& node, Diagnostics& diagnostics, const std::string& owner, HostCosts& costs) {
  const std::string launches = "launches of " + owner;
  MapReader reader(node, diagnostics, launches, LaunchListKeys());
  costs.launches_source = ReadSource(reader, diagnostics);
  if (const Node* ops = reader.Required("ops")) {
    costs.launches = ReadList<LaunchCost>(ops, 1, "launch cost", diagnostics, [&](const Node& item) {
      return ReadLaunchCost(item, diagnostics, launches);
    });
    CheckUnique(*ops, costs.launches, diagnostics);
  }
  reader.Finish();
}

std::string LaunchCostsText(const HostCosts& costs) {
  if (costs.launches.empty()) return "";
  std::string text =
      fmt::format("      launches:\n        source: {}\n        ops:\n", SourceText(costs.launches_source));
  for (const LaunchCost& cost : costs.launches) {
    text += fmt::format("          - {{op: {}, pass: {}, time: {}}}\n", Quoted(cost.op), Quoted(cost.pass),
                        FormatDurationExact(cost.time));
  }
  return text;
}

}  // namespace spillway
