#include "sim/uncertainty.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "model/hash.h"

namespace spillway {
namespace {

constexpr double kSureOrder = 0.9;
constexpr double kLongest = 1e15;  // ns, eleven days: no operation takes longer, and sums of these do not overflow

double Uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// What one launch or copy may err by, with the keys of the deviates.
struct Errors {
  double stack = 0, shared = 0, own = 0;
  std::uint64_t group = 0, identity = 0;
};

Errors ErrorsOf(const Cost& cost, double stack, std::uint64_t identity) {
  const double own = std::sqrt(std::max(0.0, cost.error * cost.error - cost.shared_error * cost.shared_error));
  return {.stack = stack, .shared = cost.shared_error, .own = own, .group = cost.group, .identity = identity};
}

class Drawer {
 public:
  Drawer(const Program& program, const CostModel& costs) : program_(program), durations_(Durations(program, costs)) {
    const Device& device = costs.machine().devices[0];
    const double stack = device.stack_error, host = costs.machine().LinkOf(0).host_error;
    host_ = Hasher().Add("host").Add(costs.machine().name).Value();
    stack_ = Hasher().Add("stack").Add(device.models_from.empty() ? costs.machine().name : device.models_from).Value();
    for (const Launch& launch : program.launches) {
      kernels_.push_back(ErrorsOf(costs.Kernel(launch), stack, HashOfWork(launch)));
    }
    for (const Copy& copy : program.copies) {
      const Cost cost = costs.Copy(copy.bytes, copy.direction, 0, copy.rows);
      copies_.push_back(ErrorsOf(cost, host, static_cast<std::uint64_t>(copy.bytes)));
    }
  }

  const std::vector<Nanos>& Draw(std::uint64_t seed) {
    Factors(kernels_, stack_, seed, kernel_factor_);
    Factors(copies_, host_, seed, copy_factor_);
    drawn_.resize(durations_.size());
    for (std::size_t i = 0; i < durations_.size(); ++i) drawn_[i] = Scaled(durations_[i], FactorOf(program_.code[i]));
    return drawn_;
  }

 private:
  static void Factors(const std::vector<Errors>& errors, std::uint64_t common, std::uint64_t seed,
                      std::vector<double>& factors) {
    factors.clear();
    const double stack = NormalDeviate(Hasher(seed).Add(common).Value());
    for (const Errors& e : errors) {
      const double shared = e.shared > 0 ? NormalDeviate(Hasher(seed).Add("model").Add(e.group).Value()) : 0;
      const double own = e.own > 0 ? NormalDeviate(Hasher(seed).Add("own").Add(e.identity).Value()) : 0;
      factors.push_back(std::exp(stack * e.stack + shared * e.shared + own * e.own));
    }
  }

  double FactorOf(const Instruction& instruction) const {
    if (instruction.opcode == Opcode::kKernel) return kernel_factor_[program_.kernels[instruction.arg].launch];
    return instruction.opcode == Opcode::kCopy ? copy_factor_[instruction.arg] : 1;
  }

  static Nanos Scaled(Nanos time, double factor) {
    return std::llround(std::min(kLongest, static_cast<double>(time) * factor));
  }

  const Program& program_;
  std::uint64_t stack_ = 0;  // machines that share their models share their stack
  std::uint64_t host_ = 0;
  std::vector<Nanos> durations_, drawn_;
  std::vector<Errors> kernels_, copies_;             // by launch, by copy
  std::vector<double> kernel_factor_, copy_factor_;  // the same, of the present draw
};

}  // namespace

// Box and Muller.
double NormalDeviate(std::uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(Uniform(Hasher(key).Add(std::uint64_t{1}).Value())));
  return radius * std::cos(2 * std::numbers::pi * Uniform(Hasher(key).Add(std::uint64_t{2}).Value()));
}

std::vector<Nanos> DrawStepTimes(const Evaluation& evaluation, const Plan& plan, const Problem& problem,
                                 const DrawOptions& options) {
  assert(evaluation.feasible);
  const Program& program = evaluation.program;
  const Conditions conditions = ConditionsOf(program, *problem.costs, plan.runtime, problem.capacity);
  Drawer drawer(program, *problem.costs);
  Scratch scratch;
  std::vector<Nanos> times;
  for (int draw = 0; draw < options.draws; ++draw) {
    const std::uint64_t seed = Hasher(options.seed).Add(static_cast<std::uint64_t>(draw)).Value();
    const Simulated simulated = Simulate(program, drawer.Draw(seed), conditions, scratch);
    times.push_back(simulated.completed ? simulated.makespan : std::numeric_limits<Nanos>::max());
  }
  return times;
}

Interval EightyPercentInterval(std::vector<Nanos> draws) {
  if (draws.empty()) return {};
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double share) {
    return draws[static_cast<std::size_t>(std::lround(share * static_cast<double>(draws.size() - 1)))];
  };
  return {at(0.1), at(0.9)};
}

double ShareFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b) {
  assert(a.size() == b.size() && !a.empty());
  double faster = 0;
  for (std::size_t i = 0; i < a.size(); ++i) faster += a[i] < b[i] ? 1 : a[i] == b[i] ? 0.5 : 0;
  return faster / static_cast<double>(a.size());
}

bool CannotBeToldApart(const std::vector<Nanos>& a, const std::vector<Nanos>& b) {
  const double share = ShareFaster(a, b);
  return share < kSureOrder && share > 1 - kSureOrder;
}

}  // namespace spillway
