// Verdicts on expectations as tables and CSV, and the words that the tables share.
//
// Tested by expectation_test and claims_table_test.
#ifndef SPILLWAY_REPORTS_TABLES_EXPECTATION_TABLE_H_
#define SPILLWAY_REPORTS_TABLES_EXPECTATION_TABLE_H_

#include <string>
#include <vector>

#include "reports/rows/expectation.h"

namespace spillway {

// Lines for the console. An expectation that selects more than three rows is summed up in one line, with the rows that
// fail a gate listed, and some of those outside a one-sided range. Empty text when there is nothing to judge.
std::string ExpectationTable(const std::vector<Verdict>& verdicts);

// For the ledger of claims: a line for each claim, of the first row that it selects, beside the range over the other
// rows. Rows that serve as a reference at a memory limit of their own are no part of that range. A single value holds
// where ours equals it to the digits published. "in 80 %": only the 80 % interval of ours reaches it. "NO": some row
// fails a gate, also of a claim that is not counted. The last line counts the claims that hold.
std::string ClaimsTable(const std::vector<Verdict>& verdicts);

// The same in full: scenario,network,batch,machine,memory_limit_bytes,strategy,measure,paper_low,paper_high,ours,
// difference,gate,passed,source,why.
std::string ExpectationCsv(const std::vector<Verdict>& verdicts);

// ---- Words of the tables.

// "12.3 %", "195/s", "fits": a value of the measure with its unit.
std::string ValueText(Measure measure, double value);
// The same of a range; one end may be infinite (">= 1.00x").
std::string RangeText(Measure measure, double low, double high);
// How far ours is from the published figure: "inside", "equal", "+3.1 points", "-12.0 %", "differs"; "" where ours does
// not run.
std::string DifferenceText(const Verdict& verdict);
// The figure in a word or two: "loss", "over in-core b=128".
std::string MeasureText(const Expectation& expectation);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_EXPECTATION_TABLE_H_
