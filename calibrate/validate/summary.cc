#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "calibrate/validate/falsify.h"
#include "hw/text/lists.h"
#include "model/stats/quantile.h"
#include "model/stats/statistics.h"

namespace spillway {

namespace {

constexpr double kPairConfidence = 0.99;  // of some hundred pairs that tie one or two may pass for clear

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

// ---- groups of rows

// Of the measured rows of which `error` says one.
void AddSummary(const std::string& group, ValidationSet& set,
                const std::function<std::optional<double>(const ValidationRow&)>& error) {
  std::vector<double> errors;
  for (const ValidationRow& row : set.rows) {
    if (!row.Measured()) continue;
    if (const std::optional<double> one = error(row)) errors.push_back(*one);
  }
  if (!errors.empty()) set.summaries.push_back(SummaryOf(group, errors));
}

void AddRows(const std::string& group, ValidationSet& set, const std::function<bool(const ValidationRow&)>& wanted) {
  AddSummary(group, set, [&](const auto& row) { return wanted(row) ? std::optional(row.Error()) : std::nullopt; });
}

// What strategies would have been predicted to take otherwise; 0: nobody knows.
void AddOtherwise(const char* group, Nanos ValidationRow::*predicted, ValidationSet& set) {
  AddSummary(group, set, [&](const ValidationRow& row) -> std::optional<double> {
    if (row.random || row.*predicted == 0) return std::nullopt;
    return static_cast<double>(row.*predicted) / row.measured - 1;
  });
}

// What waited for a core makes medians long; hardly ever every step waits. What is left once each step is held to the pace of
// its moment.
void AddFastestAndTracked(ValidationSet& set) {
  AddSummary("all strategies, against their fastest step", set, [](const ValidationRow& row) {
    return row.random ? std::nullopt : std::optional(static_cast<double>(row.predicted) / row.Fastest() - 1);
  });
  AddSummary("all strategies, each step at its own pace", set, [](const ValidationRow& row) {
    return row.random || row.tracked <= 0 ? std::nullopt : std::optional(row.tracked_error);
  });
}

const ValidationCase& CaseOf(const ValidationSet& set, const ValidationRow& row) {
  return set.cases[static_cast<std::size_t>(row.case_index)];
}

// Strategies of each network, in the order of the cases.
void AddByNetwork(ValidationSet& set) {
  std::vector<std::string> networks;
  for (const ValidationCase& c : set.cases) {
    AddOnce(networks, c.network);
  }
  for (const std::string& network : networks) {
    const auto of_network = [&](const ValidationRow& row) {
      return !row.random && CaseOf(set, row).network == network;
    };
    AddRows("strategies, " + network, set, of_network);
  }
}

// Strategies of networks whose launches were calibrated, and of those that models had to answer for.
void AddBySeen(ValidationSet& set) {
  for (const bool seen : {true, false}) {
    const auto belongs = [&](const ValidationRow& row) {
      const ValidationCase& place = CaseOf(set, row);
      return !row.random && !place.carried && (place.in_core_split.seen_share >= kSeenShare) == seen;
    };
    AddRows(seen ? "strategies, networks seen in calibration" : "strategies, networks left out of calibration", set,
            belongs);
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

std::vector<const ValidationRow*> MeasuredRows(std::span<const ValidationRow> rows) {
  std::vector<const ValidationRow*> measured;
  for (const ValidationRow& row : rows) {
    if (row.Measured()) measured.push_back(&row);
  }
  return measured;
}

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

void SummariseSet(ValidationSet& set) {
  set.summaries.clear();
  AddRows("all strategies", set, [](const auto& row) { return !row.random; });
  AddFastestAndTracked(set);
  AddOtherwise("all strategies, at the pace of the calibration", &ValidationRow::as_calibrated, set);
  AddOtherwise("all strategies, at the pace measured before", &ValidationRow::at_pace, set);
  AddRows("random plans", set, [](const auto& row) { return row.random; });
  AddByNetwork(set);
  AddBySeen(set);
  JudgeSet(set);
}

}  // namespace spillway
