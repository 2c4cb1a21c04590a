#include "calibrate/validate/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "calibrate/statistics.h"

namespace spillway {

namespace {

constexpr double kChance = 0.05;
constexpr double kPairConfidence = 0.99;  // of some hundred pairs that tie one or two may pass for clear

std::vector<const ValidationRow*> MeasuredRows(std::span<const ValidationRow> rows) {
  std::vector<const ValidationRow*> measured;
  for (const ValidationRow& row : rows) {
    if (row.Measured()) measured.push_back(&row);
  }
  return measured;
}

PairCounts OrderOf(const std::vector<const ValidationRow*>& rows) {
  std::vector<double> predicted, measured;
  for (const ValidationRow* row : rows) {
    predicted.push_back(static_cast<double>(row->predicted));
    measured.push_back(row->measured);
  }
  return CountPairs(predicted, measured);
}

// Pairs whose ratio of measured times differs from 1 beyond noise.
void CountClear(const std::vector<const ValidationRow*>& rows, std::uint64_t seed, ValidationCase& place) {
  place.clear_pairs = place.clear_right = 0;
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const Spread ratio =
          BootstrapRatio(rows[a]->step_times, rows[b]->step_times, {.seed = seed, .confidence = kPairConfidence});
      const bool slower = ratio.low > 1, faster = ratio.high < 1;
      if (!slower && !faster) continue;
      ++place.clear_pairs;
      const bool right = slower ? rows[a]->predicted > rows[b]->predicted : rows[a]->predicted < rows[b]->predicted;
      place.clear_right += right ? 1 : 0;
    }
  }
}

void JudgeChoice(const std::vector<const ValidationRow*>& strategies, std::uint64_t seed, ValidationCase& place) {
  const auto before = [](auto value) {
    return [value](const ValidationRow* a, const ValidationRow* b) { return a->*value < b->*value; };
  };
  const ValidationRow& chosen =
      **std::min_element(strategies.begin(), strategies.end(), before(&ValidationRow::predicted));
  const ValidationRow& best =
      **std::min_element(strategies.begin(), strategies.end(), before(&ValidationRow::measured));
  place.best_predicted = chosen.strategy;
  place.best_measured = best.strategy;
  place.regret = chosen.measured / best.measured - 1;
  if (&chosen == &best) {
    place.best_or_noise = true;
    return;
  }
  const Spread ratio = BootstrapRatio(chosen.step_times, best.step_times, {.seed = seed});
  place.regret_low = ratio.low - 1;
  place.regret_high = ratio.high - 1;
  place.best_or_noise = place.regret_low <= 0;
}

// ---- falsification

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

