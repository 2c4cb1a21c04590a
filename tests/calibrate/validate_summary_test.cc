// What rows come to: small sets whose figures can be worked out by hand.
#include <catch2/catch.hpp>

#include "calibrate/validate/falsify.h"

namespace spillway {
namespace {

// Measured in rounds of one step each.
ValidationRow Row(std::string strategy, Nanos predicted, std::vector<double> times, int case_index = 0) {
  ValidationRow row;
  row.case_index = case_index;
  row.strategy = std::move(strategy);
  row.feasible = true;
  row.predicted = predicted;
  for (const double time : times) row.step_times.push_back({time});
  row.measured = times[times.size() / 2];  // of an odd number in order
  return row;
}

ValidationRow RandomRow(Nanos predicted, std::vector<double> times, int case_index = 0) {
  ValidationRow row = Row("random", predicted, std::move(times), case_index);
  row.random = true;
  return row;
}

TEST_CASE("the choice is the best one") {
  const std::vector<ValidationRow> rows = {Row("a", 100, {99, 100, 101}), Row("b", 90, {94, 95, 96})};
  ValidationCase place;
  JudgeCase(rows, 1, place);
  CHECK(place.best_predicted == "b");
  CHECK(place.best_measured == "b");
  CHECK(place.regret == 0);
  CHECK(place.best_or_noise);
  CHECK(place.tau == 1);
  CHECK(place.pairs == 1);
}

TEST_CASE("the choice costs 10 %, in every round") {
  const std::vector<ValidationRow> rows = {Row("a", 90, {108, 110, 112}), Row("b", 100, {98, 100, 102})};
  ValidationCase place;
  JudgeCase(rows, 1, place);
  CHECK(place.best_predicted == "a");
  CHECK(place.best_measured == "b");
  CHECK(place.regret == Approx(0.1));
  CHECK(place.regret_low > 0.05);
  CHECK_FALSE(place.best_or_noise);
  CHECK(place.tau == -1);
}

TEST_CASE("a difference that rounds do not agree on is noise") {
  const std::vector<ValidationRow> rows = {Row("a", 90, {80, 101, 120}), Row("b", 100, {120, 100, 80})};
  ValidationCase place;
  JudgeCase(rows, 1, place);
  CHECK(place.regret == Approx(0.01));
  CHECK(place.best_or_noise);
}

TEST_CASE("random plans count for the order, not for the choice; rows without a measurement for neither") {
  ValidationRow failed = Row("broken", 1, {1});
  failed.measured = 0;
  const std::vector<ValidationRow> rows = {Row("a", 100, {100, 100, 100}), RandomRow(50, {50, 50, 50}), failed,
                                           RandomRow(200, {60, 60, 60})};
  ValidationCase place;
  JudgeCase(rows, 1, place);
  CHECK(place.best_predicted == "a");
  CHECK(place.best_measured == "a");
  CHECK(place.pairs == 3);  // 100 200 50 predicted, 100 60 50 measured: one of three the wrong way round
  CHECK(place.tau == Approx(1.0 / 3));
  ValidationCase empty;
  JudgeCase({}, 1, empty);
  CHECK(empty.best_predicted.empty());
  CHECK(empty.tau == 0);
}

TEST_CASE("order among pairs that differ beyond noise") {
  // a and b cannot be told apart; c is slower than both in every round, predicted slower than a alone.
  const std::vector<ValidationRow> rows = {Row("a", 90, {80, 101, 120}), Row("b", 300, {120, 100, 80}),
                                           Row("c", 200, {160, 202, 240})};
  ValidationSet set;
  set.cases.resize(1);
  JudgeCase(rows, 1, set.cases[0]);
  CHECK(set.cases[0].clear_pairs == 2);
  CHECK(set.cases[0].clear_right == 1);
  set.rows = rows;
  SummariseSet(set);
  SummariseSet(set);  // again, as after each case: sums begin anew
  CHECK(set.clear_pairs == 2);
  CHECK(set.clear_right == 1);
}

TEST_CASE("equal predictions are not right where measuring tells them apart") {
  ValidationCase place;
  JudgeCase(std::vector{Row("a", 100, {99, 100, 101}), Row("b", 100, {149, 150, 151})}, 1, place);
  CHECK(place.clear_pairs == 1);
  CHECK(place.clear_right == 0);
}

TEST_CASE("what the profile says by itself is a group of its own") {
  ValidationSet set;
  set.cases.resize(1);
  set.rows = {Row("a", 100, {100, 100, 100}), Row("b", 110, {100, 100, 100})};
  const auto group = [&set]() -> const ErrorSummary* {
    SummariseSet(set);
    for (const ErrorSummary& s : set.summaries) {
      if (s.group == "all strategies, at the pace of the calibration") return &s;
    }
    return nullptr;
  };
  CHECK(group() == nullptr);
  set.rows[0].as_calibrated = 80;
  set.rows[1].as_calibrated = 90;
  REQUIRE(group() != nullptr);
  CHECK(group()->rows == 2);
  CHECK(group()->worst_error == Approx(0.2));
  set.rows[0].tracked = 95;
  set.rows[0].tracked_error = -0.03;
  SummariseSet(set);
  CHECK(set.summaries[2].group == "all strategies, each step at its own pace");
  CHECK(set.summaries[2].rows == 1);
  CHECK(set.summaries[2].median_signed == Approx(-0.03));
}

TEST_CASE("errors by group") {
  const ErrorSummary s = SummaryOf("x", {-0.1, 0.2, 0.05});
  CHECK(s.rows == 3);
  CHECK(s.median_signed == 0.05);
  CHECK(s.median_error == 0.1);
  CHECK(s.worst_error == 0.2);
}

ValidationSet TwoCases() {
  ValidationSet set;
  set.cases.resize(2);
  set.cases[0].network = "seen";
  set.cases[0].in_core_split.seen_share = 0.9;
  set.cases[0].best_predicted = "a";
  set.cases[0].best_or_noise = true;
  set.cases[1].network = "left out";
  set.cases[1].in_core_split.seen_share = 0.1;
  set.cases[1].best_predicted = "a";
  set.rows = {Row("a", 110, {100, 100, 100}), RandomRow(240, {200, 200, 200}), Row("a", 70, {100, 100, 100}, 1)};
  set.rows[0].split.replay = 0.98;
  set.rows[2].split.replay = 1.04;
  return set;
}

TEST_CASE("a set is summed up by kind, network and whether calibration saw it") {
  ValidationSet set = TwoCases();
  SummariseSet(set);
  std::vector<std::pair<std::string, double>> medians;
  for (const ErrorSummary& s : set.summaries) medians.emplace_back(s.group, s.median_error);
  REQUIRE(medians.size() == 7);
  const std::vector<std::pair<std::string, double>> expected = {{"all strategies", 0.2},
                                                                {"all strategies, against their fastest step", 0.2},
                                                                {"random plans", 0.2},
                                                                {"strategies, seen", 0.1},
                                                                {"strategies, left out", 0.3},
                                                                {"strategies, networks seen in calibration", 0.1},
                                                                {"strategies, networks left out of calibration", 0.3}};
  for (std::size_t k = 0; k < 7; ++k) {
    CHECK(medians[k].first == expected[k].first);
    CHECK(medians[k].second == Approx(expected[k].second));
  }
  CHECK(set.summaries[0].median_signed == Approx(-0.1));  // of +0.1 and -0.3
  CHECK(set.judged == 2);
  CHECK(set.best_or_noise == 1);
  CHECK(set.median_replay == Approx(0.03));
  CHECK(set.tau == 1);  // one pair within a case
}

}  // namespace
}  // namespace spillway
