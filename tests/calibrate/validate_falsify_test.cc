// Whether models are rejected: small sets whose figures can be worked out by hand.
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

// Ten rows in five cases; the full model is exact, or off by `full`.
ValidationSet TenRows(double full) {
  ValidationSet set;
  set.cases.resize(5);
  for (int k = 0; k < 10; ++k) {
    const double measured = 1000 + 100 * k;
    set.rows.push_back(Row("s", static_cast<Nanos>(measured * (1 + full)), {measured, measured, measured}, k / 2));
  }
  return set;
}

ModelPredictions Off(const ValidationSet& set, const char* name, double error) {
  ModelPredictions model{name, "", {}};
  for (const ValidationRow& row : set.rows) model.predicted.push_back(row.measured * (1 + error));
  return model;
}

TEST_CASE("a model that is always farther off is rejected, one that is nearer is said to be") {
  const ValidationSet set = TenRows(0.1);
  const std::vector<ModelPredictions> models = {Off(set, "full", 0.1), Off(set, "worse", -0.3),
                                                Off(set, "better", 0.05)};
  const std::vector<FalsificationRow> table = Falsify(set, models, 1);
  REQUIRE(table.size() == 3);
  CHECK(table[0].verdict.empty());
  CHECK(table[0].median_error == Approx(0.1));
  CHECK(table[0].tau == 1);
  CHECK(table[1].median_error == Approx(0.3));
  CHECK(table[1].closer == 10);
  CHECK(table[1].farther == 0);
  CHECK(table[1].p == Approx(2.0 / 1024));
  CHECK(table[1].gain_low == Approx(0.2));
  CHECK(table[1].verdict == "rejected");
  CHECK(table[2].verdict == "closer to the data than the full model");
}

TEST_CASE("a model that is farther off at some points only cannot be rejected") {
  const ValidationSet set = TenRows(0.1);
  ModelPredictions mixed = Off(set, "mixed", 0.12);
  for (std::size_t k = 0; k < 3; ++k) mixed.predicted[k] = set.rows[k].measured * 1.01;  // nearer
  const std::vector<ModelPredictions> models = {Off(set, "full", 0.1), mixed, Off(set, "same", 0.1)};
  const std::vector<FalsificationRow> table = Falsify(set, models, 1);
  CHECK(table[1].closer == 7);
  CHECK(table[1].farther == 3);
  CHECK(table[1].verdict == "cannot be rejected");
  CHECK(table[2].verdict == "predicts the same at every point: the data cannot tell");
}

TEST_CASE("nine small losses and a large gain: counting alone does not reject") {
  const ValidationSet set = TenRows(0.1);
  ModelPredictions model = Off(set, "m", 0.101);
  model.predicted[0] = set.rows[0].measured;
  const std::vector<FalsificationRow> table =
      Falsify(set, std::vector<ModelPredictions>{Off(set, "full", 0.1), model}, 1);
  CHECK(table[1].closer == 9);
  CHECK(table[1].p < 0.05);
  CHECK(table[1].gain_low < 0);
  CHECK(table[1].verdict == "cannot be rejected");
}

TEST_CASE("one factor per case takes away what all rows of it have in common") {
  ValidationSet set = TenRows(0.1);
  for (ValidationRow& row : set.rows) row.measured *= 1 + row.case_index;  // each case on a slower machine
  ModelPredictions full = Off(set, "full", 0), flat = Off(set, "flat", 0);
  for (std::size_t k = 0; k < 10; ++k) {
    full.predicted[k] = 1000 + 100 * static_cast<double>(k);  // right up to the machine's speed
    flat.predicted[k] = 1000;
  }
  const std::vector<ModelPredictions> scaled = ScaledByCase(set, std::vector<ModelPredictions>{full, flat});
  for (std::size_t k = 0; k < 10; ++k) CHECK(scaled[0].predicted[k] == Approx(set.rows[k].measured));
  // Rows of 1000 and 1100 in the first case: their median in the middle.
  CHECK(scaled[1].predicted[0] == Approx(1050));
  CHECK(scaled[1].predicted[1] == Approx(1050));
  CHECK(Falsify(set, scaled, 1)[1].verdict == "rejected");
}

// Fourteen rows of one point, all a quarter slower than predicted, with noise of a few percent; and a model that predicts
// less by `less` everywhere, and by `shape` more at every second row.
std::vector<FalsificationRow> UnderCommonBias(double less, double shape) {
  ValidationSet set;
  set.cases.resize(1);
  ModelPredictions full{"full", "", {}}, rival{"rival", "", {}};
  for (int k = 0; k < 14; ++k) {
    const double predicted = 1000 + 100 * k;
    const double measured = predicted * 1.35 * (1 + 0.01 * (k * 5 % 7 - 3));
    set.rows.push_back(Row("s", static_cast<Nanos>(predicted), {measured, measured, measured}));
    full.predicted.push_back(predicted);
    rival.predicted.push_back(predicted * (1 - less) * (k % 2 == 0 ? 1 : 1 + shape));
  }
  const std::vector<ModelPredictions> models = {full, rival};
  std::vector<FalsificationRow> table = Falsify(set, models, 1);
  CHECK(table[1].verdict == "rejected");  // as it is
  CHECK(table[1].p < 0.001);
  CHECK(table[1].closer == 14);
  AllowCommonFactors(Falsify(set, ScaledByCase(set, models), 1), table);
  CHECK(table[1].closer == 14);
  return table;
}

TEST_CASE("a bias that all plans of a point share rejects nobody; plans told apart wrongly do") {
  CHECK(UnderCommonBias(0.004, 0)[1].verdict == "cannot be rejected: one factor per point explains the difference");
  CHECK(UnderCommonBias(0.004, 0.0005)[1].verdict ==
        "cannot be rejected: one factor per point explains the difference");
  CHECK(UnderCommonBias(0.4, 0.5)[1].verdict == "rejected");
}

TEST_CASE("a model that is closer by a common factor alone is not called closer") {
  ValidationSet set = TenRows(0.1);
  const std::vector<ModelPredictions> models = {Off(set, "full", 0.1), Off(set, "better", 0.05)};
  std::vector<FalsificationRow> table = Falsify(set, models, 1);
  REQUIRE(table[1].verdict == "closer to the data than the full model");
  AllowCommonFactors(Falsify(set, ScaledByCase(set, models), 1), table);
  CHECK(table[1].verdict == "closer to the data, but one factor per point explains the difference");
}

TEST_CASE("without measured rows there is nothing to falsify") {
  CHECK(Falsify({}, std::vector<ModelPredictions>{{"full", "", {}}}, 1).empty());
}

}  // namespace
}  // namespace spillway
