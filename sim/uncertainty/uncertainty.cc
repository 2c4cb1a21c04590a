#include "sim/uncertainty/uncertainty.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "model/stats/deviates.h"
#include "model/stats/quantile.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"
#include "sim/uncertainty/drawn_error.h"

namespace spillway {
namespace {

constexpr double kSureOrder = 0.9;
// Of the host's time for an op of a framework, the same for all ops of a step. The least times between calls of PyTorch on
// three hosts are 25, 31 and 40 us (model/unroll/step_options.cc): their logarithms deviate by this.
constexpr double kHostTimeError = 0.24;
constexpr double kLongestSum = 8e18;  // ns, below the range of Nanos: no drawn step is longer

auto DeviatesOf(std::uint32_t draw) {
  return [draw](std::uint64_t key) { return StratifiedDeviate(key, draw); };
}

std::uint64_t HostOf(const Link& link) {
  Hasher hash;
  for (const TransferCurve& curve : link.curves) {
    for (const TransferCurve::Point& point : curve.points) hash.Add(static_cast<std::uint64_t>(point.time));
  }
  return hash.Value();
}

// The errors of everything in a Program that takes time.
struct ProgramErrors {
  std::vector<Errors> kernels, copies;  // by launch, by copy

  ProgramErrors(const Program& program, const CostModel& costs, std::uint64_t seed) {
    const ErrorPart stack = StackErrorOf(costs.machine().devices[0], seed);
    const Link& link = costs.machine().LinkOf(0);
    const ErrorPart host{link.host_error, KeyOfHost(seed, HostOf(link))};
    for (const Launch& launch : program.launches) {
      kernels.push_back(ErrorsOf(costs.Kernel(launch), stack, HashOfWork(launch), seed));
    }
    for (const Copy& copy : program.copies) {
      const Cost cost = costs.Copy(copy.bytes, copy.direction, 0, copy.rows);
      copies.push_back(ErrorsOf(cost, host, static_cast<std::uint64_t>(copy.bytes), seed));
    }
  }

  const Errors* Of(const Program& program, const Instruction& in) const {
    if (in.opcode == Opcode::kKernel) return &kernels[program.kernels[in.arg].launch];
    return in.opcode == Opcode::kCopy ? &copies[in.arg] : nullptr;
  }
};

// Of the range that sim/engine/managed_memory.h gives: its ends from the 10th percentile down and the 90th up.
double DrawnEviction(std::uint64_t seed, std::uint32_t draw) {
  constexpr double kNinetieth = 1.2816;
  const double deviate = StratifiedDeviate(Hasher(seed).Add("eviction").Value(), draw);
  return std::clamp(deviate / kNinetieth, -1.0, 1.0);
}

void DrawDurations(const Program& program, const std::vector<Nanos>& durations, const ProgramErrors& errors,
                   std::uint32_t draw, std::vector<Nanos>& drawn) {
  std::vector<double> by_launch;
  for (const Errors& e : errors.kernels) by_launch.push_back(e.Drawn(DeviatesOf(draw)).Factor());
  drawn = durations;
  // Draws are cut at one multiple of all durations, so that long steps keep the shape of short ones.
  double total = 1;
  for (const Nanos duration : durations) total += static_cast<double>(duration);
  const double most = kLongestSum / total;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode != Opcode::kKernel && in.opcode != Opcode::kCopy) continue;
    const double factor = in.opcode == Opcode::kKernel ? by_launch[program.kernels[in.arg].launch]
                                                       : errors.copies[in.arg].Drawn(DeviatesOf(draw)).Factor();
    drawn[i] = std::llround(std::min(most, factor) * static_cast<double>(durations[i]));
  }
}

// With the host's times as they are in the draw, where a framework takes any.
Conditions DrawHost(const Conditions& conditions, std::uint64_t seed, std::uint32_t draw) {
  if (conditions.framework_time == 0) return conditions;
  const ErrorPart error{kHostTimeError, Hasher(seed).Add("host's time").Value()};
  const double factor = std::exp(error.Drawn(DeviatesOf(draw)));
  const auto scale = [factor](Nanos& time) { time = std::llround(factor * static_cast<double>(time)); };
  Conditions drawn = conditions;
  for (Nanos& cost : drawn.host_cost) scale(cost);
  for (Nanos& cost : drawn.launch_cost) scale(cost);
  scale(drawn.framework_time);
  return drawn;
}

// The sum of all kernels' or of all copies' times, by draw, with the errors that several of them share.
std::vector<double> CommonSums(const Program& program, const std::vector<Nanos>& durations, const ProgramErrors& errors,
                               Opcode opcode) {
  using Key = std::tuple<std::uint64_t, std::uint64_t, double, double>;
  std::map<Key, std::pair<const Errors*, double>> parts;
  for (std::size_t i = 0; i < durations.size(); ++i) {
    if (program.code[i].opcode != opcode) continue;
    const Errors* e = errors.Of(program, program.code[i]);
    auto& part = parts[{e->stack.key, e->shared.key, e->stack.size, e->shared.size}];
    part.first = e;
    part.second += static_cast<double>(durations[i]);
  }
  std::vector<double> sums(kDraws, 0);
  for (const auto& [key, part] : parts) {
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      sums[draw] += part.second * part.first->CommonFactor(DeviatesOf(draw));
    }
  }
  return sums;
}

