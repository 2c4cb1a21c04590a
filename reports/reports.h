// What a run is shown as: all reports by name, and the functions that make them, a file each.
#ifndef SPILLWAY_REPORTS_REPORTS_H_
#define SPILLWAY_REPORTS_REPORTS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/machine/machine.h"
#include "model/cost/cost_model.h"
#include "reports/rows/result.h"
#include "sim/engine/simulate.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/plan.h"

namespace spillway {

using TextSink = std::function<void(std::string_view piece)>;  // takes a text piece by piece

// Exactly one of the three functions is set: a report is about a whole run or about one feasible row; of the latter one
// that may be long comes in pieces.
struct Report {
  const char* name;
  const char* description;
  // Where `run --out` puts it, relative to the folder; {} stands for ResultRow::point. Empty: console only.
  const char* file;
  std::string (*of_run)(const ResultSet& results);
  std::string (*of_point)(const PointDetail& point);
  void (*in_pieces)(const PointDetail& point, const TextSink& sink);
};
const std::vector<Report>& Reports();

// The functions of the table, a file each unless they are a line long. Of a run:
//
//   ResultTable   the table a user reads: one block per scenario, network, machine and memory limit. Figures of one block
//                 share a unit of time, named in the header. A row that is not feasible shows why. The columns are
//                 explained below the last block.
//   ResultCsv     the contract that scripts rely on: a header and one line per row; nothing where there is no figure. Its
//                 columns: reports/rows/result_columns.h.
//   ResultJson    what the CSV holds, and the memory by class, the expectations, how the search ended, what the strategies
//                 are and what would help. The figures of a row that is not feasible are null. Times are seconds.
//                 {"format": "spillway-results", "version": 1,
//                  "results": [{...one object per row, keys as the columns of results.csv...}], "expectations": [...],
//                  "columns": {...}, "strategies": [...], "what_helps": [...]}      reports/README.md
#define REPORT_OF_RUN(NAME, DESCRIPTION, PATH, MAKE) std::string MAKE(const ResultSet& results);
#define REPORT_OF_POINT(NAME, DESCRIPTION, PATH, MAKE) std::string MAKE(const PointDetail& point);
#define REPORT_IN_PIECES(NAME, DESCRIPTION, PATH, MAKE) void MAKE(const PointDetail& point, const TextSink& sink);
#include "reports/table.inc"
#undef REPORT_OF_RUN
#undef REPORT_OF_POINT
#undef REPORT_IN_PIECES

// Whoever changes the meaning of a key of results.json or takes one away raises the version.
constexpr const char* kResultsFormat = "spillway-results";
constexpr int kResultsVersion = 1;

// Report::file with the point put in.
std::string ReportFile(const Report& report, const std::string& point);

// Three significant digits without an exponent: 3280, 328, 32.8, 3.28, 0.328.
std::string ShortNumber(double value);
std::string Percent(double fraction);                 // "12 %", "-3 %"
std::string ClassesText(const ClassCounts& classes);  // "66/12/27"

// What a row whose plan accumulates computes: "accumulate at batch 64: 2 parts of 32 samples", and whether that changes the
// numbers. "" of any other row.
std::string AccumulateText(const ResultRow& row);

std::string ResultCsvHeader();  // the names of ResultCsv's columns, without the end of the line

// Exact: nanoseconds as seconds with nine digits.
std::string SecondsText(Nanos time);
// RFC 4180: quoted where a comma, a quote or a line break makes it necessary.
std::string CsvField(std::string_view text);

// Two machines side by side: who wins, and what the other one spends its time on instead. One line per network, batch
// and strategy, and one for the best strategy of each machine.
std::string CompareTable(const ResultSet& results, const std::string& machine_a, const std::string& machine_b);

// What would help each place that was asked about, a line each; "" without any. REQUIRES: links were asked about; `rows`
// are those that the places name.
std::string WhatHelpsTable(const std::vector<WhatHelps>& places, const std::vector<ResultRow>& rows);

// What takes the slower row longer: the largest difference among compute, recomputation and the stalls, as text
// ("spends 310 ms more recomputing"). Empty when nothing is longer.
std::string WhySlower(const ResultRow& slower, const ResultRow& faster);

// A timeline for chrome://tracing and Perfetto: reports/trace/trace.h. Live device memory over time: time_ns,live_bytes, one line per change.
std::string MemoryCsv(const Timeline& timeline);

// ---- A step, a program or a plan as JSON, so that planners and plots can be written in other languages. The format is
// described in reports/dump/README.md; whoever changes the meaning of a key or takes one away raises the version.
//
// Times are whole nanoseconds, sizes bytes, ids indices into the list that they name.

constexpr int kDumpVersion = 1;

// What is dumped, as results name it.
struct DumpedPoint {
  std::string network;
  std::string machine;
  Bytes capacity = 0;  // device memory to plan with
};

// Every op with its work and its cost under the cost model, every tensor with its bytes and what copying it takes.
std::string StepJson(const TrainingStep& step, const CostModel& costs, const DumpedPoint& point);

// Buffers, streams and instructions of what was simulated. `evaluation` is feasible and has its timeline.
std::string ProgramJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                        const CostModel& costs, const DumpedPoint& point);

// The decisions with everything that plan files imply, by name and by id.
std::string PlanJson(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_REPORTS_H_
