#include "reports/rows/source_shares.h"

#include <array>

namespace spillway {

namespace {

using ByKind = std::array<double, 3>;

double& At(ByKind& times, Source::Kind kind) { return times[static_cast<std::size_t>(kind)]; }

double Sum(const ByKind& times) { return times[0] + times[1] + times[2]; }

ByKind Kernels(const Program& program, const CostModel& costs) {
  ByKind times{};
  for (const Kernel& kernel : program.kernels) {
    const Cost cost = costs.Kernel(program.launches[kernel.launch]);
    At(times, cost.source) += static_cast<double>(cost.time);
  }
  return times;
}

ByKind Copies(const Program& program, const CostModel& costs, Direction direction) {
  ByKind times{};
  for (const Copy& copy : program.copies) {
    if (copy.direction != direction) continue;
    const Cost cost = costs.Copy(copy.bytes, copy.direction, 0, copy.rows);
    At(times, cost.source) += static_cast<double>(cost.time);
  }
  return times;
}

// `stall`, shared out as `parts` are.
void Add(ByKind& times, Nanos stall, const ByKind& parts) {
  const double whole = Sum(parts);
  if (whole <= 0) return;
  for (std::size_t i = 0; i < parts.size(); ++i) times[i] += static_cast<double>(stall) * parts[i] / whole;
}

}  // namespace

Source::Kind SourceShares::Largest() const {
  if (assumed >= published && assumed >= measured) return Source::Kind::kAssumed;
  return published >= measured ? Source::Kind::kPublished : Source::Kind::kMeasured;
}

SourceShares SharesOf(const Evaluation& evaluation, const CostModel& costs) {
  const Program& program = evaluation.program;
  ByKind times = Kernels(program, costs);
  Add(times, evaluation.stall_in, Copies(program, costs, Direction::kHostToDevice));
  Add(times, evaluation.stall_out, Copies(program, costs, Direction::kDeviceToHost));
  At(times, Source::Kind::kAssumed) += static_cast<double>(evaluation.fault_time);
  At(times, costs.machine().devices[0].host_costs.source.kind) += static_cast<double>(evaluation.stall_host);
  const double whole = Sum(times);
  if (whole <= 0) return {.assumed = 1};
  return {.measured = times[0] / whole, .published = times[1] / whole, .assumed = times[2] / whole};
}

}  // namespace spillway