struct Moments {
  double xx = 0, xz = 0, zz = 0, xy = 0, zy = 0;
};

Moments MomentsOf(const std::vector<double>& x, const std::vector<double>& z, const std::vector<double>& y) {
  const auto mean = [&y](const std::vector<double>& v) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += v[i];
    return sum / static_cast<double>(y.size());
  };
  const double mean_x = mean(x), mean_z = mean(z), mean_y = mean(y);
  Moments m;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double dx = x[i] - mean_x, dz = z[i] - mean_z, dy = y[i] - mean_y;
    m.xx += dx * dx, m.xz += dx * dz, m.zz += dz * dz, m.xy += dx * dy, m.zy += dz * dy;
  }
  return m;
}

// The combination of kernels' and copies' sums that goes with the step times: least squares over the draws simulated.
std::vector<double> ProxyOf(const std::vector<double>& kernels, const std::vector<double>& copies,
                            const std::vector<double>& steps) {
  constexpr double kIndependent = 1e-6;
  const Moments m = MomentsOf(kernels, copies, steps);
  const double determinant = m.xx * m.zz - m.xz * m.xz;
  double by_kernels = m.xx > 0 ? m.xy / m.xx : 0;
  double by_copies = m.xx <= 0 && m.zz > 0 ? m.zy / m.zz : 0;
  if (determinant > kIndependent * m.xx * m.zz) {
    by_kernels = (m.xy * m.zz - m.zy * m.xz) / determinant;
    by_copies = (m.zy * m.xx - m.xy * m.xz) / determinant;
  }
  std::vector<double> proxy(kernels.size());
  for (std::size_t i = 0; i < proxy.size(); ++i) proxy[i] = by_kernels * kernels[i] + by_copies * copies[i];
  return proxy;
}

Interval IntervalOf(const std::vector<Nanos>& times, const Program& program, const std::vector<Nanos>& durations,
                    const ProgramErrors& errors) {
  const std::vector<double> steps(times.begin(), times.end());
  const auto whole = [](double time) { return static_cast<Nanos>(std::llround(time)); };
  const std::vector<double> proxy = ProxyOf(CommonSums(program, durations, errors, Opcode::kKernel),
                                            CommonSums(program, durations, errors, Opcode::kCopy), steps);
  return {whole(QuantileByProxy(steps, proxy, 0.1)), whole(QuantileByProxy(steps, proxy, 0.9))};
}

Nanos UnitOf(const Interval& interval) {
  Nanos unit = 1;
  while (unit <= (interval.high - interval.low) / 100) unit *= 10;
  return unit;
}

}  // namespace

StepDraws DrawStep(const Evaluation& evaluation, const Plan& plan, const CostModel& costs, Bytes capacity,
                   const DrawOptions& options) {
  assert(evaluation.feasible);
  const Program& program = evaluation.program;
  const Conditions conditions = ConditionsOf(program, costs, plan.runtime, capacity);
  const std::vector<Nanos> durations = Durations(program, costs);
  const ProgramErrors errors(program, costs, options.seed);
  Scratch scratch;
  std::vector<Nanos> drawn;
  StepDraws draws;
  for (std::uint32_t draw = 0; draw < static_cast<std::uint32_t>(options.draws); ++draw) {
    DrawDurations(program, durations, errors, draw, drawn);
    if (!evaluation.faults.waits.empty()) evaluation.faults.AddTo(drawn, DrawnEviction(options.seed, draw));
    const Simulated simulated = SimulateTimes(program, drawn, DrawHost(conditions, options.seed, draw), scratch);
    assert(simulated.completed && "whether a pool runs out depends on the order of the list, not on times");
    draws.times.push_back(simulated.makespan);
  }
  draws.interval = RoundedAround(evaluation.timeline.makespan, IntervalOf(draws.times, program, durations, errors));
  return draws;
}

Interval RoundedToItsWidth(Interval interval) {
  const Nanos unit = UnitOf(interval);
  const auto rounded = [unit](Nanos time) { return (time + unit / 2) / unit * unit; };
  return {rounded(interval.low), rounded(interval.high)};
}

Interval RoundedAround(Nanos step, Interval interval) {
  const Nanos unit = UnitOf(interval);
  Interval rounded = RoundedToItsWidth(interval);
  if (interval.low <= step && rounded.low > step) rounded.low = interval.low / unit * unit;
  if (interval.high >= step && rounded.high < step) rounded.high = (interval.high + unit - 1) / unit * unit;
  return rounded;
}

double ShareFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b) {
  assert(a.size() == b.size() && !a.empty());
  double faster = 0;
  for (std::size_t i = 0; i < a.size(); ++i) faster += a[i] < b[i] ? 1 : a[i] == b[i] ? 0.5 : 0;
  return faster / static_cast<double>(a.size());
}

bool SurelyFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b) { return ShareFaster(a, b) >= kSureOrder; }

bool CannotBeToldApart(const std::vector<Nanos>& a, const std::vector<Nanos>& b) {
  const double share = ShareFaster(a, b);
  return share < kSureOrder && share > 1 - kSureOrder;
}

}  // namespace spillway
