#include "calibrate/validate/falsify.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "model/stats/quantile.h"
#include "model/stats/statistics.h"

namespace spillway {

namespace {

constexpr double kChance = 0.05;
constexpr double kAlike = 1e-6;  // errors that differ by less than a nanosecond in a millisecond do not differ

// Measured rows by case, as indices into the predictions.
std::vector<std::vector<std::size_t>> RowsByCase(const std::vector<const ValidationRow*>& rows) {
  std::map<int, std::vector<std::size_t>> by_case;
  for (std::size_t k = 0; k < rows.size(); ++k) by_case[rows[k]->case_index].push_back(k);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [index, members] : by_case) groups.push_back(std::move(members));
  return groups;
}

std::vector<double> Errors(const std::vector<double>& predicted, const std::vector<const ValidationRow*>& rows) {
  std::vector<double> errors;
  for (std::size_t k = 0; k < rows.size(); ++k) errors.push_back(predicted[k] / rows[k]->measured - 1);
  return errors;
}

double TauWithin(const std::vector<std::vector<std::size_t>>& groups, const std::vector<double>& predicted,
                 const std::vector<const ValidationRow*>& rows) {
  PairCounts counts;
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<double> first, second;
    for (const std::size_t k : group) {
      first.push_back(predicted[k]);
      second.push_back(rows[k]->measured);
    }
    counts += CountPairs(first, second);
  }
  return counts.Tau();
}

constexpr const char *kRejected = "rejected", *kCloser = "closer to the data than the full model";

std::string VerdictOn(const FalsificationRow& row) {
  if (row.closer + row.farther == 0) return "predicts the same at every point: the data cannot tell";
  const bool clear = row.p < kChance;
  if (clear && row.closer > row.farther && row.gain_low > 0) return kRejected;
  if (clear && row.farther > row.closer && row.gain_high < 0) return kCloser;
  return "cannot be rejected";
}

// How the errors of a model compare with the full model's.
void Compare(const std::vector<double>& full, const std::vector<double>& errors,
             const std::vector<std::vector<std::size_t>>& groups, std::uint64_t seed, FalsificationRow& row) {
  std::vector<std::vector<double>> clusters;
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<double> gains;
    for (const std::size_t k : group) {
      const double gain = std::abs(errors[k]) - std::abs(full[k]);
      row.closer += gain > kAlike ? 1 : 0;
      row.farther += gain < -kAlike ? 1 : 0;
      gains.push_back(gain);
    }
    if (groups.size() >= kFewCases) {
      clusters.push_back(std::move(gains));
    } else {
      for (const double gain : gains) clusters.push_back({gain});
    }
  }
  row.p = SignTest(row.closer, row.farther);
  const Spread gain = BootstrapClusterMean(clusters, {.seed = seed});
  row.gain_low = gain.low;
  row.gain_high = gain.high;
  row.verdict = VerdictOn(row);
}

}  // namespace

std::vector<FalsificationRow> Falsify(const ValidationSet& set, std::span<const ModelPredictions> models,
                                      std::uint64_t seed) {
  const std::vector<const ValidationRow*> rows = MeasuredRows(set.rows);
  if (rows.empty()) return {};
  const std::vector<std::vector<std::size_t>> groups = RowsByCase(rows);
  const std::vector<double> full = Errors(models.front().predicted, rows);
  std::vector<FalsificationRow> table;
  for (const ModelPredictions& model : models) {
    const std::vector<double> errors = Errors(model.predicted, rows);
    const ErrorSummary summary = SummaryOf(model.name, errors);
    FalsificationRow row;
    row.variant = model.name;
    row.description = model.description;
    row.median_error = summary.median_error;
    row.worst_error = summary.worst_error;
    row.tau = TauWithin(groups, model.predicted, rows);
    if (&model != &models.front()) Compare(full, errors, groups, seed, row);
    table.push_back(std::move(row));
  }
  return table;
}

void AllowCommonFactors(std::span<const FalsificationRow> scaled, std::vector<FalsificationRow>& table) {
  for (std::size_t k = 0; k < table.size(); ++k) {
    const bool clear = table[k].verdict == kRejected || table[k].verdict == kCloser;
    if (!clear || table[k].verdict == scaled[k].verdict) continue;
    const bool rejected = table[k].verdict == kRejected;
    table[k].verdict = rejected ? "cannot be rejected: one factor per point explains the difference"
                                : "closer to the data, but one factor per point explains the difference";
  }
}

std::vector<ModelPredictions> ScaledByCase(const ValidationSet& set, std::span<const ModelPredictions> models) {
  const std::vector<const ValidationRow*> rows = MeasuredRows(set.rows);
  std::vector<ModelPredictions> scaled(models.begin(), models.end());
  for (const std::vector<std::size_t>& group : RowsByCase(rows)) {
    for (ModelPredictions& model : scaled) {
      std::vector<double> factors;
      for (const std::size_t k : group) factors.push_back(rows[k]->measured / model.predicted[k]);
      const double factor = Median(std::move(factors));
      for (const std::size_t k : group) model.predicted[k] *= factor;
    }
  }
  return scaled;
}

Problem ProblemOf(const CaseSetup& setup, const TrainingStep& step, const Runtime& runtime) {
  Problem problem;
  problem.step = &step;
  problem.costs = setup.costs;
  problem.capacity = setup.capacity;
  problem.use_runtime = true;
  problem.runtime = runtime;
  return problem;
}

std::vector<std::vector<double>> PredictionsOfAll(const CaseSetup& setup, const CostModel& costs,
                                                  const std::vector<ValidationRow>& rows) {
  std::vector<std::vector<double>> predictions;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!rows[k].Measured()) continue;
    const Contender& contender = setup.contenders[k];
    Problem problem = ProblemOf(setup, setup.StepOf(contender), contender.plan->runtime);
    problem.costs = &costs;
    Evaluation evaluation = *contender.evaluation;
    evaluation.step_time = rows[k].predicted;  // by these costs
    std::vector<double>& by_model = predictions.emplace_back();
    for (const StepModel& model : StepModels()) {
      by_model.push_back(static_cast<double>(model.predict(evaluation, *contender.plan, problem)));
    }
  }
  return predictions;
}

std::vector<ModelPredictions> ModelsOf(const std::vector<std::vector<double>>& by_row,
                                       const std::vector<ValidationRow>& rows) {
  std::vector<ModelPredictions> models;
  for (std::size_t m = 0; m < StepModels().size(); ++m) {
    models.push_back({StepModels()[m].name, StepModels()[m].description, {}});
    for (const std::vector<double>& row : by_row) models.back().predicted.push_back(row[m]);
  }
  if (std::none_of(rows.begin(), rows.end(), [](const auto& row) { return row.as_calibrated > 0; })) return models;
  models.push_back({"as calibrated", "at the pace at which the profile was measured", {}});
  for (const ValidationRow& row : rows) {
    if (!row.Measured()) continue;
    models.back().predicted.push_back(static_cast<double>(row.as_calibrated > 0 ? row.as_calibrated : row.predicted));
  }
  return models;
}

}  // namespace spillway
