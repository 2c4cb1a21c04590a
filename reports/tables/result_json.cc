#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "reports/rows/result_columns.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;
constexpr auto kReplace = Json::error_handler_t::replace;

double InBytesPerSecond(double bytes_per_nano) { return std::round(bytes_per_nano * static_cast<double>(kSecond)); }
double InSeconds(Nanos time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

Json JsonCell(const std::string& text) { return text; }
Json JsonCell(std::int64_t count) { return count; }
Json JsonCell(ExactSeconds seconds) { return InSeconds(seconds.time); }
Json JsonCell(Ratio ratio) { return ratio.value; }
Json JsonCell(std::monostate) { return nullptr; }
Json JsonCell(const BytesByClass& sizes) {
  Json object = Json::object();
  for (const auto& [name, bytes] : sizes) object[name] = bytes;
  return object;
}
// A value that is JSON by itself, a number say, stays what it is.
Json JsonCell(const TextByName& texts) {
  Json object = Json::object();
  for (const auto& [name, text] : texts) object[name] = Json::accept(text) ? Json::parse(text) : Json(text);
  return object;
}

Json RowJson(const ResultRow& row, const Standing& standing) {
  Json object = Json::object();
  for (const ResultColumn& column : ResultKeys()) {
    object[column.name] = std::visit([](const auto& value) { return JsonCell(value); }, CellOf(column, row, standing));
  }
  return object;
}

Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json VerdictJson(const Verdict& v) {
  const Expectation& e = *v.expectation;
  Json object = {{"scenario", v.row->scenario},
                 {"point", v.row->point},
                 {"measure", TraitsOf(e.measure).name},
                 {"paper_low", Finite(e.value.low)},
                 {"paper_high", Finite(e.value.high)},
                 {"ours", v.ours ? Json(*v.ours) : Json(nullptr)},
                 {"difference", v.ours ? Json(v.difference) : Json(nullptr)},
                 {"gate", v.gate},
                 {"passed", v.gate ? Json(v.passed) : Json(nullptr)},
                 {"source", e.source}};
  if (!e.claim.empty()) object["claim"] = e.claim;
  if (!e.counted) object["counted"] = false;
  if (!e.why.empty()) object["why"] = e.why;
  return object;
}

// The strategy that a row's label begins with (ResultColumns, `strategy`); nullptr: a plan that names none of the table.
const Strategy* StrategyOfLabel(const std::string& label) {
  const Strategy* longest = nullptr;
  std::size_t length = 0;
  for (const Strategy& strategy : Strategies()) {
    const std::size_t end = std::string_view(strategy.name).size();
    const bool named =
        label.starts_with(strategy.name) && std::string_view(" :@+").find(label[end]) != std::string::npos;
    if (!named && label != strategy.name) continue;
    if (end > length) longest = &strategy, length = end;
  }
  return longest;
}

// What the table of strategies says of those in the rows.
Json StrategiesJson(const std::vector<ResultRow>& rows) {
  Json strategies = Json::array();
  std::set<std::string> told;
  for (const ResultRow& row : rows) {
    const Strategy* strategy = StrategyOfLabel(row.strategy);
    if (strategy == nullptr || !told.insert(row.strategy).second) continue;
    strategies.push_back({{"strategy", row.strategy},
                          {"name", strategy->name},
                          {"description", strategy->description},
                          {"source", strategy->paper}});
  }
  return strategies;
}

Json ColumnsJson() {
  Json meanings = Json::object();
  for (const ResultColumn& column : ResultColumns()) meanings[column.name] = column.meaning;
  return meanings;
}

Json StepJson(const char* what, const StepAndBound& at) {
  const auto seconds = [](Nanos time) { return time > 0 ? Json(InSeconds(time)) : Json(nullptr); };
  const std::string prefix = what;
  return {{prefix + "_step_time_s", seconds(at.step)}, {prefix + "_lower_bound_s", seconds(at.bound)}};
}

Json HelpsJson(const ResultSet& results) {
  Json places = Json::array();
  for (const WhatHelps& place : results.helps) {
    Json object = {{"point", results.rows[place.row].point}, {"more_bytes", place.more}};
    object.update(StepJson("memory", place.memory));
    if (place.links) {
      object["link"] = InBytesPerSecond(place.even_rate);
      object.update(StepJson("link", place.even));
      object["faster_link"] = InBytesPerSecond(place.faster_rate);
      object.update(StepJson("faster_link", place.faster));
      object["copies_free_from"] = place.free_from > 0 ? Json(InBytesPerSecond(place.free_from)) : Json(nullptr);
    }
    places.push_back(std::move(object));
  }
  return places;
}

}  // namespace

std::string ResultJson(const ResultSet& results) {
  Json rows = Json::array();
  const std::vector<Standing> standings = Standings(results.rows);
  for (std::size_t i = 0; i < results.rows.size(); ++i) rows.push_back(RowJson(results.rows[i], standings[i]));
  Json verdicts = Json::array();
  for (const Verdict& v : Judge(results.rows, results.expectations)) verdicts.push_back(VerdictJson(v));
  const Json document = {
      {"format", kResultsFormat},        {"version", kResultsVersion}, {"results", rows},
      {"expectations", verdicts},        {"columns", ColumnsJson()},   {"strategies", StrategiesJson(results.rows)},
      {"what_helps", HelpsJson(results)}};
  return document.dump(1, ' ', false, kReplace) + "\n";
}

}  // namespace spillway
