// What PoocH's model runs again is what the Program runs again: timing by timing the same forward ops, in the same order,
// for as long. Random classifications of every network of up to four ops, of random steps with transients and results
// written in place, and of small networks of every kind of layer.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/plan/runtime.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/pooch/pooch_model.h"
#include "sim/strategies/pooch/search.h"
#include "tests/sim/small_dags.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

struct Held {  // how much was held together
  int plans = 0, endless = 0;
  std::size_t ran = 0, passing = 0;  // forward ops run again; more than once in a step
};

Classes DrawnClasses(const PoochProfile& profile, Random& random) {
  const std::uint32_t keep = random.Below(60), recompute = random.Below(101);  // percent; recompute of the others
  Classes classes;
  for (const PoochProfile::Map& map : profile.maps) {
    const bool kept = random.Below(100) < keep;
    const bool again = random.Below(100) < recompute && !map.on_host;
    classes.push_back(kept ? MapClass::kKeep : again ? MapClass::kRecompute : MapClass::kSwap);
  }
  return classes;
}

// In list order; whom a kernel serves is seen from the end.
std::vector<RanAgain> RanAgainIn(const Program& program, const PoochProfile& profile) {
  std::vector<RanAgain> ran;
  std::int32_t timing = 0;
  for (std::size_t i = program.code.size(); i-- > 0;) {
    if (program.code[i].opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[program.code[i].arg];
    if (kernel.recomputation) {
      ran.push_back({timing, kernel.op});
      continue;
    }
    timing = static_cast<std::int32_t>(profile.timings.size()) - 1;
    while (timing >= 0 && profile.timings[Index(timing)].first_op > kernel.op) --timing;
  }
  std::reverse(ran.begin(), ran.end());
  return ran;
}

// By timing, without the copies in passing.
std::map<std::int32_t, Nanos> TimesOf(const std::vector<RanAgain>& ran, const TrainingStep& step,
                                      const CostModel& costs) {
  std::map<std::int32_t, Nanos> times;
  for (const RanAgain& again : ran) times[again.timing] += costs.Kernel(LaunchOf(step.ops[Index(again.op)])).time;
  return times;
}

class Place {
 public:
  Place(TrainingStep step, Machine machine) : step_(std::move(step)), machine_(std::move(machine)), costs_(machine_) {
    problem_.step = &step_;
    problem_.costs = &costs_;
    problem_.capacity = machine_.devices[0].UsableMemory();
    problem_.use_runtime = true;
    problem_.runtime = RuntimeByName("pooch");
  }
  Place(const Place&) = delete;

  void Hold(int rounds, Random& random, Held& held) {
    for (int round = 0; round < rounds; ++round) {
      problem_.runtime.backward_units = random.Below(2) == 0 ? BackwardUnits::kLayers : BackwardUnits::kBreakPoints;
      const PoochModel model = MakeModel(problem_);
      HoldOne(model, DrawnClasses(model.profile(), random), random.Below(2) == 0, held);
    }
  }

 private:
  void HoldOne(const PoochModel& model, const Classes& classes, bool keep_passed, Held& held) {
    Search search(model, SwapInRule::kOneAhead);
    search.keep_passed = keep_passed;
    std::vector<RanAgain> by_model;
    const Simulation simulation = model.Simulate(
        classes, {.rule = search.rule, .enforce_capacity = false, .keep_passed = keep_passed, .ran_again = &by_model},
        search.scratch);
    if (simulation.endless) {
      ++held.endless;
      return;
    }
    Plan plan = StartPlan(problem_, "random", "pooch");
    AddDecisions(search, classes, {}, plan);
    REQUIRE(CheckPlan(plan, step_).empty());
    const Program program = Lower(plan, StepTables(step_, costs_), 0).program;
    const std::vector<RanAgain> by_program = RanAgainIn(program, model.profile());
    CHECK(by_model == by_program);
    HoldTimes(model.profile(), search, by_program, program);
    std::set<OpId> ops;
    for (const RanAgain& again : by_program) ops.insert(again.op);
    ++held.plans;
    held.ran += by_program.size();
    held.passing += by_program.size() - ops.size();
  }

  // The model's time of recomputation holds copies in passing too: no less than the kernels, and as long where no map is
  // copied in for a recomputation alone.
  void HoldTimes(const PoochProfile& profile, const Search& search, const std::vector<RanAgain>& ran,
                 const Program& program) const {
    std::map<std::int32_t, Nanos> times = TimesOf(ran, step_, costs_);
    const auto copied_in =
        static_cast<std::size_t>(std::count_if(program.copies.begin(), program.copies.end(), [](const Copy& copy) {
          return copy.direction == Direction::kHostToDevice;
        }));
    // Beside the swap-ins the inputs' uploads at the start of the step.
    const auto uploads =
        static_cast<std::size_t>(std::count_if(step_.tensors.begin(), step_.tensors.end(),
                                               [](const Tensor& tensor) { return tensor.use == TensorClass::kInput; }));
    const bool in_passing = copied_in > search.scratch.swap_ins.size() + uploads;
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(profile.timings.size()); ++k) {
      const Nanos by_model = search.scratch.recompute[Index(k)];
      CHECK((in_passing ? by_model >= times[k] : by_model == times[k]));
    }
  }

  const TrainingStep step_;
  const Machine machine_;
  const CostModel costs_;
  Problem problem_;
};

