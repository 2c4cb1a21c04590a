#include "reports/report_table.h"

#include "reports/memory_csv.h"
#include "reports/result_csv.h"
#include "reports/result_json.h"
#include "reports/result_table.h"
#include "reports/trace.h"

namespace spillway {

namespace {

std::string Expectations(const ResultSet& results) { return ExpectationCsv(Judge(results.rows, results.expectations)); }
std::string PlanFile(const PointDetail& point) { return PlanToYaml(point.plan, point.step); }
std::string MemoryCurve(const PointDetail& point) { return MemoryCsv(point.evaluation.timeline); }
std::string ChromeTrace(const PointDetail& point) {
  return TraceJson(point.evaluation.timeline, point.evaluation.program, &point.step, point.machine);
}

}  // namespace

const std::vector<Report>& Reports() {
  static const std::vector<Report> table = {
      {"table", "one block per network, machine and memory limit, for the console", "", ResultTable, nullptr},
      {"csv", "one row per point and strategy; the columns are a contract", "results.csv", ResultCsv, nullptr},
      {"json", "the same, with memory by class and the expectations", "results.json", ResultJson, nullptr},
      {"expectations", "published and required figures beside ours", "expectations.csv", Expectations, nullptr},
      {"plan", "the decisions taken, editable, for run --plan", "plans/{}.yaml", nullptr, PlanFile},
      {"trace", "Chrome trace: kernels, copies and live memory over time", "timelines/{}.trace.json", nullptr,
       ChromeTrace},
      {"memory", "live device memory over time as CSV", "timelines/{}.memory.csv", nullptr, MemoryCurve},
  };
  return table;
}

std::string ReportFile(const Report& report, const std::string& point) {
  std::string file = report.file;
  const auto brackets = file.find("{}");
  return brackets == std::string::npos ? file : file.replace(brackets, 2, point);
}

}  // namespace spillway
