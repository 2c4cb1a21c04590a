#include "reports/rows/run_journal.h"

#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "reports/reports.h"
#include "reports/rows/result.h"
#include "tests/result_rows.h"

namespace spillway {
namespace {

std::vector<ResultRow> Rows() {
  ResultRow drawn = FeasibleRow();
  drawn.times.draws = {1, 2, std::numeric_limits<Nanos>::max()};
  drawn.times.stall_host = -3;
  drawn.bounds.scope = {AlgorithmScope::kAny, 2 * kGB, 1, kMiB};
  drawn.bounds.scope.tiles = {1, 2, 3};
  drawn.scenario = "two\nlines, \"quoted\" \x1b \xe2\x82\xac";
  return {drawn, InCoreRow(), InfeasibleRow(), ResultRow{}};
}

TEST_CASE("rows that were read again make the same reports") {
  ResultSet before, after;
  for (const ResultRow& row : Rows()) {
    const std::string line = JournalLine(JournalEntry{row, 0.125, {{"plans/a.yaml", "00ff"}}});
    CHECK(line.find('\n') == line.size() - 1);
    const std::optional<JournalEntry> entry = ReadJournalEntry(line);
    REQUIRE(entry);
    CHECK(entry->seconds == 0.125);
    CHECK(entry->files == std::vector<std::pair<std::string, std::string>>{{"plans/a.yaml", "00ff"}});
    CHECK(entry->row.times.draws == row.times.draws);
    CHECK(entry->row.bounds.scope == row.bounds.scope);
    CHECK(JournalLine(*entry) == line);
    before.rows.push_back(row);
    after.rows.push_back(entry->row);
  }
  CHECK(ResultCsv(after) == ResultCsv(before));
  CHECK(ResultJson(after) == ResultJson(before));
  CHECK(ResultTable(after) == ResultTable(before));
}

// Converts to anything: as many of them initialize an aggregate as it has fields.
struct AnyField {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <typename Aggregate, typename... Fields>
constexpr std::size_t FieldsOf() {
  if constexpr (requires { Aggregate{Fields{}..., AnyField{}}; }) {
    return FieldsOf<Aggregate, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}
static_assert(FieldsOf<StepAndBound>() == 2);

TEST_CASE("every field of a row is in the table, or a run that is gone on with would lose it") {
  // By struct, as a path within the row, "" for the row itself: the fields that the table names.
  std::map<std::string, std::set<std::string>> named;
  const auto name = [&named](const std::string& path) {
    std::string within;
    for (std::size_t begin = 0, dot = 0; dot != std::string::npos; begin = dot + 1) {
      dot = path.find('.', begin);
      named[within].insert(path.substr(begin, dot - begin));
      within = path.substr(0, dot);
    }
  };
#define ROW_FIELD(FIELD, KEY) name(#FIELD);
#define ROW_COLUMN(FIELD, KEY, ...) ROW_FIELD(FIELD, KEY)
#define ROW_FIGURE(...)
#include "reports/rows/row_fields.inc"
  const std::map<std::string, std::size_t> fields = {
      {"grouping", FieldsOf<RowGrouping>()},
      {"plan", FieldsOf<RowPlan>()},
      {"plan.classes", FieldsOf<ClassCounts>()},
      {"times", FieldsOf<RowTimes>()},
      {"memory", FieldsOf<RowMemory>()},
      {"bounds", FieldsOf<RowBounds>()},
      {"bounds.scope", FieldsOf<Scope>()},
      {"provenance", FieldsOf<RowProvenance>()},
      {"provenance.shares", FieldsOf<SourceShares>()},
      // A row has its identity as its base.
      {"", FieldsOf<RowIdentity>() + FieldsOf<ResultRow>() - 1},
  };
  for (const auto& [within, count] : fields) {
    INFO(within);
    CHECK(named[within].size() == count);
  }
  CHECK(named.size() == fields.size());
}

TEST_CASE("a line that is torn or lacks a field is none") {
  const std::string line = JournalLine(JournalEntry{FeasibleRow(), 1, {}});
  CHECK_FALSE(ReadJournalEntry(line.substr(0, line.size() / 2)));
  CHECK_FALSE(ReadJournalEntry(""));
  CHECK_FALSE(ReadJournalEntry("{}"));
  const std::size_t at = line.find("\"lower_bound\":");
  REQUIRE(at != std::string::npos);
  std::string other = line;
  CHECK_FALSE(ReadJournalEntry(other.replace(at, 13, "\"lower_bount\"")));
}

TEST_CASE("of a line of another version the files are known all the same") {
  using Files = std::vector<std::pair<std::string, std::string>>;
  const Files files{{"plans/a.yaml", "00ff"}, {"timelines/a.csv", "any"}};
  CHECK(ReadJournalFiles(JournalLine(JournalEntry{FeasibleRow(), 1, files})) == files);
  CHECK(ReadJournalFiles(R"({"line": 7, "files": [["plans/a.yaml", "00ff"], ["timelines/a.csv", "any"]]})") == files);
  for (const char* line : {"", "{}", "[1]", R"({"files": [["plans/a.yaml", "00ff"])", R"({"files": 3})"}) {
    CHECK(ReadJournalFiles(line).empty());
  }
}

TEST_CASE("the head says what run it is") {
  const JournalHead head{"0.1", "spillway run a.yaml", 20000, {{"the points", "0a"}, {"the machines", "0b"}}};
  const std::optional<JournalHead> read = ReadJournalHead(JournalLine(head));
  REQUIRE(read);
  CHECK(read->version == head.version);
  CHECK(read->command == head.command);
  CHECK(read->points == 20000);
  CHECK(read->digests == head.digests);
  CHECK_FALSE(ReadJournalHead(JournalLine(JournalEntry{FeasibleRow(), 1, {}})));
  CHECK_FALSE(ReadJournalHead("{\"spillway_run\":2,\"version\":\"\",\"command\":\"\",\"points\":1,\"digests\":[]}"));
}

}  // namespace
}  // namespace spillway