// Forward: each op reads the latest result, often an earlier one too, and writes a map, a transient, or over what it
// reads. Backward: from the last map to the first, sometimes another one beside it, in layers of one to three ops.
TrainingStep DrawnStep(Random& random) {
  HandStep b;
  const auto bytes = [&random] { return kAllocationUnit * random.Between(1, 9); };
  std::vector<TensorId> results{b.Tensor("input", TensorClass::kInput, bytes())};
  std::set<TensorId> transients;
  const std::int32_t forward = random.Between(2, 9);
  for (std::int32_t i = 0; i < forward; ++i) {
    std::vector<TensorId> reads{results.back()};
    const TensorId other = results[random.Below(static_cast<std::uint32_t>(results.size()))];
    if (random.Below(3) == 0 && other != reads[0]) reads.push_back(other);
    const bool in_place = i > 0 && random.Below(5) == 0;
    if (!in_place) {
      const bool transient = random.Below(4) == 0;
      results.push_back(
          b.Tensor("m" + std::to_string(i), transient ? TensorClass::kTransient : TensorClass::kFeatureMap, bytes()));
      if (transient) transients.insert(results.back());
    }
    b.Op("f" + std::to_string(i), Pass::kForward, random.Between(1, 5000), reads, {results.back()});
  }
  TensorId gradient = kNoTensor;
  const auto maps = static_cast<std::int32_t>(results.size());
  const auto save = [&](TensorId map, std::vector<TensorId>& reads) {
    if (!transients.contains(map) && (reads.empty() || reads[0] != map)) reads.push_back(map);
  };
  for (std::int32_t i = maps - 1; i >= 0; --i) {
    std::vector<TensorId> reads;
    save(results[Index(i)], reads);
    if (random.Below(3) == 0) save(results[random.Below(static_cast<std::uint32_t>(maps))], reads);
    if (gradient != kNoTensor) reads.push_back(gradient);
    const TensorId written = b.Tensor("g" + std::to_string(i), TensorClass::kGradient, bytes());
    b.Op("b" + std::to_string(i), Pass::kBackward, random.Between(1, 5000), reads, {written});
    gradient = written;
  }
  TrainingStep step = b.Take();
  for (OpId op = step.first_backward + 1; op < static_cast<OpId>(step.ops.size()); ++op) {
    if (random.Below(3) == 0) step.ops[Index(op)].layer = step.ops[Index(op - 1)].layer;
  }
  return step;
}

TEST_CASE("on every network of up to four ops, classified at random, model and Program recompute the same") {
  Random random(1);
  Held held;
  for (const int ops : {1, 2, 3, 4}) {
    for (const Dag& dag : AllDags(ops)) {
      CAPTURE(dag.Text());
      Place(DagStep(dag).Take(), HandMachine()).Hold(ops < 4 ? 20 : 5, random, held);
    }
  }
  CAPTURE(held.plans, held.endless, held.ran, held.passing);
  CHECK(held.plans > 8000);
  CHECK(held.ran > 8000);
  CHECK(held.passing > 400);
}

TEST_CASE("on random small steps, with transients, results in place and layers of several ops, too") {
  Random random(2);
  Held held;
  for (int i = 0; i < 3000; ++i) {
    CAPTURE(i);
    Place(DrawnStep(random), HandMachine()).Hold(4, random, held);
  }
  CAPTURE(held.plans, held.endless, held.ran, held.passing);
  CHECK(held.plans > 10000);
  CHECK(held.ran > 10000);
  CHECK(held.passing > 1000);
}

// A forward op with two values to bring back is where the two differ (pooch_model.h).
void MustGiveOneValueEach(const TrainingStep& step) {
  for (OpId op = 0; op < step.first_backward; ++op) {
    const std::vector<TensorId>& writes = step.ops[Index(op)].writes;
    CHECK(std::count_if(writes.begin(), writes.end(), [&](TensorId t) {
            const TensorClass use = step.tensors[Index(t)].use;
            return use == TensorClass::kFeatureMap || use == TensorClass::kTransient;
          }) <= 1);
  }
}

TEST_CASE("on small networks of every kind of layer, however they are unrolled, too") {
  Random random(3);
  Held held;
  std::vector<Network> networks;
  for (const SmallNetwork& network : kNetworks) networks.push_back(network.build());
  for (const char* name : {"cifar-vgg", "cifar-alexnet"}) networks.push_back(BuildZooNetwork(name, {.batch = 4}));
  for (const Network& network : networks) {
    for (const char* options : {"plain", "chainer", "torch"}) {
      CAPTURE(network.name, options);
      TrainingStep step = BuildTrainingStep(network, StepOptionsByName(options));
      MustGiveOneValueEach(step);
      Place(std::move(step), LoadMachine("unit")).Hold(40, random, held);
    }
  }
  CAPTURE(held.plans, held.endless, held.ran, held.passing);
  CHECK(held.plans > 600);
  CHECK(held.ran > 10000);
  CHECK(held.passing > 1000);
}

}  // namespace
}  // namespace spillway
