#include "model/cost/measured_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "hw/text/document.h"
#include "model/profile/launch_text.h"
#include "model/profile/profile_text.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

constexpr Nanos kRounding = 4;

double TimePerFlop(const Launch& launch, Nanos time) {
  const double flops = CountWork(launch).flops;
  const bool counts = IsProduct(launch.kind) && launch.type == DataType::kFp32 && launch.math == MathMode::kFp32;
  if (!counts || flops <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(std::max<Nanos>(0, time - kRounding)) / flops;
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
  std::vector<std::string> mistakes;
  for (const MeasuredOp& op : device.measured) {
    try {
      const Launch launch = AsConvolution(LaunchOf(op));
      const std::uint64_t group = Hasher(HashOfWork(launch)).Add(op.algorithm).Value();
      rows_[Unchosen(launch)].push_back({launch.algorithm, &op, group});
      least_per_flop_ = std::min(least_per_flop_, TimePerFlop(launch, op.time));
    } catch (const UserError& error) {
      mistakes.push_back(fmt::format("machine '{}', device '{}': measured '{}': {}", machine, device.name,
                                     MeasuredKey(op), error.what()));
    }
  }
  if (!mistakes.empty()) throw UserError(std::move(mistakes));
}

MeasuredLaunches::Choice MeasuredLaunches::Choose(const Launch& launch) const {
  Choice choice;
  if (rows_.empty()) return choice;
  const auto found = rows_.find(Unchosen(launch));
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