std::string VerdictOn(const FalsificationRow& row) {
  if (row.closer + row.farther == 0) return "predicts the same at every point: the data cannot tell";
  const bool clear = row.p < kChance;
  if (clear && row.closer > row.farther && row.gain_low > 0) return "rejected";
  if (clear && row.farther > row.closer && row.gain_high < 0) return "closer to the data than the full model";
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
      row.closer += gain > 0 ? 1 : 0;
      row.farther += gain < 0 ? 1 : 0;
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

// ---- groups of rows

void AddSummary(const std::string& group, const ValidationSet& set,
                const std::function<bool(const ValidationRow&)>& wanted, std::vector<ErrorSummary>& summaries) {
  std::vector<double> errors;
  for (const ValidationRow& row : set.rows) {
    if (row.Measured() && wanted(row)) errors.push_back(row.Error());
  }
  if (!errors.empty()) summaries.push_back(SummaryOf(group, errors));
}

// What waited for a core makes medians long; hardly ever every step waits.
void AddFastest(ValidationSet& set) {
  std::vector<double> errors;
  for (const ValidationRow& row : set.rows) {
    if (row.Measured() && !row.random) errors.push_back(static_cast<double>(row.predicted) / row.Fastest() - 1);
  }
  if (!errors.empty()) set.summaries.push_back(SummaryOf("all strategies, against their fastest step", errors));
}

// What the profile would have said by itself.
void AddAsCalibrated(ValidationSet& set) {
  std::vector<double> errors;
  for (const ValidationRow& row : set.rows) {
    if (!row.Measured() || row.random || row.as_calibrated == 0) continue;
    errors.push_back(static_cast<double>(row.as_calibrated) / row.measured - 1);
  }
  if (!errors.empty()) set.summaries.push_back(SummaryOf("all strategies, at the pace of the calibration", errors));
}

const ValidationCase& CaseOf(const ValidationSet& set, const ValidationRow& row) {
  return set.cases[static_cast<std::size_t>(row.case_index)];
}

// Strategies of each network, in the order of the cases.
void AddByNetwork(ValidationSet& set) {
  std::vector<std::string> networks;
  for (const ValidationCase& c : set.cases) {
    if (std::find(networks.begin(), networks.end(), c.network) == networks.end()) networks.push_back(c.network);
  }
  for (const std::string& network : networks) {
    const auto of_network = [&](const ValidationRow& row) {
      return !row.random && CaseOf(set, row).network == network;
    };
    AddSummary("strategies, " + network, set, of_network, set.summaries);
  }
}

// Strategies of networks whose launches were calibrated, and of those that models had to answer for.
void AddBySeen(ValidationSet& set) {
  for (const bool seen : {true, false}) {
    const auto belongs = [&](const ValidationRow& row) {
      return !row.random && (CaseOf(set, row).in_core_split.seen_share >= kSeenShare) == seen;
    };
    AddSummary(seen ? "strategies, networks seen in calibration" : "strategies, networks left out of calibration", set,
               belongs, set.summaries);
  }
}

// Over all cases: order, choices, and how far off the replay of measured times is.
void JudgeSet(ValidationSet& set) {
  PairCounts order;
  std::vector<double> replay;
  set.clear_pairs = set.clear_right = set.judged = set.best_or_noise = 0;
  for (std::size_t c = 0; c < set.cases.size(); ++c) {
    std::vector<const ValidationRow*> rows;
    for (const ValidationRow& row : set.rows) {
      if (!row.Measured() || row.case_index != static_cast<int>(c)) continue;
      rows.push_back(&row);
      if (row.split.replay > 0) replay.push_back(std::abs(row.split.replay - 1));
    }
    order += OrderOf(rows);
    set.clear_pairs += set.cases[c].clear_pairs;
    set.clear_right += set.cases[c].clear_right;
    if (set.cases[c].best_predicted.empty()) continue;
    ++set.judged;
    set.best_or_noise += set.cases[c].best_or_noise ? 1 : 0;
  }
  set.tau = order.Tau();
  set.median_replay = replay.empty() ? 0 : Median(replay);
}

}  // namespace

void JudgeCase(std::span<const ValidationRow> rows, std::uint64_t seed, ValidationCase& place) {
  const std::vector<const ValidationRow*> measured = MeasuredRows(rows);
  const PairCounts order = OrderOf(measured);
  place.tau = order.Tau();
  place.pairs = order.Untied();
  CountClear(measured, seed, place);
  std::vector<const ValidationRow*> strategies;
  for (const ValidationRow* row : measured) {
    if (!row->random) strategies.push_back(row);
  }
  if (!strategies.empty()) JudgeChoice(strategies, seed, place);
}

ErrorSummary SummaryOf(std::string group, const std::vector<double>& errors) {
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::abs(error));
  return {.group = std::move(group),
          .rows = static_cast<int>(errors.size()),
          .median_signed = Median(errors),
          .median_error = Median(sizes),
          .worst_error = *std::max_element(sizes.begin(), sizes.end())};
}

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

void SummariseSet(ValidationSet& set) {
  set.summaries.clear();
  AddSummary(
      "all strategies", set, [](const auto& row) { return !row.random; }, set.summaries);
  AddFastest(set);
  AddAsCalibrated(set);
  AddSummary(
      "random plans", set, [](const auto& row) { return row.random; }, set.summaries);
  AddByNetwork(set);
  AddBySeen(set);
  JudgeSet(set);
}

}  // namespace spillway
