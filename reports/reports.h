// What a run is shown as: all reports by name, and the functions that make them, a file each.
#ifndef SPILLWAY_REPORTS_REPORTS_H_
#define SPILLWAY_REPORTS_REPORTS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile/machine.h"
#include "reports/rows/result.h"

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

// Report::file with the point put in.
std::string ReportFile(const Report& report, const std::string& point);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_REPORTS_H_
