#include <algorithm>
#include <catch2/catch.hpp>

#include "reports/tables/tables.h"
#include "tests/result_rows.h"

namespace spillway {
namespace {

Expectation Claim(Measure measure, double value, const char* claim) {
  Expectation e;
  e.where.strategy = "pooch";
  e.measure = measure;
  e.value = {value, value};
  e.source = "a paper, page 3";
  e.claim = claim;
  return e;
}

ResultRow At(Bytes memory, Nanos step) {
  ResultRow row = FeasibleRow();
  row.memory_limit = memory;
  row.times.step = step;
  for (const int percent : {80, 90, 100, 110, 120}) row.times.draws.push_back(step / 100 * percent);
  return row;
}

}  // namespace

TEST_CASE("a claim is its first row; the others are its spread") {
  const std::vector<ResultRow> rows = {At(16 * kGB, 2 * kSecond), At(12 * kGB, 4 * kSecond)};
  std::vector<Expectation> claims = {Claim(Measure::kSamplesPerSecond, 100, "so fast")};
  claims[0].why = "the memory";
  const std::string text = ClaimsTable(Judge(rows, claims));
  INFO(text);
  CHECK_THAT(text, Catch::Contains("a paper, page 3\n"));
  CHECK_THAT(text, Catch::Contains("so fast") && Catch::Contains("50.0/s") && Catch::Contains("25.0/s to 50.0/s"));
  CHECK_THAT(text, Catch::Contains("-50.0 %") && Catch::Contains("off") && Catch::Contains("why: the memory"));
  CHECK_THAT(text, Catch::Contains("0 of 0 boundaries") && Catch::Contains("0 of 1 figures"));
}

TEST_CASE("what is compared with at a memory of its own is no part of the spread") {
  ResultRow reference = At(200 * kGB, kSecond);
  reference.strategy = "in-core";
  const std::vector<ResultRow> rows = {At(16 * kGB, 2 * kSecond), At(200 * kGB, kSecond), reference};
  std::vector<Expectation> claims = {Claim(Measure::kRatio, 0.5, "half as fast as an oracle")};
  claims[0].other = {.strategy = "in-core", .memory_limit = 200 * kGB};
  const std::vector<Verdict> verdicts = Judge(rows, claims);
  REQUIRE(verdicts.size() == 2);
  CHECK(*verdicts[0].ours == Approx(0.5));
  // Draw by draw: both sides are as slow at once.
  for (const double ratio : DrawsOf(verdicts[0])) CHECK(ratio == Approx(0.5));
  const std::string text = ClaimsTable(verdicts);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("equal") && Catch::Contains("holds") && !Catch::Contains("0.50x to 1.00x"));
  CHECK_THAT(text, Catch::Contains("1 of 1 figures"));
}

TEST_CASE("a single value holds to the digits it was published with") {
  Expectation saved = Claim(Measure::kMeanSaving, 0.75, "three quarters saved");  // ours, exactly
  saved.value.half_digit = 0.005;
  Expectation near = Claim(Measure::kMeanSaving, 0.746, "nearly");
  near.value.half_digit = 0.005;
  Expectation miss = Claim(Measure::kMeanSaving, 0.744, "beside it");
  miss.value.half_digit = 0.005;
  Expectation rate = Claim(Measure::kSamplesPerSecond, 55, "so fast");  // 50; 42 to 62 over its draws
  rate.value.half_digit = 0.5;
  const std::string text = ClaimsTable(Judge({At(16 * kGB, 2 * kSecond)}, {saved, near, miss, rate}));
  INFO(text);
  CHECK_THAT(text, Catch::Contains("2 of 4 figures") && Catch::Contains("the 80 % intervals of 1 more"));
  CHECK_THAT(text, Catch::Contains("in 80 %"));
}

TEST_CASE("a gate that any of its rows fails does not hold, counted or not") {
  ResultRow not_running = At(12 * kGB, kSecond);
  not_running.feasible = false;
  not_running.reason = "out_of_memory: 1 B more wanted";
  std::vector<Expectation> claims = {Claim(Measure::kFeasible, 1, "fits"), Claim(Measure::kFeasible, 1, "fits, too")};
  for (Expectation& e : claims) e.required = true;
  claims[1].counted = false;
  const std::vector<ResultRow> rows{At(16 * kGB, kSecond), not_running};
  const std::vector<Verdict> verdicts = Judge(rows, claims);
  const std::string text = ClaimsTable(verdicts);
  INFO(text);
  CHECK(std::any_of(verdicts.begin(), verdicts.end(), FailsGate));
  CHECK_THAT(text, Catch::Contains("0 of 1 boundaries") && !Catch::Contains("holds"));
  CHECK(text.find("NO") != text.rfind("NO"));
}

TEST_CASE("boundaries are counted apart, and what nobody could look up not at all") {
  ResultRow not_running = At(12 * kGB, kSecond);
  not_running.feasible = false;
  not_running.reason = "out_of_memory: 1 B more wanted";
  std::vector<Expectation> claims = {Claim(Measure::kFeasible, 1, "fits"), Claim(Measure::kFeasible, 1, "fits, too")};
  claims[1].counted = false;
  const std::string text = ClaimsTable(Judge({not_running}, claims));
  INFO(text);
  CHECK_THAT(text, Catch::Contains("does not fit") && Catch::Contains("0 of 1 boundaries") &&
                       Catch::Contains("1 are shown only"));
}

TEST_CASE("savings of memory are against network-wide allocation") {
  const ResultRow row = FeasibleRow();  // 6 of 24 GB on average, of which 1 of 4 GB are parameters'
  CHECK(row.MeanBytes() == 6 * kGB);
  CHECK(row.MeanSaving() == Approx(0.75));
  CHECK(row.MeanSavingBesideParameters() == Approx(0.75));
  const std::vector<ResultRow> rows{row};
  const std::vector<Expectation> claims{Claim(Measure::kMeanSaving, 0.89, "")};
  const std::vector<Verdict> verdicts = Judge(rows, claims);
  CHECK(*verdicts.at(0).ours == Approx(0.75));
  CHECK(verdicts.at(0).difference == Approx(-0.14));  // in points
  CHECK(DrawsOf(verdicts.at(0)).empty());
}

}  // namespace spillway
