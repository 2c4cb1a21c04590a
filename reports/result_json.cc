#include "reports/result_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/json_text.h"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;
constexpr auto kReplace = Json::error_handler_t::replace;

double Seconds(Nanos time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

Json Identity(const ResultRow& r) {
  return {{"scenario", r.scenario},
          {"network", r.network},
          {"batch", r.batch},
          {"precision", r.precision},
          {"devices", r.devices},
          {"machine", r.machine},
          {"memory_limit_bytes", r.memory_limit},
          {"memory_model", r.memory_model},
          {"strategy", r.strategy},
          {"feasible", r.feasible ? 1 : 0},
          {"reason", r.reason}};
}

// In the order of results.csv, then what only this file has.
Json Figures(const ResultRow& r) {
  Json by_class = Json::object();
  for (const auto& [name, bytes] : r.memory_by_class) by_class[name] = bytes;
  return {{"step_time_s", Seconds(r.step_time)},
          {"step_time_low_s", Seconds(r.step_time_low)},
          {"step_time_high_s", Seconds(r.step_time_high)},
          {"samples_per_second", r.SamplesPerSecond()},
          {"lower_bound_s", Seconds(r.lower_bound)},
          {"peak_bytes", r.peak},
          {"live_peak_bytes", r.live_peak},
          {"host_peak_bytes", r.host_peak},
          {"keep", r.classes.keep},
          {"swap", r.classes.swap},
          {"recompute", r.classes.recompute},
          {"bytes_out", r.bytes_out},
          {"bytes_in", r.bytes_in},
          {"recompute_time_s", Seconds(r.recompute_time)},
          {"stall_out_s", Seconds(r.stall_out)},
          {"stall_in_s", Seconds(r.stall_in)},
          {"evaluations", r.evaluations},
          {"cost_source", r.cost_source},
          {"compute_time_s", Seconds(r.compute_time)},
          {"stall_host_s", Seconds(r.stall_host)},
          {"binding_bound", r.binding_bound},
          {"search", r.search},
          {"memory_by_class", by_class}};
}

Json RowJson(const ResultRow& row) {
  Json object = Identity(row);
  const Json figures = Figures(row);
  for (const auto& [key, value] : figures.items()) object[key] = row.feasible ? value : Json(nullptr);
  object["point"] = row.point;
  return object;
}

Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json VerdictJson(const Verdict& v) {
  const Expectation& e = *v.expectation;
  Json object = {{"scenario", v.row->scenario},
                 {"point", v.row->point},
                 {"measure", MeasureName(e.measure)},
                 {"paper_low", Finite(e.value.low)},
                 {"paper_high", Finite(e.value.high)},
                 {"ours", v.ours ? Json(*v.ours) : Json(nullptr)},
                 {"difference", v.ours ? Json(v.difference) : Json(nullptr)},
                 {"gate", v.gate},
                 {"passed", v.gate ? Json(v.passed) : Json(nullptr)},
                 {"source", e.source}};
  if (!e.why.empty()) object["why"] = e.why;
  return object;
}

}  // namespace

std::string JsonString(std::string_view text) { return Json(text).dump(-1, ' ', false, kReplace); }

std::string ResultJson(const ResultSet& results) {
  Json rows = Json::array();
  for (const ResultRow& row : results.rows) rows.push_back(RowJson(row));
  Json verdicts = Json::array();
  for (const Verdict& v : Judge(results.rows, results.expectations)) verdicts.push_back(VerdictJson(v));
  const Json document = {{"results", rows}, {"expectations", verdicts}};
  return document.dump(1, ' ', false, kReplace) + "\n";
}

}  // namespace spillway
