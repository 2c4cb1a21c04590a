#include "reports/rows/result_row.h"

#include <array>
#include <string_view>

namespace spillway {

double ResultRow::SamplesPerSecond() const {
  if (!feasible || times.step <= 0) return 0;
  return static_cast<double>(batch) * static_cast<double>(kSecond) / static_cast<double>(times.step);
}

double ResultRow::ElementsPerSecond() const {
  return SamplesPerSecond() * static_cast<double>(grouping.sample_elements);
}

Bytes ResultRow::MeanBytes() const {
  Bytes sum = 0;
  for (const auto& [name, bytes] : memory.on_average) sum += bytes;
  return sum;
}

namespace {

double SavingOf(Bytes mean, Bytes whole) {
  return whole > 0 ? 1 - static_cast<double>(mean) / static_cast<double>(whole) : 0;
}

}  // namespace

double ResultRow::MeanSaving() const { return SavingOf(MeanBytes(), memory.network_wide); }

double ResultRow::MeanSavingBesideParameters() const {
  Bytes parameters_mean = 0;
  for (const auto& [name, bytes] : memory.on_average) {
    for (const TensorTraits& traits : kTensorTraits) {
      if (traits.of_parameters && name == traits.name) parameters_mean += bytes;
    }
  }
  return SavingOf(MeanBytes() - parameters_mean, memory.network_wide - memory.parameters);
}

double ResultRow::MapShare() const {
  for (const auto& [name, bytes] : memory.at_peak) {
    if (memory.live_peak > 0 && name == TensorClassName(TensorClass::kFeatureMap)) {
      return static_cast<double>(bytes) / static_cast<double>(memory.live_peak);
    }
  }
  return 0;
}

double ResultRow::CopyRate() const {
  return static_cast<double>(kSecond) * (memory.page_rate > 0 ? memory.page_rate : grouping.link_rate);
}

double ResultRow::Loss() const {
  if (!feasible || times.step <= 0) return 0;
  return 1 - static_cast<double>(times.Chosen()) / static_cast<double>(times.step);
}

double ResultRow::BoundGap() const {
  if (!feasible || bounds.lower <= 0) return 0;
  return static_cast<double>(times.step) / static_cast<double>(bounds.lower) - 1;
}

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

// Time of the kernels whose cost was found in that way (Cost::how).
double Found(const Program& program, const CostModel& costs, std::string_view how) {
  double time = 0;
  for (const Kernel& kernel : program.kernels) {
    const Cost cost = costs.Kernel(program.launches[kernel.launch]);
    if (cost.how == how) time += static_cast<double>(cost.time);
  }
  return time;
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
  return {.measured = times[0] / whole,
          .published = times[1] / whole,
          .assumed = times[2] / whole,
          .beyond = Found(program, costs, "model beyond its data") / whole,
          .roofline = Found(program, costs, "roofline") / whole};
}

}  // namespace spillway
