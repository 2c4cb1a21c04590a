#include <cmath>

#include "calibrate/accuracy/cells.h"
#include "calibrate/fit/validate.h"

namespace spillway {
namespace {

void AddBaselines(const FitGroup& group, const Split& split, const std::string& name,
                  std::vector<HeldOutOutcome>* outcomes) {
  for (const Baseline baseline : kBaselines) {
    const std::vector<double> predicted = PredictBaseline(baseline, group, split);
    for (std::size_t i = 0; i < split.test.size(); ++i) {
      const FitRow& row = group.rows[static_cast<std::size_t>(split.test[i])];
      outcomes->push_back({row.sample, name, BaselineName(baseline), predicted[i] - row.log_time});
    }
  }
}

void AddOurs(const FitGroup& group, const Split& split, std::vector<HeldOutOutcome>* outcomes) {
  const GroupFit fit = SolveGroup(group, split.train);
  for (const int r : split.test) {
    const FitRow& row = group.rows[static_cast<std::size_t>(r)];
    outcomes->push_back({row.sample, split.left_out, "ours", PredictRow(group, fit, row).log_time - row.log_time});
  }
}

}  // namespace

double HeldOutOutcome::Error() const { return std::abs(std::expm1(log_ratio)); }

std::vector<HeldOutOutcome> GatherOutcomes(std::span<const Sample> samples, const FitOptions& options,
                                           const FitResult& fit) {
  std::vector<HeldOutOutcome> outcomes;
  for (const HeldOut& h : fit.held_out) {
    const double measured = samples[static_cast<std::size_t>(h.sample)].microseconds;
    outcomes.push_back({h.sample, "layer", "ours", std::log(h.predicted_us / measured)});
  }
  std::vector<std::string> said_before;  // by Fit
  for (const FitGroup& group : BuildGroups(samples, options, &said_before)) {
    const std::vector<FoldItem> items = FoldItemsOf(group, samples);
    for (const Split& split : LayerFolds(items, options.folds)) AddBaselines(group, split, "layer", &outcomes);
    for (const Split& split : ExtrapolationSplits(items)) {
      AddOurs(group, split, &outcomes);
      AddBaselines(group, split, split.left_out, &outcomes);
    }
  }
  return outcomes;
}

}  // namespace spillway
