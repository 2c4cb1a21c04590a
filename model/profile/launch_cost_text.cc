
#include <fmt/format.h>

#include "model/profile/profile_text.h"

namespace spillway {
namespace {

LaunchCost ReadLaunchCost(const Node& node, Diagnostics& diagnostics, const PartOwner& owner) {
  MapReader reader(node, diagnostics, "launches of " + owner.device, LaunchCostKeys());
  EntryNames names(reader, diagnostics, owner, "launches");
  LaunchCost cost;
  cost.op = names.ReadOp();
  cost.pass = names.ReadPass();
  cost.time = reader.RequiredDuration("time");
  reader.Finish();
  return cost;
}

}  // namespace

void ReadLaunchCosts(const Node& node, Diagnostics& diagnostics, const PartOwner& owner, HostCosts& costs) {
  MapReader reader(node, diagnostics, "launches of " + owner.device, LaunchListKeys());
  costs.launches_source = ReadSource(reader, diagnostics);
  if (const Node* ops = reader.Required("ops")) {
    costs.launches = ReadList<LaunchCost>(ops, 1, "launch cost", diagnostics,
                                          [&](const Node& item) { return ReadLaunchCost(item, diagnostics, owner); });
    RefuseRepeated(*ops, {"op", "pass"}, "launch cost of", diagnostics);
  }
  reader.Finish();
}

std::string LaunchCostsText(const HostCosts& costs) {
  if (costs.launches.empty()) return "";
  std::string text =
      fmt::format("      launches:\n        source: {}\n        ops:\n", SourceText(costs.launches_source));
  for (const LaunchCost& cost : costs.launches) {
    text += fmt::format("          - {{op: {}, pass: {}, time: {}}}\n", Quoted(OpKindName(cost.op)),
                        Quoted(PassName(cost.pass)), FormatDurationExact(cost.time));
  }
  return text;
}

}  // namespace spillway
