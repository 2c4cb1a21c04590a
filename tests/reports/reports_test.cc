#include "reports/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reports/rows/result_columns.h"
#include "reports/rows/standing.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"
#include "reports/tables/validation.h"
#include "reports/trace/trace.h"
#include "sim/strategies/strategies.h"
#include "tests/golden.h"
#include "tests/result_rows.h"
#include "tests/text.h"

namespace spillway {
namespace {

TEST_CASE("results.csv has the columns of the contract") {
  const auto lines = LinesOf(ResultCsv({}));
  REQUIRE(lines.size() == 1);
  const std::string contract =
      "scenario,network,batch,precision,devices,machine,memory_limit_bytes,memory_model,strategy,feasible,reason,"
      "step_time_s,step_time_low_s,step_time_high_s,samples_per_second,lower_bound_s,peak_bytes,live_peak_bytes,"
      "host_peak_bytes,keep,swap,recompute,bytes_out,bytes_in,recompute_time_s,stall_out_s,stall_in_s,evaluations,"
      "cost_source,point,link,runtime,emulation,compute_time_s,stall_host_s,other_s,gap,loss,measured_share,"
      "published_share,assumed_share,beaten_by,widest_bound_s,accumulate,numbers,mean_bytes,network_wide_bytes,below_"
      "in_core,"
      "usual_compute_s,beyond_share,roofline_share";
  CHECK(lines[0].substr(0, contract.size()) == contract);
}

TEST_CASE("a feasible row has every figure, times as exact seconds") {
  const auto lines = LinesOf(ResultCsv({{FeasibleRow()}, {}}));
  const std::string figures =
      "demo,net,100,fp32,1,box,16000000000,pool,pooch,1,,2.000000000,1.616000000,2.384000000,50.0000,1.600000000,"
      "15000000000,14000000000,3000000000,66,12,27,1000,2000,0.100000000,0.000000005,0.250000000,42,published,"
      "net_b100_box_pooch,12500000000,pooch,,1.700000000,0.000000000,0.049999995,0.2500,0.2000,0.1000,0.7000,0.2000,,1."
      "500000000,1,same,6000000000,24000000000";
  CHECK(lines.at(1).substr(0, figures.size()) == figures);
}

TEST_CASE("a row that is not feasible has a reason and no figures") {
  const auto lines = LinesOf(ResultCsv({{InfeasibleRow()}, {}}));
  const std::string figures =
      "demo,net,100,fp32,1,box,16000000000,arena,in-core,0,\"out_of_memory: needs 20.9 GB, \"\"too much\"\"\""
      ",,,,,,,,,,,,,,,,,,,net_b100_box_in-core,12500000000,pooch,,,,,,,,,,,,,,,24000000000";
  CHECK(lines.at(1).substr(0, figures.size()) == figures);
  // A comma between columns, and one inside the quotes.
  const auto columns = static_cast<std::ptrdiff_t>(ResultColumns().size());
  CHECK(std::count(lines[0].begin(), lines[0].end(), ',') == columns - 1);
  CHECK(std::count(lines[1].begin(), lines[1].end(), ',') == columns);
}

TEST_CASE("CSV fields are quoted where they must be") {
  CHECK(CsvField("plain text") == "plain text");
  CHECK(CsvField("a,b") == "\"a,b\"");
  CHECK(CsvField("a\"b") == "\"a\"\"b\"");
  CHECK(CsvField("a\nb") == "\"a\nb\"");
  CHECK(SecondsText(-1) == "-0.000000001");
}

TEST_CASE("JSON holds what CSV holds, null where there is no figure") {
  const std::string json = ResultJson({{FeasibleRow(), InfeasibleRow()}, {}});
  CHECK(Contains(json, "\"step_time_s\": 2.0"));
  CHECK(Contains(json, "\"keep\": 66"));
  CHECK(Contains(json, "\"feature_map\": 7"));
  CHECK(Contains(json, "\"step_time_s\": null"));
  CHECK(Contains(json, "\\\"too much\\\""));
  const auto document = nlohmann::json::parse(json);
  for (const ResultColumn& column : ResultColumns()) {
    CHECK(document.at("results").at(0).contains(column.name));
    CHECK(document.at("columns").at(column.name) == column.meaning);
  }
}

TEST_CASE("JSON says what each strategy of the rows is, as the table of strategies has it") {
  std::vector<ResultRow> rows;
  const std::vector<std::pair<std::string, std::string>> named = {{"pooch", "pooch"},
                                                                  {"pooch:rungs=4@box", "pooch"},
                                                                  {"pooch-keep-passed+arena", "pooch-keep-passed"},
                                                                  {"vdnn++", "vdnn++"},
                                                                  {"vdnn+++arena", "vdnn++"},
                                                                  {"swap-all (mine.yaml)", "swap-all"},
                                                                  {"plan (mine.yaml)", ""},
                                                                  {"poochy", ""}};
  for (const auto& [label, name] : named) {
    rows.push_back(FeasibleRow());
    rows.back().strategy = label;
  }
  rows.push_back(rows.front());
  std::vector<std::pair<std::string, std::string>> told, wanted;
  const auto document = nlohmann::json::parse(ResultJson({rows, {}}));
  for (const auto& one : document.at("strategies")) {
    told.emplace_back(one.at("strategy"), one.at("name"));
    CHECK(one.at("description") == StrategyByName(one.at("name")).description);
    CHECK(one.at("source") == StrategyByName(one.at("name")).paper);
  }
  for (const auto& one : named) {
    if (!one.second.empty()) wanted.push_back(one);
  }
  CHECK(told == wanted);
}

TEST_CASE("what a strategy is said to be stands by itself") {
  for (const Strategy& strategy : Strategies()) {
    INFO(strategy.name);
    CHECK_FALSE(std::string_view(strategy.description).starts_with("the same"));
    CHECK_FALSE(std::string_view(strategy.description).ends_with("."));
  }
}

TEST_CASE("JSON has what would help by point, null for what does not run, links only where they were asked about") {
  ResultSet results{{InfeasibleRow(), FeasibleRow()}, {}};
  results.rows[1].point = "here";
  results.helps.push_back({.row = 1, .more = 4 * kGB, .memory = {kSecond, 0}});
  results.helps.push_back(results.helps[0]);
  WhatHelps& links = results.helps[1];
  links.links = true;
  links.even_rate = 8;
  links.faster_rate = 9;
  links.faster = {kSecond / 2, kSecond / 4};
  const auto helps = nlohmann::json::parse(ResultJson(results)).at("what_helps");
  CHECK(helps.at(0) == nlohmann::json::parse(
                           R"({"point": "here", "more_bytes": 4000000000, "memory_step_time_s": 1.0,
                               "memory_lower_bound_s": null})"));
  CHECK(helps.at(1).at("link") == 8e9);
  CHECK(helps.at(1).at("link_step_time_s").is_null());
  CHECK(helps.at(1).at("faster_link_lower_bound_s") == 0.25);
  CHECK(helps.at(1).at("copies_free_from").is_null());
}

TEST_CASE("the references of columns in the README are those of the tables") {
  CHECK(PageDifference("reports/README.md",
                       PageWithSections("reports/README.md", {{"columns", ResultColumnPage()},
                                                              {"validation", ValidationColumnPage()}})) == "");
}

TEST_CASE("columns and further keys are numbered from one on, each once, and have a meaning") {
  int csv = 0, json = 0;
  for (const ResultColumn& key : ResultKeys()) {
    INFO(key.name);
    CHECK(key.place.number == (key.place.csv ? ++csv : ++json));
    CHECK(std::string_view(key.meaning).size() > 3);
  }
  CHECK(static_cast<int>(ResultColumns().size()) == csv);
}

TEST_CASE("a row beaten by less says so under its block, the fourth and later ones by number") {
  std::vector<ResultRow> rows;
  for (const char* const name : {"swap-all", "a", "b", "c", "d", "e"}) {
    rows.push_back(FeasibleRow());
    rows.back().strategy = name;
    rows.back().grouping.choices = rows.size() == 1 ? 0 : 2;
    rows.back().times.step = rows.size() == 1 ? kSecond : 2 * kSecond;
  }
  const std::string text = ResultTable({rows, {}});
  CHECK(Contains(text, "unexpectedly slow: a at batch 100: 50.0 images/s, 100 by swap-all\n"));
  CHECK(Contains(text, "unexpectedly slow: c at batch 100"));
  CHECK(!Contains(text, "unexpectedly slow: d"));
  CHECK(Contains(text, "and 2 more such rows (column beaten_by of results.csv)\n"));
}

TEST_CASE("intervals are printed with the digits that they were left") {
  ResultRow row = FeasibleRow();
  row.times.low = 1'340 * kMillisecond;
  row.times.high = 2'020 * kMillisecond;
  CHECK(Contains(ResultTable({{row}, {}}), " 1.34-2.02 "));
  row.times.low = 300 * kMillisecond;
  row.times.high = 5'100 * kMillisecond;  // 4.8 s wide: tenths
  CHECK(Contains(ResultTable({{row}, {}}), " 0.3-5.1 "));
  row.times.low = row.times.high = 2 * kSecond;
  CHECK(Contains(ResultTable({{row}, {}}), "  2.00 a  25 % m"));
}

TEST_CASE("JSON survives bytes that are not UTF-8") {
  ResultRow row = FeasibleRow();
  row.scenario = "\xff";
  row.parameters = {{"rungs", "4"}, {"keep_passed", "true"}};
  CHECK(Contains(ResultJson({{row}, {}}), "\"parameters\": {\n    \"rungs\": 4,\n    \"keep_passed\": true\n   }"));
  CHECK(Contains(ResultJson({{row}, {}}), "\"bound_by\": \"general bounds\""));
  CHECK(Contains(ResultJson({{row}, {}}), "\"scenario\": \"\xEF\xBF\xBD\""));
}

TEST_CASE("text tables align") {
  TextTable table({"<name", "n"});
  table.Row({"a", "100"});
  table.Row({"long\xC3\xA9", "7"});  // five characters, six bytes
  table.RowThenText({"b"}, "text");
  table.Line("a line that widens nothing");
  CHECK(table.Text() ==
        "name     n\n"
        "a      100\n"
        "long\xC3\xA9    7\n"
        "b      text\n"
        "a line that widens nothing\n");
}

TEST_CASE("numbers have three digits") {
  CHECK(ShortNumber(0) == "0");
  CHECK(ShortNumber(0.0714) == "0.071");
  CHECK(ShortNumber(0.9996) == "1.00");
  CHECK(ShortNumber(3.276) == "3.28");
  CHECK(ShortNumber(9.996) == "10.0");
  CHECK(ShortNumber(99.96) == "100");
  CHECK(ShortNumber(3276.4) == "3276");
  CHECK(Percent(-0.001) == "0 %");
  CHECK(Percent(0.125) == "13 %");
}

TEST_CASE("loss is of every row that runs, of its own step, and never negative for one that beats in-core training") {
  ResultRow row = FeasibleRow();  // ops of 1.6 s in a step of 2 s, 0.1 s computed again
  CHECK(row.Loss() == Approx(0.2));
  row.times.step = row.times.compute;
  row.times.recompute = 0;
  CHECK(row.Loss() == 0);
  CHECK(InfeasibleRow().Loss() == 0);
  ResultRow faster = FeasibleRow(), in_core = InCoreRow();
  faster.batch = 1000;  // 500 samples/s
  CHECK(BelowInCore(in_core, faster) < 0);
  const auto lines = LinesOf(ResultCsv({{faster}, {}}));  // no in-core row beside it
  CHECK(Contains(lines.at(1), ",0.2000,0.1000,0.7000,0.2000,"));
  CHECK(Contains(ResultTable({{faster, in_core}, {}}), "20 %  best"));
}

TEST_CASE("a row's interval has the marks of what its step rests on, one line says what they are") {
  ResultRow row = FeasibleRow(), sure = FeasibleRow();
  row.provenance.shares = {.measured = 0, .published = 0.4, .assumed = 0.6, .beyond = 0.05, .roofline = 0.51};
  sure.provenance.shares = {.measured = 1, .assumed = 0.049, .beyond = 0, .roofline = 0};
  sure.strategy = "sure";
  CHECK(SourceMarks(row) == "AbP");
  CHECK(SourceMarks(sure).empty());
  CHECK(SourceMarks(InfeasibleRow()).empty());
  const std::string text = ResultTable({{row, sure}, {}});
  CHECK(Contains(text, "  1.62-2.38 AbP  25 % m"));
  CHECK(Contains(text, "  1.62-2.38      25 % m"));
  CHECK(Contains(text,
                 "\na, A: assumed costs (up to 60 %); b: kernel models beyond their data (up to 5 %); p, P: full peak "
                 "and bandwidth, for lack of laws (up to 51 %)\n"));
  CHECK_FALSE(Contains(ResultTable({{sure}, {}}), "assumed costs"));
  row.machine = "box";
  CHECK(Contains(CompareTable({{row}, {}}, "box", "crate"), " 50.0 AbP "));
  CHECK(Contains(CompareTable({{row}, {}}, "box", "crate"), "assumed costs (up to 60 %)"));
}

TEST_CASE("what algorithms and workspace bring is the sum of op times as usual less the chosen one") {
  ResultRow row = FeasibleRow();
  row.times.usual = 1'750 * kMillisecond;  // chosen: 1.7 s - 0.1 s computed again
  const std::string note =
      "pooch at batch 100: algorithms and workspace bring 150 ms: ops take 1.60 s, 1.75 s as usual";
  CHECK(AlgorithmsText(row) == note);
  CHECK(Contains(ResultTable({{row}, {}}), "\n" + note + "\n"));
  row.times.usual = 1'619 * kMillisecond;  // below a hundredth of the step
  CHECK(AlgorithmsText(row).empty());
  row.times.usual = 1'500 * kMillisecond;
  CHECK(AlgorithmsText(row).empty());
  row.times.usual = 1'750 * kMillisecond;
  const std::string many = ResultTable({{row, row, row, row, row}, {}});
  CHECK(Contains(many, "and 2 more such rows (column usual_compute_s of results.csv)\n"));
}

TEST_CASE("the table shows loss, gap and reasons") {
  // Ops of 1.6 s in a step of 2 s: loss 20 %. 2 s over a bound of 1.6 s: 25 % above it.
  const std::string text = ResultTable({{InCoreRow(), InfeasibleRow(), FeasibleRow()}, {}});
  const auto lines = LinesOf(text);
  CHECK(lines.at(0) == "demo: net (fp32) on box, 16.0 GB of device memory, times in s");
  CHECK(lines.at(3) == "  100  in-core   does not run: out_of_memory: needs 20.9 GB, \"too much\"");
  CHECK(lines.at(4) ==
        "  100  pooch         50.0   20 %  best  2.00  1.62-2.38 a  25 % m     15.0  66/12/27  0.100  0.000  0.250     "
        "0");
  for (const std::string& line : lines) CHECK(DisplayWidth(line) <= 120);
}

TEST_CASE("bounds over more than the usual algorithms are told of, once for each strategy") {
  ResultRow usual = InCoreRow(), named = FeasibleRow();
  usual.bounds.scope = Scope{.copy_streams = 2};
  named.bounds.scope = Scope{AlgorithmScope::kAny, 2 * kGB, 1};
  named.strategy = "pooch (p.yaml)";
  const std::string text = ResultTable({{usual, InfeasibleRow(), named, named}, {}});
  const std::string line =
      "\ngap of pooch (p.yaml): the lower bound holds for plans with any algorithm, workspaces up to 2.00 GB, 1 copy "
      "stream\n";
  REQUIRE(Contains(text, line));
  CHECK_FALSE(Contains(Replaced(text, line, ""), "gap of "));
  CHECK(Contains(ResultJson({{named}, {}}),
                 "\"bound_scope\": \"any algorithm, workspaces up to 2.00 GB, 1 copy stream\""));
  CHECK(Contains(ResultJson({{InfeasibleRow()}, {}}), "\"bound_scope\": null"));
}

TEST_CASE("wider bounds are told of in one line, however many strategies and scopes there are") {
  ResultSet results;
  for (int k = 0; k < 5; ++k) {
    ResultRow row = FeasibleRow();
    row.strategy = fmt::format("s{}", k);
    row.bounds.scope = Scope{AlgorithmScope::kAny, 2 * kGB, 1};
    results.rows.push_back(row);
  }
  const auto line_of = [&results] {
    std::vector<std::string> lines = LinesOf(ResultTable(results));
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("gap of "); });
    REQUIRE(lines.size() == 1);
    return lines.front();
  };
  CHECK(
      line_of() ==
      "gap of s0, s1, s2 and 2 others: the lower bound holds for plans with any algorithm, workspaces up to 2.00 GB, 1 "
      "copy stream");
  results.rows[1].machine = "crate";  // another block
  results.rows[2].bounds.scope.copy_streams = 2;
  results.rows[4].bounds.scope = {};
  CHECK(line_of() == "gap of s0, s1, s2, s3: the lower bound holds for plans of 2 kinds (bound_scope in results.json)");
}

