// How rows stand among others: reference, best, and what should not have been faster.
#include "reports/rows/standing.h"

#include <catch2/catch.hpp>

#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "tests/result_rows.h"
#include "tests/text.h"

namespace spillway {
namespace {

ResultRow Row(const char* strategy, int choices, Nanos milliseconds) {
  ResultRow row = FeasibleRow();
  row.strategy = strategy;
  row.grouping.choices = choices;
  row.times.step = milliseconds * kMillisecond;
  row.grouping.beside_link = row.machine;
  row.grouping.link_rate = 10;
  return row;
}

std::vector<const ResultRow*> BeatenBy(const std::vector<ResultRow>& rows) {
  std::vector<const ResultRow*> beaten_by;
  for (const Standing& standing : Standings(rows)) beaten_by.push_back(standing.beaten_by);
  return beaten_by;
}

TEST_CASE("references and the best are those of the place, for rows that do not run too") {
  ResultRow elsewhere = InCoreRow();
  elsewhere.machine = "crate";
  const std::vector<ResultRow> rows = {InCoreRow(), FeasibleRow(), InfeasibleRow(), elsewhere};
  const std::vector<Standing> standings = Standings(rows);
  for (const std::size_t i : {0, 1, 2}) CHECK(standings[i].reference == &rows[0]);
  CHECK(standings[3].reference == &rows[3]);
  CHECK(standings[1].best == &rows[1]);  // batch 100; the in-core row is of batch 64
  CHECK(standings[2].best == &rows[1]);
}

TEST_CASE("a strategy that a simpler one beats says so, the fastest of them") {
  const std::vector<ResultRow> rows = {Row("swap-all", 0, 900), Row("swap-opt", 1, 950), Row("pooch", 2, 1000),
                                       Row("pooch-released", 2, 800)};
  const auto beaten_by = BeatenBy(rows);
  CHECK(beaten_by == std::vector<const ResultRow*>{nullptr, &rows[0], &rows[0], nullptr});
  CHECK(BeatenText(rows[2], rows[0]) == "pooch at batch 100: 100 images/s, 111 by swap-all");
}

TEST_CASE("a simpler strategy on another runtime beats nobody: the runtime is what differs") {
  std::vector<ResultRow> rows = {Row("in-core", 0, 500), Row("pooch", 2, 1000)};
  rows[0].plan.runtime = "arena";
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{nullptr, nullptr});
  rows[0].plan.runtime = "pooch";
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{nullptr, &rows[0]});
  // Two runtimes that a scenario made up have no name of their own in the column.
  rows = {Row("swap-all+quick", 0, 500), Row("pooch+slow", 2, 1000), Row("swap-opt+slow", 1, 900)};
  for (ResultRow& row : rows) row.plan.runtime = "own";
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{nullptr, &rows[2], nullptr});
  CHECK(Standings(rows)[1].best == &rows[0]);  // which is the best of the place all the same
}

TEST_CASE("what a framework unrolls is measured against in-core training of the same options") {
  std::vector<ResultRow> rows = {Row("in-core", 0, 500), Row("in-core", 0, 800), Row("pooch", 2, 1000)};
  rows[0].grouping.options = "torch";
  rows[1].grouping.options = rows[2].grouping.options = "chainer";
  CHECK(Standings(rows)[0].reference == &rows[0]);
  CHECK(Standings(rows)[1].reference == &rows[1]);
  CHECK(Standings(rows)[2].reference == &rows[1]);
  rows[2].network = "net+448x224";  // whatever its image size
  CHECK(Standings(rows)[2].reference == &rows[1]);
}

TEST_CASE("within a percent nobody is beaten") {
  const std::vector<ResultRow> rows = {Row("swap-all", 0, 1000), Row("pooch", 2, 1009), Row("swap-opt", 1, 1011)};
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{nullptr, nullptr, &rows[0]});
}

TEST_CASE("a row that is slower than with less memory says so, whatever the order of rows") {
  std::vector<ResultRow> rows = {Row("pooch", 2, 900), Row("pooch", 2, 1000), Row("pooch", 2, 700)};
  rows[0].memory_limit = 10 * kGB;
  rows[1].memory_limit = 11 * kGB;
  rows[2].memory_limit = 9 * kGB;
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{&rows[2], &rows[2], nullptr});
  CHECK(BeatenText(rows[1], rows[2]) == "pooch at batch 100: 100 images/s, 143 with 9.00 GB");
}

TEST_CASE("a row that is slower than on a slower link says so; other machines are no such link") {
  std::vector<ResultRow> rows = {Row("pooch", 2, 900), Row("pooch", 2, 1000), Row("pooch", 2, 10)};
  rows[0].machine = "box+link=5GB/s";
  rows[0].grouping.link_rate = 5;
  rows[2].machine = rows[2].grouping.beside_link = "crate";
  rows[2].grouping.link_rate = 1;
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{nullptr, &rows[0], nullptr});
  CHECK(BeatenText(rows[1], rows[0]) == "pooch at batch 100: 100 images/s, 111 on box+link=5GB/s");
}

TEST_CASE("rows with other numbers are named so and never best, beat nobody, and need no best beside them") {
  std::vector<ResultRow> rows = {Row("swap-all", 0, 900), Row("accumulate", 0, 500), Row("accumulate:parts=4", 0, 400),
                                 Row("pooch", 2, 800)};
  rows[1].plan.numbers = "changed";
  rows[2].plan.numbers = "redrawn";
  for (const Standing& standing : Standings(rows)) {
    CHECK(standing.best == &rows[3]);
    CHECK(standing.beaten_by == nullptr);
  }
  CHECK(StandingWord(rows[1], &rows[3]) == "changed");
  CHECK(StandingWord(rows[2], &rows[3]) == "redrawn");
  CHECK(StandingWord(rows[3], &rows[3]) == "best");
  rows[3].feasible = rows[0].feasible = false;
  CHECK(Standings(rows)[1].best == nullptr);
  CHECK(StandingWord(rows[1], nullptr) == "changed");
  CHECK(Contains(ResultTable({rows, {}}), "no such row is best"));
}

TEST_CASE("of two machines the fastest is one with the numbers of the whole batch") {
  std::vector<ResultRow> rows = {Row("pooch", 2, 900), Row("accumulate", 0, 500), Row("pooch", 2, 800),
                                 Row("accumulate", 0, 400)};
  rows[1].plan.numbers = rows[3].plan.numbers = "changed";
  rows[2].machine = rows[3].machine = "crate";
  CHECK(Contains(CompareTable({rows, {}}, "box", "crate"), "fastest: pooch "));
  rows[1].plan.numbers = rows[3].plan.numbers = "same";
  CHECK(Contains(CompareTable({rows, {}}, "box", "crate"), "fastest: accumulate "));
}

TEST_CASE("plans from files are not held against strategies, and what does not run beats nobody") {
  std::vector<ResultRow> rows = {Row("swap-all", 0, 500), Row("plan", -1, 1000), Row("pooch", 2, 1000)};
  rows[0].feasible = false;
  CHECK(BeatenBy(rows) == std::vector<const ResultRow*>{nullptr, nullptr, nullptr});
}

}  // namespace
}  // namespace spillway
