#include "calibrate/accuracy/cells.h"

#include <fmt/format.h>

#include <cmath>

#include "calibrate/fit/validate.h"
#include "model/samples/csv.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

double LogQuantile(const std::vector<double>& log_ratios, double quantile, bool absolute) {
  std::vector<std::pair<double, double>> values;
  for (const double r : log_ratios) values.emplace_back(absolute ? std::abs(std::expm1(r)) : std::expm1(r), 1.0);
  return WeightedQuantile(std::move(values), quantile);
}

std::vector<std::string> SubsetsOf(const HeldOutOutcome& outcome, const Sample& sample) {
  std::vector<std::string> subsets = {"all"};
  if (outcome.split != "layer") return subsets;
  subsets.push_back(SizeClass(sample));
  if (sample.launch.algorithm != 0) subsets.push_back("algorithm " + sample.algorithm);
  if (!sample.harness.empty()) subsets.push_back("harness " + sample.harness);
  if (sample.launch.type != DataType::kFp32) subsets.push_back(std::string("data ") + DataTypeName(sample.launch.type));
  return subsets;
}

}  // namespace

double Cell::MedianError() const { return LogQuantile(log_ratios, 0.5, true); }
double Cell::Error90() const { return LogQuantile(log_ratios, 0.9, true); }
double Cell::Bias() const { return LogQuantile(log_ratios, 0.5, false); }

std::string SizeClass(const Sample& sample) {
  if (sample.microseconds < 100) return "below 0.1 ms";
  if (sample.microseconds < 1000) return "0.1 to 1 ms";
  return sample.microseconds < 10000 ? "1 to 10 ms" : "from 10 ms";
}

Cells GatherCells(std::span<const HeldOutOutcome> outcomes, std::span<const Sample> samples) {
  Cells cells;
  for (const HeldOutOutcome& outcome : outcomes) {
    const Sample& sample = samples[static_cast<std::size_t>(outcome.sample)];
    for (const std::string& subset : SubsetsOf(outcome, sample)) {
      const CellKey key{sample.device,
                        OpKindName(sample.launch.kind),
                        PassName(sample.launch.pass),
                        MathModeName(sample.launch.math),
                        outcome.split,
                        subset};
      cells[key][outcome.method].log_ratios.push_back(outcome.log_ratio);
    }
  }
  return cells;
}

std::string CellsCsv(const Cells& cells) {
  std::string csv = "device,op,pass,math,split,subset,method,samples,median_error,p90_error,bias,coverage,width\n";
  for (const auto& [key, methods] : cells) {
    for (const auto& [method, cell] : methods) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},,\n", CsvText(key.device), key.op, key.pass,
                         key.math, CsvText(key.split), CsvText(key.subset), method, cell.log_ratios.size(),
                         cell.MedianError(), cell.Error90(), cell.Bias());
    }
  }
  return csv;
}

// ---- Predictions of samples not seen.

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
