// Tables for the console, of rows, plans and verdicts, and the words that they share with other reports. ResultTable,
// ResultCsv and ResultJson are reports: reports/reports.h.
//
// Tested by reports_test, standing_test, what_helps_test, expectation_test, claims_table_test, cli_compare_test.
#ifndef SPILLWAY_REPORTS_TABLES_TABLES_H_
#define SPILLWAY_REPORTS_TABLES_TABLES_H_

#include <optional>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "reports/rows/expectation.h"
#include "reports/rows/result.h"
#include "sim/plan/plan.h"

namespace spillway {

// ---- Rows.

// Two machines side by side: who wins, and what the other one spends its time on instead. One line per network, batch
// and strategy, and one for the best strategy of each machine.
std::string CompareTable(const ResultSet& results, const std::string& machine_a, const std::string& machine_b);

// What would help each place that was asked about, a line each; "" without any. REQUIRES: links were asked about; `rows`
// are those that the places name.
std::string WhatHelpsTable(const std::vector<WhatHelps>& places, const std::vector<ResultRow>& rows);

std::string ResultCsvHeader();  // the names of ResultCsv's columns, without the end of the line

// ---- Two plans of one step beside each other.

struct PlanSide {
  const ResultRow& row;
  const Plan& plan;          // of a feasible row
  const TrainingStep& step;  // that the plan is of
};

// A table with a column for each side and the difference, then the maps that differ, the largest first: how large they
// are, what either does with them, what one copy out and in takes, what computing them again does. Steps of different
// batch parts have different maps: then it says so in their place.
std::string PlanDifference(const PlanSide& a, const PlanSide& b, const CostModel& costs);

// ---- Verdicts on expectations.

// Lines for the console. An expectation that selects more than three rows is summed up in one line, with the rows that
// fail a gate listed, and some of those outside a one-sided range. Empty text when there is nothing to judge.
std::string ExpectationTable(const std::vector<Verdict>& verdicts);

// For the ledger of claims: a line for each claim, of the first row that it selects, beside the range over the other
// rows. Rows that serve as a reference at a memory limit of their own are no part of that range. A single value holds
// where ours equals it to the digits published. "in 80 %": only the 80 % interval of ours reaches it. "NO": some row
// fails a gate, also of a claim that is not counted. The last line counts the claims that hold.
std::string ClaimsTable(const std::vector<Verdict>& verdicts);

// All verdicts as CSV: scenario,network,batch,machine,memory_limit_bytes,strategy,measure,paper_low,paper_high,ours,
// difference,gate,passed,source,why.
std::string ExpectationCsv(const std::vector<Verdict>& verdicts);

// ---- Words of rows.

std::string ClassesText(const ClassCounts& classes);  // "66/12/27"

// The parts of a row whose plan accumulates: "accumulate at batch 64: 2 parts of 32 samples", and whether they change the
// numbers. "" of any other row.
std::string AccumulateText(const ResultRow& row);

// What a row's step rests on, a letter for each that makes up 5 % of the step or more, a capital from half of it on: a assumed costs, b kernel models
// beyond their data, p kernels at the chip's full peak and bandwidth (SourceShares). "" of a row that does not run.
std::string SourceMarks(const ResultRow& row);
// A line that says what the marks of these rows mean, with the largest share of each; "" where no row has a mark.
std::string SourceLine(const std::vector<const ResultRow*>& rows);

// "best at batch 64: algorithms and workspace bring 30.0 ms: ops take 200 ms, 230 ms as usual": the sum of
// the op times as usual less that of the plan. "" where it is less than 1 % of the step.
std::string AlgorithmsText(const ResultRow& row);
// That the framework divides calls of the library, which do not take tensors so large; "": none.
std::string DividedText(const ResultRow& row);

// The cause of the slower row's time: the largest difference among compute, recomputation and the stalls, as text
// ("spends 310 ms more recomputing"). Empty when nothing is longer.
std::string WhySlower(const ResultRow& slower, const ResultRow& faster);

// "pooch at batch 640: 158 images/s, 301 with 9.50 GB". REQUIRES: `beaten_by` is the row's Standing::beaten_by.
std::string BeatenText(const ResultRow& row, const ResultRow& beaten_by);

// ---- Words of verdicts.

// "12.3 %", "195/s", "fits": a value of the measure with its unit.
std::string ValueText(Measure measure, double value);
// The same of a range; one end may be infinite (">= 1.00x").
std::string RangeText(Measure measure, double low, double high);
// How far ours is from the published figure: "inside", "equal", "+3.1 points", "-12.0 %", "differs"; "" where ours does
// not run.
std::string DifferenceText(const Verdict& verdict);
// The figure in a word or two: "below in-core", "over in-core b=128".
std::string MeasureText(const Expectation& expectation);

// ---- Words of feature maps.

// The class of a map by what is done in its gap (MapActions): keep where nothing is.
inline const char* GapClassName(const std::optional<GapAction>& action) {
  if (!action) return "keep";
  return *action == GapAction::kSwap ? "swap" : "recompute";
}

// Time of the forward kernels that write the map, run again with nothing else on the device.
inline Nanos ComputedAgain(const TrainingStep& step, const Uses& uses, TensorId map, const CostModel& costs) {
  Nanos again = 0;
  for (const OpId op : uses.writers[Index(map)]) again += costs.Kernel(RecomputationOf(step.ops[Index(op)])).time;
  return again;
}

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_TABLES_H_
