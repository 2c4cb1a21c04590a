// All reports: a new one is a file, a line of the table in report_table.cc and a line of CMakeLists.txt.
#ifndef SPILLWAY_REPORTS_REPORT_TABLE_H_
#define SPILLWAY_REPORTS_REPORT_TABLE_H_

#include <string>
#include <vector>

#include "reports/result.h"

namespace spillway {

// Exactly one of the two functions is set: a report is about a whole run or about one feasible row.
struct Report {
  const char* name;
  const char* description;
  // Where `run --out` puts it, relative to the folder; {} stands for ResultRow::point. Empty: console only.
  const char* file;
  std::string (*of_run)(const ResultSet& results);
  std::string (*of_point)(const PointDetail& point);
};
const std::vector<Report>& Reports();

// Report::file with the point put in.
std::string ReportFile(const Report& report, const std::string& point);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_REPORT_TABLE_H_
