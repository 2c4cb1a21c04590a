#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "reports/tables/tables.h"
#include "tests/result_rows.h"
#include "tests/text.h"

namespace spillway {
namespace {

Expectation Expect(Measure measure, double low, double high) {
  Expectation e;
  e.measure = measure;
  e.value = {low, high};
  e.source = "a paper";
  return e;
}

TEST_CASE("rows are selected by every field that is given") {
  const ResultRow row = FeasibleRow();
  CHECK(RowSelector{}.Matches(row));
  CHECK(RowSelector{"demo", "net", "box", "pooch", 100, 16 * kGB}.Matches(row));
  CHECK_FALSE(RowSelector{.network = "other"}.Matches(row));
  CHECK_FALSE(RowSelector{.machine = "other"}.Matches(row));
  CHECK_FALSE(RowSelector{.strategy = "other"}.Matches(row));
  CHECK_FALSE(RowSelector{.batch = 99}.Matches(row));
  CHECK_FALSE(RowSelector{.memory_limit = 1}.Matches(row));
}

TEST_CASE("a base name selects every variant") {
  ResultRow row = FeasibleRow();
  row.network = "net+448x224";
  row.machine = "box+link=8GB/s";
  CHECK(RowSelector{.network = "net", .machine = "box"}.Matches(row));
  CHECK(RowSelector{.network = "net+448x224", .machine = "box+link=8GB/s"}.Matches(row));
  CHECK_FALSE(RowSelector{.machine = "box+link=16GB/s"}.Matches(row));
}

TEST_CASE("differences are taken from the nearest end of the range") {
  // Ours is 50 samples/s.
  const std::vector<ResultRow> rows = {FeasibleRow()};
  const auto difference = [&](double low, double high) {
    const std::vector<Expectation> e = {Expect(Measure::kSamplesPerSecond, low, high)};
    return Judge(rows, e).at(0).difference;
  };
  CHECK(difference(50, 50) == 0);
  CHECK(difference(40, 60) == 0);
  CHECK(difference(40, 40) == Approx(0.25));    // 50/40 - 1
  CHECK(difference(100, 200) == Approx(-0.5));  // 50/100 - 1
}

TEST_CASE("measures") {
  const std::vector<ResultRow> rows = {InCoreRow(), FeasibleRow(), InfeasibleRow()};
  const auto ours = [&](Expectation e, const char* strategy, std::int64_t batch) {
    e.where.strategy = strategy;
    e.where.batch = batch;
    const std::vector<Expectation> all = {e};
    return Judge(rows, all).at(0).ours;
  };
  CHECK(*ours(Expect(Measure::kSamplesPerSecond, 0, 0), "pooch", 100) == Approx(50));
  CHECK(*ours(Expect(Measure::kStepTime, 0, 0), "pooch", 100) == Approx(2));
  CHECK(*ours(Expect(Measure::kBelowInCore, 0, 0), "pooch", 100) == Approx(1 - 50.0 / 64));
  CHECK(*ours(Expect(Measure::kKeep, 0, 0), "pooch", 100) == 66);
  CHECK(*ours(Expect(Measure::kSwap, 0, 0), "pooch", 100) == 12);
  CHECK(*ours(Expect(Measure::kRecompute, 0, 0), "pooch", 100) == 27);
  CHECK(*ours(Expect(Measure::kFeasible, 1, 1), "in-core", 100) == 0);
  CHECK_FALSE(ours(Expect(Measure::kSamplesPerSecond, 0, 0), "in-core", 100));
  CHECK(*ours(Expect(Measure::kHostPeak, 0, 0), "pooch", 100) == 3e9);
}

TEST_CASE("rates of copies are of the link, of unified memory those of its pages") {
  std::vector<ResultRow> rows = {FeasibleRow(), InfeasibleRow()};
  rows[1].grouping.link_rate = 12.5;
  const std::vector<Expectation> rate = {Expect(Measure::kCopyRate, 12.8e9, 12.8e9)};
  CHECK(*Judge(rows, rate).at(0).ours == Approx(12.5e9));
  CHECK(*Judge(rows, rate).at(1).ours == Approx(12.5e9));  // what does not run has a link all the same
  rows[0].memory.page_rate = 0.5;
  CHECK(*Judge(rows, rate).at(0).ours == Approx(0.5e9));
}

TEST_CASE("feature maps' share is of what is live at the peak") {
  std::vector<ResultRow> rows = {FeasibleRow()};
  rows[0].memory.live_peak = 8;
  const std::vector<Expectation> share = {Expect(Measure::kMapShare, 0.5, 1)};
  CHECK(*Judge(rows, share).at(0).ours == Approx(7.0 / 8));
  CHECK(Judge(rows, share).at(0).difference == 0);
  rows[0].memory.at_peak[0].second = 2;
  CHECK(Judge(rows, share).at(0).difference == Approx(-0.25));  // points
}

TEST_CASE("a ratio replaces some of the row's names") {
  // pooch at 100: 50/s; in-core at 64: 64/s.
  const std::vector<ResultRow> rows = {InCoreRow(), FeasibleRow()};
  Expectation e = Expect(Measure::kRatio, 1, std::numeric_limits<double>::infinity());
  e.where.strategy = "pooch";
  e.other.strategy = "in-core";
  e.other.batch = 64;
  std::vector<Expectation> all = {e};
  CHECK(*Judge(rows, all).at(0).ours == Approx(50.0 / 64));
  CHECK(Judge(rows, all).at(0).difference == Approx(50.0 / 64 - 1));
  all[0].other.batch = 65;  // no such row
  CHECK_FALSE(Judge(rows, all).at(0).ours);
}

TEST_CASE("the other row of a ratio may be of any variant of the network named; loss is against the same options") {
  ResultRow torch = InCoreRow(), chainer = InCoreRow(), row = FeasibleRow();  // 64/s; below 32/s; 50/s
  torch.grouping.options = "torch";
  torch.network = "net+torch";
  chainer.times.step = 2 * kSecond;
  chainer.grouping.options = row.grouping.options = "chainer";
  chainer.network = row.network = "net+chainer";
  const std::vector<ResultRow> rows = {torch, chainer, row};
  Expectation ratio = Expect(Measure::kRatio, 1, 1), loss = Expect(Measure::kBelowInCore, 0, 1);
  ratio.where.strategy = loss.where.strategy = "pooch";
  ratio.other = {.network = "net", .strategy = "in-core", .batch = 64};
  std::vector<Expectation> all = {ratio, loss};
  CHECK(*Judge(rows, all).at(0).ours == Approx(50.0 / 64));  // the first one
  CHECK(*Judge(rows, all).at(1).ours == Approx(1 - 50.0 / 32));
  all[0].other.network = "net+chainer";
  CHECK(*Judge(rows, all).at(0).ours == Approx(50.0 / 32));
}

TEST_CASE("rows of which it is said that they do not run, and which do not") {
  const std::vector<ResultRow> rows = {InfeasibleRow(), FeasibleRow(), InfeasibleRow()};
  std::vector<Expectation> all = {Expect(Measure::kFeasible, 0, 0), Expect(Measure::kKeep, 0, 0)};
  CHECK(ExpectedNotToRun(Judge(rows, all)) == std::set<const ResultRow*>{&rows[0], &rows[2]});
  all[0].where.strategy = "pooch";  // which runs
  CHECK(ExpectedNotToRun(Judge(rows, all)).empty());
  all[0] = Expect(Measure::kFeasible, 1, 1);
  CHECK(ExpectedNotToRun(Judge(rows, all)).empty());
}

TEST_CASE("only gates can fail") {
  const std::vector<ResultRow> rows = {FeasibleRow()};                          // 50/s
  std::vector<Expectation> all = {Expect(Measure::kSamplesPerSecond, 40, 40)};  // 25 % off
  CHECK_FALSE(Judge(rows, all)[0].gate);
  CHECK(Judge(rows, all)[0].passed);
  all[0].within = 0.26;
  CHECK(Judge(rows, all)[0].gate);
  CHECK(Judge(rows, all)[0].passed);
  all[0].within = 0.24;
  CHECK_FALSE(Judge(rows, all)[0].passed);
}

TEST_CASE("a gate on a row that does not run fails, unless that is what was required") {
  const std::vector<ResultRow> rows = {InfeasibleRow()};
  std::vector<Expectation> all = {Expect(Measure::kSamplesPerSecond, 40, 40), Expect(Measure::kFeasible, 0, 0),
                                  Expect(Measure::kFeasible, 1, 1)};
  all[0].within = 0.5;
  all[1].required = all[2].required = true;
  const auto verdicts = Judge(rows, all);
  CHECK_FALSE(verdicts[0].passed);
  CHECK(verdicts[1].passed);
  CHECK_FALSE(verdicts[2].passed);
}

TEST_CASE("a required bound is a gate") {
  const std::vector<ResultRow> rows = {InCoreRow(), FeasibleRow()};  // 64/s at batch 64, 50/s at batch 100
  Expectation e = Expect(Measure::kRatio, 0.78, std::numeric_limits<double>::infinity());
  e.where.strategy = "pooch";
  e.other.strategy = "in-core";
  e.other.batch = 64;
  e.required = true;
  std::vector<Expectation> all = {e};
  CHECK(Judge(rows, all)[0].gate);
  CHECK(Judge(rows, all)[0].passed);  // 50/64 = 0.78125
  all[0].value.low = 0.79;
  CHECK_FALSE(Judge(rows, all)[0].passed);
  all[0].required = false;
  CHECK(Judge(rows, all)[0].passed);  // only reported
}

TEST_CASE("for bounds on a ratio, what does not run has throughput 0") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto passed = [](bool row_runs, bool other_runs, ValueRange bounds) {
    ResultRow row = FeasibleRow(), other = FeasibleRow();
    other.strategy = "superneurons";
    row.feasible = row_runs;
    other.feasible = other_runs;
    const std::vector<ResultRow> rows = {row, other};
    std::vector<Expectation> all = {Expect(Measure::kRatio, bounds.low, bounds.high)};
    all[0].where.strategy = "pooch";
    all[0].other.strategy = "superneurons";
    all[0].required = true;
    return Judge(rows, all).at(0).passed;
  };
  const ValueRange at_least{0.99, kInfinity}, at_most{-kInfinity, 1.01}, between{0.9, 1.1};
  CHECK(passed(true, true, at_least));  // 1
  CHECK(passed(true, false, at_least));
  CHECK_FALSE(passed(false, true, at_least));
  CHECK(passed(false, false, at_least));
  CHECK_FALSE(passed(true, false, at_most));
  CHECK(passed(false, true, at_most));
  CHECK_FALSE(passed(true, false, between));
  CHECK_FALSE(passed(false, true, between));
}

TEST_CASE("the table names paper, ours, difference and source") {
  const std::vector<ResultRow> rows = {FeasibleRow(), InfeasibleRow()};
  std::vector<Expectation> all = {Expect(Measure::kSamplesPerSecond, 40, 40), Expect(Measure::kFeasible, 0, 0)};
  all[0].where.strategy = "pooch";
  all[0].why = "another card";
  all[1].where.strategy = "in-core";
  all[1].required = true;
  const std::string text = ExpectationTable(Judge(rows, all));
  CHECK(Contains(text, "a paper\n"));
  CHECK(Contains(text, "40.0/s"));
  CHECK(Contains(text, "50.0/s"));
  CHECK(Contains(text, "+25.0 %"));
  CHECK(Contains(text, "why: another card"));
  CHECK(Contains(text, "equal      yes\n"));
  CHECK(ExpectationTable({}) == "");
}

TEST_CASE("many rows are summed up, exceptions to an order are listed") {
  std::vector<ResultRow> rows;
  for (int i = 0; i < 5; ++i) {
    ResultRow row = FeasibleRow();
    row.memory_limit = (10 + i) * kGB;
    row.times.step = i == 4 ? 4 * kSecond : 2 * kSecond;  // 50/s, the last one 25/s
    rows.push_back(row);
  }
  const std::vector<Expectation> all = {
      Expect(Measure::kSamplesPerSecond, 40, std::numeric_limits<double>::infinity())};
  const std::string text = ExpectationTable(Judge(rows, all));
  CHECK(Contains(text, ">= 40.0/s"));
  CHECK(Contains(text, "25.0/s to 50.0/s"));
  CHECK(Contains(text, "1 of 5 outside"));
  CHECK(Contains(text, "14.0 GB"));        // the exception
  CHECK_FALSE(Contains(text, "13.0 GB"));  // none of the others
}

TEST_CASE("verdicts as CSV") {
  const std::vector<ResultRow> rows = {FeasibleRow()};
  std::vector<Expectation> all = {Expect(Measure::kSamplesPerSecond, 40, std::numeric_limits<double>::infinity())};
  all[0].within = 0;
  const std::string text = ExpectationCsv(Judge(rows, all));
  CHECK(Contains(text, "\ndemo,net,100,box,16000000000,pooch,samples_per_second,40,,50,0,1,1,a paper,\n"));
}

}  // namespace
}  // namespace spillway
