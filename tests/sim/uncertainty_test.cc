#include "sim/uncertainty/uncertainty.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "model/network/network.h"
#include "model/stats/deviates.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/unroll/unroll.h"
#include "model/util/hash.h"
#include "model/zoo/zoo.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "sim/uncertainty/drawn_error.h"
#include "tests/deep.h"

namespace spillway {
namespace {

// ReLUs and nothing else on the unit machine: n launches of different sizes, each with the errors given.
struct Case {
  Machine machine = LoadMachine("unit");
  TrainingStep step;
  Plan plan;

  explicit Case(double stack, double law_error) {
    Device& device = machine.devices[0];
    device.stack_error = stack;
    CostLaw law;
    law.op = OpKind::kRelu;
    law.pass = Pass::kForward;
    law.bandwidth_fraction = 1;
    law.error = law_error;
    device.laws = {law};
    device.host_costs = {};
  }

  Program Relus(int count) const {
    Program program;
    program.streams = {{0, StreamKind::kCompute}};
    for (int i = 0; i < count; ++i) {
      Launch launch;
      launch.kind = OpKind::kRelu;
      launch.shape.in.n = launch.shape.out.n = 1000 + i;
      launch.workspace = 0;
      program.launches.push_back(launch);
      Kernel kernel;
      kernel.launch = static_cast<std::uint32_t>(i);
      program.kernels.push_back(kernel);
      Instruction instruction;
      instruction.arg = static_cast<std::uint32_t>(i);
      program.code.push_back(instruction);
    }
    return program;
  }

  // Copies to the device, one after another.
  Program Copies(int count) const {
    Program program;
    program.streams = {{0, StreamKind::kCompute}};
    for (int i = 0; i < count; ++i) {
      Copy copy;
      copy.bytes = kMiB + i;
      program.copies.push_back(copy);
      Instruction instruction;
      instruction.opcode = Opcode::kCopy;
      instruction.arg = static_cast<std::uint32_t>(i);
      program.code.push_back(instruction);
    }
    return program;
  }

  std::vector<Nanos> Draws(int count, int draws) const { return DrawsOf(Relus(count), draws); }

  std::vector<Nanos> DrawsOf(const Program& program, int draws) const { return StepOf(program, draws).times; }

