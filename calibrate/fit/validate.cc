#include "calibrate/fit/validate.h"

namespace spillway {

namespace {

constexpr int kLeastSeen = 12;  // samples of an algorithm that make a fit know it

// As log_time, of the kernels of the reference stack.
double TimeOnReference(const FitGroup& group, const GroupFit& fit, FitRow row) {
  row.stack = group.reference;
  const bool told = row.known >= 0 && !row.chosen;
  return ObservedLog(fit, row, told ? LogTime(group, fit, row, row.known) : Fastest(group, fit, row).log_time);
}

}  // namespace

RowPrediction PredictRow(const FitGroup& group, const GroupFit& fit, const FitRow& row) {
  RowPrediction result;
  const Prediction fastest = Fastest(group, fit, row);
  result.made = true;
  result.candidate = fastest.candidate;
  result.log_time = ObservedLog(fit, row, fastest.log_time);
  if (row.known >= 0 && !row.chosen) {
    result.log_time = ObservedLog(fit, row, LogTime(group, fit, row, row.known));
  }
  result.offset = result.log_time - TimeOnReference(group, fit, row);
  return result;
}

std::vector<FoldItem> FoldItemsOf(const FitGroup& group, std::span<const Sample> samples) {
  std::vector<FoldItem> items;
  for (const FitRow& row : group.rows) items.push_back(FoldItemOf(samples[static_cast<std::size_t>(row.sample)]));
  return items;
}

std::vector<RowPrediction> PredictHeldOut(const FitGroup& group, std::span<const Split> splits) {
  std::vector<RowPrediction> predictions(group.rows.size());
  for (const Split& split : splits) {
    const GroupFit fit = SolveGroup(group, split.train);
    for (const int r : split.test) {
      const auto row = static_cast<std::size_t>(r);
      predictions[row] = PredictRow(group, fit, group.rows[row]);
    }
  }
  return predictions;
}

std::vector<RowPrediction> PredictOutside(const FitGroup& group, std::span<const Split> splits,
                                          std::vector<RowPrediction> predictions) {
  for (const Split& split : splits) {
    std::vector<int> seen(group.candidates.size(), 0);
    for (const int r : split.train) {
      const FitRow& row = group.rows[static_cast<std::size_t>(r)];
      if (row.known >= 0) ++seen[static_cast<std::size_t>(row.known)];
    }
    const GroupFit fit = SolveGroup(group, split.train);
    for (const int r : split.test) {
      const auto row = static_cast<std::size_t>(r);
      const int known = group.rows[row].known;
      if (known >= 0 && seen[static_cast<std::size_t>(known)] < kLeastSeen) continue;
      predictions[row] = PredictRow(group, fit, group.rows[row]);
      predictions[row].outside = true;
    }
  }
  return predictions;
}

int CandidateOf(const FitRow& row, const RowPrediction& prediction) {
  return row.known >= 0 && !row.chosen ? row.known : prediction.candidate;
}

std::vector<ErrorSample> ErrorSamples(const FitGroup& group, std::span<const RowPrediction> predictions,
                                      int candidate) {
  std::vector<ErrorSample> samples;
  for (std::size_t r = 0; r < group.rows.size(); ++r) {
    const FitRow& row = group.rows[r];
    if (!predictions[r].made || (candidate >= 0 && CandidateOf(row, predictions[r]) != candidate)) continue;
    samples.push_back(
        {row.log_time - predictions[r].log_time, row.weight, row.origin, predictions[r].offset, row.harness});
  }
  return samples;
}

}  // namespace spillway
