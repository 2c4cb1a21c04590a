#include "calibrate/validate/case_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/stats/quantile.h"

namespace spillway {

namespace {

// A kernel whose workspace was cut to what is free (sim/program/lower/grants.h) is another than in core.
bool HasOtherAlgorithms(const Contender& contender, const CaseSetup& setup) {
  const Program& program = contender.evaluation->program;
  const auto algorithm_of = [&](const Launch& launch) { return setup.costs->Kernel(launch).algorithm; };
  return std::any_of(program.kernels.begin(), program.kernels.end(), [&](const Kernel& kernel) {
    const Launch& launch = program.launches[kernel.launch];
    if (kernel.op == kNoOp || !HasAlgorithms(launch.kind)) return false;
    return algorithm_of(launch) != algorithm_of(LaunchOf(setup.StepOf(contender).ops[Index(kernel.op)]));
  });
}

// Other kernels, or the same on other operands, add up in another order.
bool RoundsOtherwise(const Contender& contender, const CaseSetup& setup) {
  const Plan& plan = *contender.plan;
  return plan.accumulate > 1 || !plan.ops.empty() || HasOtherAlgorithms(contender, setup);
}

}  // namespace

ValidationRow RowOf(const Contender& contender, const CaseSetup& setup) {
  const Evaluation& evaluation = *contender.evaluation;
  ValidationRow row;
  row.strategy = contender.name;
  row.stratum = contender.stratum;
  row.random = contender.random;
  row.feasible = evaluation.feasible;
  row.reason = evaluation.reason;
  if (!row.feasible) return row;
  row.predicted = evaluation.step_time;
  row.predicted_peak = evaluation.peak_bytes;
  row.predicted_device = setup.capacity + setup.costs->machine().devices[0].reserve;
  row.predicted_host = evaluation.host_peak_bytes;
  row.numerics.allowed = RoundsOtherwise(contender, setup) ? kRounding : 0;
  return row;
}

void FailRow(ValidationRow& row, const Failure& failure) {
  row.failed = true;
  row.refused = failure.fault == Fault::kRefused;
  row.reason = fmt::format("{}: {}", FaultName(failure.fault), failure.message);
}

void TakeTimes(const Measurement& measurement, std::uint64_t seed, ValidationRow& row) {
  row.step_times = measurement.step_times;
  row.moments = measurement.moments;
  const std::vector<double> times = Flat(row.step_times);
  row.measured = Median(times);
  row.measured_spread = row.measured > 0 ? (Quantile(times, 0.75) - Quantile(times, 0.25)) / row.measured : 0;
  const Spread interval = BootstrapMedian(row.step_times, {.seed = seed});
  row.measured_low = interval.low;
  row.measured_high = interval.high;
  if (const std::vector<double>& clocks = measurement.step_clocks; !clocks.empty()) {
    row.clock_mhz = Median(clocks);
    row.lowest_clock_mhz = *std::min_element(clocks.begin(), clocks.end());
  }
}

std::string SlowStepsNote(const std::vector<Measurement>& measurements) {
  constexpr double kSlow = 0.97;
  std::vector<double> clocks;
  for (const Measurement& m : measurements) clocks.insert(clocks.end(), m.step_clocks.begin(), m.step_clocks.end());
  if (clocks.empty()) return "";
  const double usual = Median(clocks), least = *std::min_element(clocks.begin(), clocks.end());
  const auto slow = std::count_if(clocks.begin(), clocks.end(), [&](double mhz) { return mhz < kSlow * usual; });
  if (slow == 0) return "";
  return fmt::format("the device's clock fell below {:.0f} % of the usual {:.0f} MHz in {} of {} steps, to {:.0f}",
                     100 * kSlow, usual, slow, clocks.size(), least);
}

const Timeline& ObservedStep::Usual() const {
  std::vector<std::size_t> order(measured.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [this](auto a, auto b) { return measured[a].makespan < measured[b].makespan; });
  return measured[order[(order.size() - 1) / 2]];
}

CaseResult FailedCase(const CaseSetup& setup, const std::string& why) {
  CaseResult result;
  for (const Contender& contender : setup.contenders) {
    ValidationRow& row = result.rows.emplace_back(RowOf(contender, setup));
    row.failed = row.feasible;
    if (row.failed) row.reason = why;
  }
  return result;
}

namespace {

void NoteNumerics(const std::string& where, const Numerics& numerics, double tolerance, Judgement& judgement) {
  tolerance = std::max(tolerance, numerics.allowed);
  if (tolerance > 0 && numerics.largest_difference <= tolerance) {
    judgement.notes.push_back(
        fmt::format("{}: differs from in-core training by rounding: {} by {:.2g}, allowed are {:.2g}", where,
                    numerics.tensor, numerics.largest_difference, tolerance));
    return;
  }
  judgement.failures.push_back(fmt::format("{}: does not compute what in-core training computes: {} differs by {:.2g}",
                                           where, numerics.tensor, numerics.largest_difference));
}

}  // namespace

void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Judgement& judgement) {
  const std::string where = fmt::format("{} at batch {} with {}, {}", place.network, place.batch,
                                        FormatBytes(place.memory_limit), row.strategy);
  if (row.failed) {
    judgement.failures.push_back(fmt::format("{} {}: {}", where, row.refused ? "not run" : "failed", row.reason));
  }
  if (!row.feasible || row.failed) return;
  if (row.measured_peak > row.predicted_peak) {
    judgement.failures.push_back(fmt::format("{}: byte {} of the arena was written; the highest address is {}", where,
                                             row.measured_peak, row.predicted_peak));
  }
  if (row.numerics.kind == Numerics::Kind::kDiffers) NoteNumerics(where, row.numerics, tolerance, judgement);
}

}  // namespace spillway