  StepDraws StepOf(const Program& program, int draws) const {
    const CostModel costs(machine);
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    Evaluation evaluation;
    evaluation.feasible = true;
    evaluation.program = program;
    return DrawStep(evaluation, plan, *problem.costs, problem.capacity, {.draws = draws});
  }
};

// Standard deviation of the logarithm.
double Spread(const std::vector<Nanos>& times) {
  double sum = 0, squares = 0;
  for (const Nanos t : times) {
    const double log = std::log(static_cast<double>(t));
    sum += log;
    squares += log * log;
  }
  const double n = static_cast<double>(times.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

TEST_CASE("without errors every draw is the prediction") {
  const Case exact(0, 0);
  // ReLU reads and writes 4 bytes an element at 1 byte/ns: 8000 + 8008 = 16008 ns.
  CHECK(exact.Draws(2, 8) == std::vector<Nanos>(8, 16008));
}

TEST_CASE("errors of a stack and of a law are shared: they do not average out over a hundred kernels") {
  // 2000 draws estimate a standard deviation within 1.6 % (1 / sqrt(2 x 2000)), stratified ones better; 6 % is nearly
  // four of those.
  CHECK(Spread(Case(0.2, 0).Draws(100, 2000)) == Approx(0.2).epsilon(0.06));
  CHECK(Spread(Case(0, 0.3).Draws(100, 2000)) == Approx(0.3).epsilon(0.06));
  CHECK(Spread(Case(0.3, 0.4).Draws(100, 2000)) == Approx(0.5).epsilon(0.06));
}

TEST_CASE("where the host bounds the step, the interval has the error of its time per op") {
  Case c(0, 0);
  c.plan.runtime.framework_time = kMillisecond;  // beside 16 us of kernels
  const StepDraws host = c.StepOf(c.Relus(2), 128);
  CHECK(Spread(host.times) == Approx(0.24).epsilon(0.1));
  CHECK(static_cast<double>(host.interval.low) == Approx(2'000'000 * std::exp(-1.2816 * 0.24)).epsilon(0.05));
  CHECK(static_cast<double>(host.interval.high) == Approx(2'000'000 * std::exp(1.2816 * 0.24)).epsilon(0.05));
  c.plan.runtime.framework_time = 1;  // hidden behind kernels without errors
  const StepDraws kernels = c.StepOf(c.Relus(2), 128);
  CHECK(Spread(kernels.times) < 0.001);
}

// The same in tests/calibrate/accuracy_steps_test.cc, of sums of measured operations.
TEST_CASE("a draw of a step is made of drawn_error.h's parts") {
  Case c(0, 0);
  c.machine = LoadMachine("v100-x86-pcie3");  // whose models leave each launch an error of its own
  c.machine.devices[0].stack_error = 0;
  c.machine.devices[0].host_costs = {};
  const CostModel costs(c.machine);
  Program program = c.Relus(8);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 8}));
  for (std::size_t i = 0; i < program.launches.size(); ++i) program.launches[i] = LaunchOf(step.ops[i]);
  const std::vector<Nanos> times = c.DrawsOf(program, 20);
  for (std::uint32_t draw = 0; draw < 20; ++draw) {
    Nanos expected = 0;
    for (const Launch& launch : program.launches) {
      const Cost cost = costs.Kernel(launch);
      const double own = std::sqrt(cost.error * cost.error - cost.shared_error * cost.shared_error);
      const Errors errors{.stack = {},
                          .shared = {cost.shared_error, KeyOfModel(1, cost.group)},
                          .own = {own, KeyOfWork(1, HashOfWork(launch))}};
      const DrawnError drawn = errors.Drawn([draw](std::uint64_t key) { return StratifiedDeviate(key, draw); });
      expected += std::llround(static_cast<double>(cost.time) * drawn.Factor());
    }
    CHECK(times[draw] == expected);
  }
}

TEST_CASE("what has no error is not drawn, and parts multiply") {
  const auto deviate = [](std::uint64_t key) -> double {
    if (key == 0) throw std::logic_error("asked for a part of no size");
    return static_cast<double>(key);
  };
  const Errors errors{.stack = {0.1, 2}, .shared = {0, 0}, .own = {0.5, 3}};
  const DrawnError drawn = errors.Drawn(deviate);
  CHECK(drawn.OwnFactor() == Approx(std::exp(1.5)));
  CHECK(drawn.ModelFactor() == Approx(std::exp(1.5)));
  CHECK(drawn.Factor() == Approx(std::exp(1.7)));
  CHECK(errors.CommonFactor(deviate) == Approx(std::exp(0.2)));
}

TEST_CASE("copies share what another host does to them, and kernels do not feel it") {
  Case c(0, 0);
  c.machine.links[0].host_error = 0.1;
  for (TransferCurve& curve : c.machine.links[0].curves) curve.error = 0;
  CHECK(Spread(c.DrawsOf(c.Copies(20), 2000)) == Approx(0.1).epsilon(0.06));
  CHECK(c.Draws(2, 8) == std::vector<Nanos>(8, 16008));
  Case other = c;
  other.machine.name = "other";
  CHECK(other.DrawsOf(c.Copies(2), 8) == c.DrawsOf(c.Copies(2), 8));  // a name is no host
  for (TransferCurve::Point& point : other.machine.links[0].curves[1].points) ++point.time;
  CHECK(other.DrawsOf(c.Copies(2), 8) != c.DrawsOf(c.Copies(2), 8));  // in the other direction only: another host's
}

TEST_CASE("draws are common: the same deviates whatever the program") {
  const Case stack(0.2, 0);
  const std::vector<Nanos> one = stack.Draws(1, 16), two = stack.Draws(2, 16);
  for (std::size_t i = 0; i < one.size(); ++i) {
    // 8000 f against 16008 f, each kernel rounded to a nanosecond.
    CHECK(static_cast<double>(two[i]) / static_cast<double>(one[i]) == Approx(2.001).epsilon(0.001));
  }
  CHECK(stack.Draws(2, 16) == two);
}

TEST_CASE("machines of other models err on their own, machines of the same models together, whatever their names") {
  Case a(0.2, 0), twin(0.2, 0), other(0.2, 0);
  a.machine.name = "a";
  twin.machine.name = "twin";
  other.machine.devices[0].peak_flops *= 2;  // ReLU does not see that
  CHECK(twin.Draws(2, 16) == a.Draws(2, 16));
  CHECK(CannotBeToldApart(a.Draws(2, 200), other.Draws(2, 200)));   // equal predictions, independent errors
  CHECK(ShareFaster(a.Draws(2, 200), other.Draws(2, 200)) != 0.5);  // and not draw by draw the same
}

TEST_CASE("an interval is rounded to between 1 and 10 % of its width") {
  CHECK(RoundedToItsWidth({303'456'789, 461'234'567}) == Interval{300'000'000, 460'000'000});  // 158 ms: tens
  CHECK(RoundedToItsWidth({6'714'000'000, 7'341'000'000}) == Interval{6'710'000'000, 7'340'000'000});
  CHECK(RoundedToItsWidth({1000, 1099}) == Interval{1000, 1099});  // 99 ns: whole ones
  CHECK(RoundedToItsWidth({1000, 1100}) == Interval{1000, 1100});  // 100 ns: tens
  CHECK(RoundedToItsWidth({5, 5}) == Interval{5, 5});
  // An end that would be rounded past the step goes outwards; the others are rounded to the nearest.
  CHECK(RoundedAround(303'456'789, {303'456'789, 461'234'567}) == Interval{300'000'000, 460'000'000});
  CHECK(RoundedAround(306'000'000, {306'000'000, 461'234'567}) == Interval{300'000'000, 460'000'000});
  CHECK(RoundedAround(461'000'000, {306'000'000, 461'234'567}) == Interval{310'000'000, 470'000'000});
  CHECK(RoundedAround(1'000'000'000, {306'000'000, 461'234'567}) ==
        Interval{310'000'000, 460'000'000});  // outside anyway
}

// The ends of a step's 80 % interval under other draws: the larger of their standard deviations, as a share of the step.
double EndsSpread(const Evaluation& evaluation, const Plan& plan, const Problem& problem) {
  constexpr int kSeeds = 16;
  double sum[2] = {}, squares[2] = {};
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const DrawOptions options{.seed = static_cast<std::uint64_t>(seed)};
    const Interval interval = DrawStep(evaluation, plan, *problem.costs, problem.capacity, options).interval;
    const Nanos ends[2] = {interval.low, interval.high};
    for (int i = 0; i < 2; ++i) {
      const double share = static_cast<double>(ends[i]) / static_cast<double>(evaluation.step_time);
      sum[i] += share;
      squares[i] += share * share;
    }
  }
  const auto variance = [&](int i) { return std::max(0.0, squares[i] - sum[i] * sum[i] / kSeeds) / (kSeeds - 1); };
  return std::sqrt(std::max(variance(0), variance(1)));
}

TEST_CASE("the ends of an interval are known to 1 % of the step", "[plain]") {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("resnet50", {.batch = 64}));
  const std::vector<std::string> machines = {"unit", "v100-x86-pcie3", "v100-power9-nvlink2",
                                             "titanx-maxwell-x86-pcie3"};
  for (const std::string& name : Drawn(machines)) {
    const Machine machine = LoadMachine(name);
    const CostModel costs(machine);
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = 5 * kGB;
    for (const char* const strategy : {"swap-all", "superneurons", "swap-opt"}) {
      CAPTURE(name, strategy);
      const Planned planned = PlanWithHeadroom(StrategyByName(strategy), problem);
      const Evaluation evaluation = Evaluate(planned.plan, problem, {.verify = false, .bounds = false});
      REQUIRE(evaluation.feasible);
      const double spread = EndsSpread(evaluation, planned.plan, problem);
      CAPTURE(spread);
      CHECK(spread < 0.01);
    }
  }
}

