// What every strategy of the table plans, carried out on the CPU device: it trains to the numbers of in-core training, or
// says why it cannot be carried out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/validate/device_costs.h"
#include "calibrate/validate/measure.h"
#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "sim/strategies/strategies.h"
#include "tests/cpu_training.h"
#include "tests/in_parts.h"
#include "tests/small_networks.h"
#include "tests/transformer_networks.h"

namespace spillway {
namespace {

constexpr int kLeastForTiles = 220;  // percent of the in-core peak

// Who adds up in another order: the batch or an op in parts, or other algorithms than the usual ones.
bool AddsUpOtherwise(const Evaluation& e) {
  return e.scope.accumulate != 1 || e.scope.parts != PartScope::kNone || e.scope.algorithms != AlgorithmScope::kUsual;
}

// A small network on the CPU device, whose kernels cost what the machine says, in the workspaces that the library wants, of
// every part of the batch as well.
class Bench {
 public:
  explicit Bench(const SmallNetwork& network)
      : case_(network.build(), StepOptionsByName(network.options)),
        parts_(case_.step.batch, [this, &network](std::int64_t batch) {
          return BuildTrainingStep(WithBatch(case_.network, batch), StepOptionsByName(network.options));
        }) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(case_.step.batch));
    std::iota(sizes.begin(), sizes.end(), 1);
    CpuKernels kernels;
    offers_.Ask(
        case_.step,
        [&kernels](const Launch& launch) {
          std::vector<OfferedAlgorithm> offered;
          for (const CpuAlgorithm& one : kernels.Algorithms(CallOf(launch))) {
            offered.push_back({one.algorithm, one.workspace});
          }
          return offered;
        },
        sizes);
    costs_ = std::make_unique<DeviceCosts>(case_.machine, CostOptions{}, offers_);
    const Evaluation in_core = Planned(StrategyByName("in-core"), 100 * kGB);
    REQUIRE(in_core.feasible);
    in_core_peak_ = in_core.peak_bytes;
    in_core_ = Trained(in_core);
    REQUIRE(Says(in_core_) == "");
  }

  // The strategy within the least share of the in-core peak that it can do with; infeasible: why not in any.
  Evaluation Tight(const Strategy& strategy) const {
    Evaluation last;
    for (const int percent : {70, 90, 100, 220, 300}) {
      // Its tiles fit into a thirtieth of the memory: with less of it tens of thousands of a few rows.
      if (std::string(strategy.name).starts_with("ooc-") && percent < kLeastForTiles) continue;
      last = Planned(strategy, in_core_peak_ * percent / 100);
      if (last.feasible) return last;
    }
    return last;
  }

  void CheckNumbers(const Evaluation& e) const {
    const spillway::Trained trained = Trained(e);
    REQUIRE(Says(trained) == "");
    CHECK(trained.result.high_water <= e.program.PeakAddress());
    if (!AddsUpOtherwise(e)) {
      CHECK(Difference(in_core_, trained) == "");
      return;
    }
    spillway::Trained expected = in_core_;
    if (e.scope.accumulate > 1) expected.tensors.erase("input");  // one of the parts' is called so
    CHECK(expected.tensors.size() > 10);
    CheckClose(expected, trained, 1e-4);
  }

  Bytes in_core_peak() const { return in_core_peak_; }

 private:
  // On our arena, which is what the device has.
  Evaluation Planned(const Strategy& strategy, Bytes capacity) const {
    Problem problem = case_.ProblemWithin(capacity);
    problem.costs = costs_.get();
    problem.in_parts = &parts_;
    if (std::string(strategy.name) == "best") {
      problem.parameters.Set("simulations", std::int64_t{2000});
      problem.parameters.Set("plans", std::int64_t{10});
    }
    const spillway::Planned planned = PlanWithHeadroom(strategy, problem);
    Evaluation evaluation;
    evaluation.reason = planned.reason;
    if (!planned.feasible) return evaluation;
    if (planned.plan.accumulate > 1) problem.step = &parts_.In(planned.plan.accumulate).all.step;
    evaluation = Evaluate(planned.plan, problem);
    FixAlgorithms(*costs_, evaluation.program);
    return evaluation;
  }

  spillway::Trained Trained(const Evaluation& e) const {
    const CpuCase* of = &case_;
    std::optional<CpuCase> in_parts;
    if (e.scope.accumulate > 1) {
      in_parts.emplace(case_.network, TrainingStep(parts_.In(e.scope.accumulate).all.step));
      of = &*in_parts;
    }
    return Train(*of, e.program, {.iterations = 1, .debug = true});
  }

  CpuCase case_;
  mutable StepsInParts parts_;
  DeviceOffers offers_;
  std::unique_ptr<DeviceCosts> costs_;
  Bytes in_core_peak_ = 0;
  spillway::Trained in_core_;
};

}  // namespace

TEST_CASE("every strategy of the table trains to the numbers of in-core, or says that it is only predicted") {
  const SmallNetwork& vgg = *std::find_if(kNetworks.begin(), kNetworks.end(),
                                          [](const SmallNetwork& n) { return std::string(n.name) == "vgg"; });
  const Bench bench(vgg);
  int carried_out = 0, tighter = 0, otherwise = 0;
  for (const Strategy& strategy : Strategies()) {
    const Evaluation e = bench.Tight(strategy);
    INFO(strategy.name << " within " << e.peak_bytes << " of " << bench.in_core_peak() << " " << e.reason);
    if (!e.feasible) {  // the driver's own paging, which no device of ours does
      CHECK_THAT(e.reason, Catch::StartsWith("unified_memory: the runtime has memory: "));
      continue;
    }
    bench.CheckNumbers(e);
    ++carried_out;
    tighter += e.peak_bytes < bench.in_core_peak() ? 1 : 0;
    otherwise += AddsUpOtherwise(e) ? 1 : 0;
  }
  INFO(carried_out << " carried out, " << tighter << " in less memory, " << otherwise << " add up otherwise");
  CHECK(carried_out + 2 == static_cast<int>(Strategies().size()));
  CHECK(tighter > 20);
  CHECK(otherwise > 5);
}

TEST_CASE("strategies train a small transformer to the numbers of in-core, or give a reason") {
  const SmallNetwork vit{"vit", TinyVit, "torch-2"};
  const Bench bench(vit);
  int carried_out = 0;
  for (const Strategy& strategy : Drawn(Strategies())) {
    const Evaluation e = bench.Tight(strategy);
    INFO(strategy.name << " within " << e.peak_bytes << " of " << bench.in_core_peak() << " " << e.reason);
    if (!e.feasible) {
      CHECK(e.reason != "");
      continue;
    }
    bench.CheckNumbers(e);
    ++carried_out;
  }
  CHECK(carried_out >= Cases(5, 20));
}

}  // namespace spillway
