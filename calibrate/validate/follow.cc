#include "calibrate/validate/follow.h"

#include <optional>
#include <utility>

namespace spillway {

namespace {

// A probe of sixteen launches takes the CPU device about a second, as each one's memory is filled anew, and a round of
// plans a few seconds: a fifth leaves a probe for every round or two.
constexpr int kOneIn = 5;

}  // namespace

void FollowedPace::Look(bool end) {
  const Nanos begin = clock_.Now();
  if (!end && begin - last_ < (kOneIn - 1) * cost_) return;
  std::optional<PaceProbe> probe = device_.Probe(machine_, begin);
  last_ = clock_.Now();
  cost_ = last_ - begin;
  if (!probe || probe->launches.empty()) return;
  probe->at = begin + cost_ / 2;
  probes_.push_back(std::move(*probe));
}

void FollowedPace::LookWhoWaits() {
  if (probes_.empty() || probes_.back().waiting <= 0) return;
  const Nanos begin = clock_.Now();
  const double waiting = device_.Waiting(machine_);
  if (waiting <= 0) return;
  probes_.push_back({.at = begin + (clock_.Now() - begin) / 2, .launches = {}, .waiting = waiting});
}

const CostModel* FollowedPace::Settle() {
  const KernelPace before = FactorsOf(pace_);
  CheckPace(probes_, pace_);
  if (FactorsOf(pace_) == before) return nullptr;
  settled_ = device_.CostsAt(machine_, FactorsOf(pace_));
  return settled_.get();
}

void FollowedPace::PredictOtherwise(const CaseSetup& setup, std::vector<ValidationRow>& rows) const {
  if (!pace_.Known()) return;
  const CostModel& costs = device_.AsCalibrated(machine_);
  const KernelPace found{pace_.products.factor, pace_.others.factor};
  for (std::size_t k = 0; k < rows.size(); ++k) {
    ValidationRow& row = rows[k];
    if (!row.feasible) continue;
    const Program& program = setup.contenders[k].evaluation->program;
    const Runtime& runtime = setup.contenders[k].plan->runtime;
    row.as_calibrated = StepTimeAt(program, costs, {}, runtime, setup.capacity);
    row.at_pace =
        found == FactorsOf(pace_) ? row.predicted : StepTimeAt(program, costs, found, runtime, setup.capacity);
    if (row.Measured()) PredictTracked(program, costs, runtime, setup.capacity, probes_, row);
  }
}

}  // namespace spillway
