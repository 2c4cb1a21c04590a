#include "model/measured_cost.h"

#include <fmt/format.h>

#include "hw/document.h"
#include "hw/measured_op_text.h"
#include "model/hash.h"
#include "model/launch_text.h"

namespace spillway {
namespace {

Launch KeyOf(Launch launch) {
  launch.algorithm = 0;
  launch.workspace = kUsualWorkspace;
  return launch;
}

Launch LaunchIn(const Device& device, const MeasuredOp& op, const std::string& machine) {
  try {
    return LaunchOf(op);
  } catch (const UserError& error) {
    throw UserError(fmt::format("machine '{}', device '{}': measured '{}': {}", machine, device.name, MeasuredKey(op),
                                error.what()));
  }
}

Cost CostOf(const MeasuredOp& op, std::int32_t algorithm, std::uint64_t group, Source::Kind source) {
  Cost cost;
  cost.time = op.time;
  cost.source = source;
  cost.error = op.error;
  cost.group = group;
  cost.how = "measured";
  cost.algorithm = algorithm;
  cost.workspace = op.workspace;
  cost.copy_slowdown = op.copy_slowdown;
  return cost;
}

}  // namespace

std::size_t MeasuredLaunches::Hash::operator()(const Launch& launch) const {
  return static_cast<std::size_t>(HashOfWork(launch));
}

MeasuredLaunches::MeasuredLaunches(const Device& device, const std::string& machine)
    : source_(device.measured_source.kind) {
  for (const MeasuredOp& op : device.measured) {
    const Launch launch = LaunchIn(device, op, machine);
    const std::uint64_t group = Hasher(HashOfWork(launch)).Add(op.algorithm).Value();
    rows_[KeyOf(launch)].push_back({launch.algorithm, &op, group});
  }
}

MeasuredLaunches::Choice MeasuredLaunches::Choose(const Launch& launch) const {
  Choice choice;
  if (rows_.empty()) return choice;
  const auto found = rows_.find(KeyOf(launch));
  if (found == rows_.end()) return choice;
  const Row* best = nullptr;
  for (const Row& row : found->second) {
    if (launch.algorithm != 0 && row.algorithm != launch.algorithm) continue;
    const bool fits = row.algorithm == 0 || row.op->workspace <= launch.workspace;
    if (!fits) choice.too_large.push_back(row.algorithm);
    const bool better =
        best == nullptr || (fits && !choice.fits) ||
        (fits == choice.fits && (fits ? row.op->time < best->op->time : row.op->workspace < best->op->workspace));
    if (!better) continue;
    best = &row;
    choice.fits = fits;
  }
  if (best != nullptr) choice.cost = CostOf(*best->op, best->algorithm, best->group, source_);
  return choice;
}

}  // namespace spillway