TEST_CASE("a new block begins with another machine") {
  ResultRow other = FeasibleRow();
  other.machine = "crate";
  other.times.step = 5 * kMillisecond;
  const std::string text = ResultTable({{FeasibleRow(), other}, {}});
  CHECK(Contains(text, "on box, 16.0 GB of device memory, times in s\n"));
  CHECK(Contains(text, "on crate, 16.0 GB of device memory, times in ms\n"));
}

TEST_CASE("the in-core reference is the fastest in-core row of network and machine, on any runtime") {
  ResultRow small = InCoreRow();
  small.batch = 32;  // 32/s, half of InCoreRow
  ResultRow elsewhere = InCoreRow();
  elsewhere.machine = "crate";
  elsewhere.batch = 90;
  ResultRow slow_and_large = InCoreRow();
  slow_and_large.batch = 90;
  slow_and_large.times.step = 2 * kSecond;  // 45/s: more data, less of it per second
  slow_and_large.strategy = "in-core+slow";
  ResultRow pooch_on_slow = FeasibleRow();
  pooch_on_slow.strategy = "pooch+slow";
  const std::vector<ResultRow> rows = {FeasibleRow(), InCoreRow(),    small,          elsewhere,
                                       pooch_on_slow, slow_and_large, InfeasibleRow()};
  CHECK(Standings(rows)[0].reference == &rows[1]);
  CHECK(Standings(rows)[4].reference == &rows[1]);  // its own runtime is no excuse
  const std::vector<ResultRow> other_runtime = {FeasibleRow(), small, slow_and_large};
  CHECK(Standings(other_runtime)[0].reference == &other_runtime[2]);  // 45/s before 32/s
  const std::vector<ResultRow> without = {FeasibleRow(), InfeasibleRow()};
  CHECK(Standings(without)[0].reference == nullptr);
}

