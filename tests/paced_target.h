// A device that computes every launch in a stated multiple of what its profile says.
#ifndef SPILLWAY_TESTS_PACED_TARGET_H_
#define SPILLWAY_TESTS_PACED_TARGET_H_

#include <functional>
#include <utility>
#include <vector>

#include "calibrate/measure/run.h"
#include "hw/text/document.h"
#include "model/cost/cost_model.h"

namespace spillway {

class PacedTarget : public BenchTarget {
 public:
  // Of the launch, by the algorithm asked for; 0: refused.
  using Factor = std::function<double(const Launch& launch)>;
  // The profile must outlive it.
  PacedTarget(const Machine& profile, Factor factor) : costs_(profile), factor_(std::move(factor)) {}

  Sample Identity() const override { return {}; }
  std::vector<BenchVariant> Variants(const BenchItem& /*item*/) override { return {{}}; }
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& /*options*/) override {
    Launch launch = item.launch;
    launch.algorithm = variant.algorithm;
    launch.workspace = variant.workspace;
    measured.push_back(launch);
    const double factor = factor_(launch);
    if (factor == 0) throw UserError("refused");
    return ResultOfTimes({factor * static_cast<double>(costs_.Kernel(launch).time)});
  }
  double Waiting() override { return waits(); }

  std::vector<Launch> measured;
  std::function<double()> waits = [] { return 0.0; };

 private:
  CostModel costs_;
  Factor factor_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_PACED_TARGET_H_