// A step of copies whose common error is a link's host's, 10 %, and of nothing else has the times t exp(0.1 z), whose
// 10th and 90th percentiles are t exp(-+0.1 x 1.2816). Of 128 draws they are known to 1.5 %, of 4096 stratified ones
// exactly.
TEST_CASE("the ends of an interval are sharpened where copies alone have an error in common") {
  Case c(0, 0);
  c.machine.links[0].host_error = 0.1;
  for (TransferCurve& curve : c.machine.links[0].curves) curve.error = 0;
  for (const bool beside_kernels : {false, true}) {
    CAPTURE(beside_kernels);
    Program program = c.Copies(20);
    if (beside_kernels) {  // an exact one, of no length to speak of
      const Program relu = c.Relus(1);
      program.launches = relu.launches;
      program.kernels = relu.kernels;
      program.code.push_back(relu.code[0]);
    }
    const Interval interval = c.StepOf(program, 128).interval;
    const double step = 20.0 * kMiB;
    CHECK(static_cast<double>(interval.low) / step == Approx(std::exp(-0.12816)).epsilon(0.004));
    CHECK(static_cast<double>(interval.high) / step == Approx(std::exp(0.12816)).epsilon(0.004));
  }
}

TEST_CASE("the name of a machine is no part of its interval") {
  const Case a(0.2, 0.3);
  Case renamed(0.2, 0.3);
  renamed.machine.name = "another";
  const StepDraws by_a = a.StepOf(a.Relus(5), 64), by_renamed = renamed.StepOf(a.Relus(5), 64);
  CHECK(by_renamed.interval == by_a.interval);
  CHECK(by_renamed.times == by_a.times);
  CHECK(by_a.interval.low < by_a.interval.high);
  Case other(0.2, 0.3);  // what is a part of it
  other.machine.devices[0].peak_flops *= 2;
  CHECK_FALSE(other.StepOf(a.Relus(5), 64).interval == by_a.interval);
}

TEST_CASE("told apart by paired draws, however wide each one is") {
  // b is always one longer than a, while both range over a factor of three.
  const std::vector<Nanos> a = {100, 200, 300, 150}, b = {101, 201, 301, 151};
  CHECK(ShareFaster(a, b) == 1);
  CHECK(!CannotBeToldApart(a, b));
  CHECK(!CannotBeToldApart(b, a));
  CHECK(ShareFaster(a, a) == 0.5);
  CHECK(CannotBeToldApart(a, a));
  const std::vector<Nanos> c = {101, 199, 301, 149};  // a is faster in two of four
  CHECK(CannotBeToldApart(a, c));
}

}  // namespace
}  // namespace spillway