TEST_CASE("below in-core compares input elements, not samples") {
  // Twice the elements per sample at half the rate is not below.
  ResultRow reference = InCoreRow();  // 64/s x 10 elements
  ResultRow row = FeasibleRow();      // 50/s
  row.grouping.sample_elements = 20;
  row.batch = 64;  // 32/s x 20 elements
  CHECK(BelowInCore(reference, row) == Approx(0));
}

TEST_CASE("rows that the cost model cannot tell from the best are marked") {
  ResultRow best = FeasibleRow(), close = FeasibleRow(), slow = FeasibleRow();
  best.times.draws = {100, 110, 90, 105};
  close.strategy = "swap-opt";
  close.times.step = best.times.step + 1;
  close.times.draws = {101, 109, 91, 104};  // faster in two of four draws
  slow.strategy = "swap-all";
  slow.times.step = 2 * best.times.step;
  slow.times.draws = {200, 210, 190, 205};
  const auto lines = LinesOf(ResultTable({{best, close, slow}, {}}));
  const auto line_of = [&](const std::string& name) {
    return *std::find_if(lines.begin(), lines.end(),
                         [&](const std::string& l) { return Contains(l, " " + name + " "); });
  };
  CHECK(Contains(line_of("pooch"), " best "));
  CHECK(Contains(line_of("swap-opt"), " = "));
  CHECK(!Contains(line_of("swap-all"), " = "));
  CHECK(!Contains(line_of("swap-all"), " best "));
}

