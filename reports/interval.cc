#include "reports/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace spillway {

namespace {

// Stands for a cost law: profiles have one per kind, pass and window, and others for grouped convolution.
using LawKey = std::tuple<OpKind, Pass, std::array<std::int64_t, 3>, bool>;
LawKey KeyOf(const Launch& launch) { return {launch.kind, launch.pass, launch.shape.window, launch.shape.groups > 1}; }

struct LawTime {
  Nanos time = 0;
  double error_time = 0;  // sum of time x error
};

}  // namespace

double RelativeSpread(double shared, std::span<const TimedError> parts, Nanos step_time) {
  if (step_time <= 0) return shared;
  double squares = 0;
  for (const TimedError& part : parts) {
    const double share = static_cast<double>(part.time) / static_cast<double>(step_time) * part.error;
    squares += share * share;
  }
  return std::sqrt(shared * shared + squares);
}

Interval EightyPercentInterval(Nanos step_time, double spread) {
  const double half = kEightyPercent * spread;
  const auto scaled = [&](double factor) {
    return static_cast<Nanos>(std::llround(static_cast<double>(step_time) * std::max(0.0, factor)));
  };
  return {scaled(1 - half), scaled(1 + half)};
}

std::vector<TimedError> PartsOf(const Evaluation& evaluation, const CostModel& costs) {
  const Program& program = evaluation.program;
  std::map<LawKey, LawTime> laws;
  for (const Kernel& kernel : program.kernels) {
    const Launch& launch = program.launches[kernel.launch];
    const Cost cost = costs.Kernel(launch);
    LawTime& law = laws[KeyOf(launch)];
    law.time += cost.time;
    law.error_time += static_cast<double>(cost.time) * cost.error;
  }
  std::vector<TimedError> parts;
  for (const auto& [key, law] : laws) {
    if (law.time > 0) parts.push_back({law.time, law.error_time / static_cast<double>(law.time)});
  }
  const Link& link = costs.machine().LinkOf(0);
  parts.push_back({evaluation.stall_in, link.curves[static_cast<std::size_t>(Direction::kHostToDevice)].error});
  parts.push_back({evaluation.stall_out, link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)].error});
  return parts;
}

Source::Kind LeastSureSource(const Program& program, const CostModel& costs) {
  auto worst = Source::Kind::kMeasured;
  for (const Launch& launch : program.launches) worst = std::max(worst, costs.Kernel(launch).source);
  for (const Copy& copy : program.copies) {
    worst = std::max(worst, costs.Copy(copy.bytes, copy.direction, 0, copy.rows).source);
  }
  return worst;
}

}  // namespace spillway
