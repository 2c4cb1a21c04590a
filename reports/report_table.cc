#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "reports/trace/trace.h"

namespace spillway {

std::string ExpectationReport(const ResultSet& results) {
  return ExpectationCsv(Judge(results.rows, results.expectations));
}
std::string PlanReport(const PointDetail& point) { return PlanToYaml(point.plan, point.step); }
std::string MemoryReport(const PointDetail& point) { return MemoryCsv(point.evaluation.timeline); }
void TraceReport(const PointDetail& point, const TextSink& sink) {
  WriteTrace({.timeline = point.evaluation.timeline,
              .program = point.evaluation.program,
              .machine = point.machine,
              .step = &point.step,
              .plan = &point.plan,
              .costs = &point.costs,
              .row = &point.row},
             sink);
}

const std::vector<Report>& Reports() {
#define REPORT_OF_RUN(NAME, DESCRIPTION, PATH, MAKE) {NAME, DESCRIPTION, PATH, MAKE, nullptr, nullptr},
#define REPORT_OF_POINT(NAME, DESCRIPTION, PATH, MAKE) {NAME, DESCRIPTION, PATH, nullptr, MAKE, nullptr},
#define REPORT_IN_PIECES(NAME, DESCRIPTION, PATH, MAKE) {NAME, DESCRIPTION, PATH, nullptr, nullptr, MAKE},
  static const std::vector<Report> table = {
#include "reports/table.inc"
  };
#undef REPORT_OF_RUN
#undef REPORT_OF_POINT
#undef REPORT_IN_PIECES
  return table;
}

std::string ReportFile(const Report& report, const std::string& point) {
  std::string file = report.file;
  const auto brackets = file.find("{}");
  return brackets == std::string::npos ? file : file.replace(brackets, 2, point);
}

}  // namespace spillway