TEST_CASE("why the slower machine is slower: the largest difference") {
  ResultRow slow = FeasibleRow();  // swap-in stall 250 ms, recomputation 100 ms
  ResultRow fast = FeasibleRow();
  fast.times.stall_in = 0;
  CHECK(WhySlower(slow, fast) == "spends 250 ms more waiting for swap-ins");
  fast.times.recompute = 0;
  slow.times.recompute = 300 * kMillisecond;
  CHECK(WhySlower(slow, fast) == "spends 300 ms more recomputing");
  CHECK(WhySlower(fast, fast) == "");
}

TEST_CASE("side by side") {
  ResultRow b = FeasibleRow();
  b.machine = "crate";
  b.times.step = kSecond;
  b.times.stall_in = 0;
  ResultRow b_in_core = b;
  b_in_core.strategy = "in-core";
  const std::string text = CompareTable({{InfeasibleRow(), FeasibleRow(), b_in_core, b}, {}}, "box", "crate");
  CHECK(Contains(text, "does not run"));
  CHECK(Contains(text, "crate runs\n"));
  CHECK(Contains(text, "crate by 2.00x: box spends 250 ms more waiting for swap-ins"));
  CHECK(Contains(text, "fastest: pooch | in-core"));
}

TEST_CASE("the memory curve as CSV") {
  Timeline timeline;
  timeline.memory = {{0, 512}, {7, 1024}, {9, 0}};
  CHECK(MemoryCsv(timeline) == "time_ns,live_bytes\n0,512\n7,1024\n9,0\n");
}

TEST_CASE("reports are named once, shown for a run or a point, and have their own files") {
  std::vector<std::string> names;
  for (const Report& report : Reports()) {
    names.emplace_back(report.name);
    const bool of_point = report.of_point != nullptr || report.in_pieces != nullptr;
    CHECK((report.of_point == nullptr || report.in_pieces == nullptr));
    CHECK((report.of_run != nullptr) != of_point);
    CHECK(of_point == Contains(report.file, "{}"));
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  const auto plan =
      std::find_if(Reports().begin(), Reports().end(), [](const Report& r) { return std::string(r.name) == "plan"; });
  REQUIRE(plan != Reports().end());
  CHECK(ReportFile(*plan, "p") == "plans/p.yaml");
}

}  // namespace
}  // namespace spillway
