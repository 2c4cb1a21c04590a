#include "calibrate/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "calibrate/fit/fit_internal.h"
#include "calibrate/fit/validate.h"
#include "model/util/thread_pool.h"

namespace spillway {
namespace {

std::vector<int> AllRows(const FitGroup& group) {
  std::vector<int> rows(group.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::string NameOf(const Candidate& candidate) {
  return candidate.algorithm.empty() ? candidate.form->name : candidate.algorithm;
}

HeldOut HeldOutOf(const FitGroup& group, const FitRow& row, const RowPrediction& p,
                  std::span<const KernelModel> models) {
  const KernelModel& model = models[static_cast<std::size_t>(CandidateOf(row, p))];
  return {row.sample,
          std::exp(p.log_time) / 1000,
          std::exp(p.log_time - p.offset) / 1000,
          group.candidates[static_cast<std::size_t>(p.candidate)].algorithm,
          model.shared_error,
          model.own_error};
}

void AddHeldOut(const FitGroup& group, std::span<const RowPrediction> held_out, std::span<const RowPrediction> outside,
                std::span<const KernelModel> models, FitResult* result) {
  for (std::size_t r = 0; r < group.rows.size(); ++r) {
    if (held_out[r].made) result->held_out.push_back(HeldOutOf(group, group.rows[r], held_out[r], models));
    if (outside[r].outside) result->outside.push_back(HeldOutOf(group, group.rows[r], outside[r], models));
  }
}

void AddStacks(const FitGroup& group, const GroupFit& fit, FitResult* result) {
  if (group.stacks.size() < 2) return;
  for (std::size_t s = 0; s < group.stacks.size(); ++s) {
    const StackRate& rate = fit.stacks[s];
    result->stacks.push_back({group.stacks[s], group.kind, group.pass, MathModeName(group.math),
                              std::exp(rate.arithmetic), std::exp(rate.memory), std::exp(rate.special)});
  }
}

template <typename T>
void Append(std::vector<T>& more, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void Append(FitResult more, FitResult* to) {
  Append(more.models, &to->models);
  Append(more.floors, &to->floors);
  Append(more.stacks, &to->stacks);
  Append(more.held_out, &to->held_out);
  Append(more.outside, &to->outside);
  Append(more.warnings, &to->warnings);
}

void FitOneGroup(const FitGroup& group, std::span<const Sample> samples, const FitOptions& options, FitResult* result) {
  WarnOfWeakData(group, samples, &result->warnings);
  const GroupFit fit = SolveGroup(group, AllRows(group));
  if (!fit.converged) {
    result->warnings.push_back(group.Name() + ": the fit stopped before it had settled");
  }
  const std::vector<FoldItem> items = FoldItemsOf(group, samples);
  const std::vector<Split> splits = LayerFolds(items, options.folds);
  if (splits.size() < 2) {
    result->warnings.push_back(group.Name() + ": no cross-validation, errors are guesses");
  }
  const std::vector<RowPrediction> held_out = PredictHeldOut(group, splits);
  const bool validated = splits.size() >= 2;
  const std::vector<RowPrediction> outside =
      validated ? PredictOutside(group, OutsideSplits(items), held_out) : held_out;
  const GroupModels models = ModelsOf(group, fit, held_out, outside, samples, options);
  AddHeldOut(group, held_out, outside, models.models, result);
  for (std::size_t c = 0; c < models.models.size(); ++c) {
    if (models.known[c]) {
      result->models.push_back(models.models[c]);
    } else {
      result->warnings.push_back(
          fmt::format("{}: no model of {}: no sample of it, and no other device to carry it from", group.Name(),
                      NameOf(group.candidates[c])));
    }
  }
  AddStacks(group, fit, result);
  for (std::size_t h = 0; h < group.harnesses.size(); ++h) {
    const auto& [first, last, power] = fit.harnesses[h];
    result->floors.push_back({group.harnesses[h], group.kind, group.pass, MathModeName(group.math), first.hidden,
                              last.hidden, first.added, last.added, power});
  }
}

}  // namespace

FitResult Fit(std::span<const Sample> samples, const FitOptions& options) {
  CheckDevices(samples, options);
  FitResult result;
  const std::vector<FitGroup> groups = BuildGroups(samples, options, &result.warnings);
  ThreadPool helpers(options.threads);
  std::vector<Future<FitResult>> fits;
  for (const FitGroup& group : groups) {
    fits.push_back(helpers.Submit([&group, samples, &options] {
      FitResult own;
      FitOneGroup(group, samples, options, &own);
      return own;
    }));
  }
  for (Future<FitResult>& fit : fits) Append(fit.Get(), &result);
  for (KernelModel& model : CarriedAlone(groups, options)) result.models.push_back(std::move(model));
  for (std::vector<HeldOut>* rows : {&result.held_out, &result.outside}) {
    std::stable_sort(rows->begin(), rows->end(),
                     [](const HeldOut& a, const HeldOut& b) { return a.sample < b.sample; });
  }
  return result;
}

}  // namespace spillway
