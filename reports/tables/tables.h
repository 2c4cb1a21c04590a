// Tables of result rows for the console, and the words that they share. ResultTable, ResultCsv and ResultJson are
// reports: reports/reports.h.
//
// Tested by reports_test, standing_test, what_helps_test.
#ifndef SPILLWAY_REPORTS_TABLES_TABLES_H_
#define SPILLWAY_REPORTS_TABLES_TABLES_H_

#include <string>
#include <vector>

#include "reports/rows/result.h"

namespace spillway {

// Two machines side by side: who wins, and what the other one spends its time on instead. One line per network, batch
// and strategy, and one for the best strategy of each machine.
std::string CompareTable(const ResultSet& results, const std::string& machine_a, const std::string& machine_b);

// What would help each place that was asked about, a line each; "" without any. REQUIRES: links were asked about; `rows`
// are those that the places name.
std::string WhatHelpsTable(const std::vector<WhatHelps>& places, const std::vector<ResultRow>& rows);

std::string ResultCsvHeader();  // the names of ResultCsv's columns, without the end of the line

// ---- Words.

std::string ClassesText(const ClassCounts& classes);  // "66/12/27"

// The parts of a row whose plan accumulates: "accumulate at batch 64: 2 parts of 32 samples", and whether they change the
// numbers. "" of any other row.
std::string AccumulateText(const ResultRow& row);

// The cause of the slower row's time: the largest difference among compute, recomputation and the stalls, as text
// ("spends 310 ms more recomputing"). Empty when nothing is longer.
std::string WhySlower(const ResultRow& slower, const ResultRow& faster);

// "pooch at batch 640: 158 images/s, 301 with 9.50 GB". REQUIRES: `beaten_by` is the row's Standing::beaten_by.
std::string BeatenText(const ResultRow& row, const ResultRow& beaten_by);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_TABLES_H_
