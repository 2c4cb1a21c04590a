// What every trace keeps to (reports/trace/trace.h).
#ifndef SPILLWAY_TESTS_TRACE_SCHEMA_H_
#define SPILLWAY_TESTS_TRACE_SCHEMA_H_

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace spillway {

// Checks that events are sorted, no two slices of a thread lie at one time, and each flow leads from one beginning to one
// end, not before it. Times in nanoseconds, as microseconds with three digits do not add up. How many threads have slices.
inline std::size_t CheckedThreads(const nlohmann::json& events) {
  const auto nanos = [](const nlohmann::json& microseconds) { return std::llround(1000 * microseconds.get<double>()); };
  std::int64_t last = 0;
  std::map<std::pair<int, int>, std::int64_t> ends;
  std::map<std::int64_t, std::pair<int, int>> flows;  // beginnings, ends
  for (const auto& e : events) {
    if (e["ph"] == "M") continue;
    const std::int64_t start = nanos(e["ts"]);
    CHECK(start >= last);
    last = start;
    if (e["ph"] == "s") ++flows[e["id"].get<std::int64_t>()].first;
    if (e["ph"] == "f") {
      auto& flow = flows[e["id"].get<std::int64_t>()];
      CHECK(flow.first == 1);
      ++flow.second;
    }
    if (e["ph"] != "X") continue;
    std::int64_t& end = ends[{e["pid"].get<int>(), e["tid"].get<int>()}];
    INFO("thread " << e["pid"] << "/" << e["tid"] << ": " << e["name"]);
    CHECK(start >= end);
    end = start + nanos(e["dur"]);
  }
  for (const auto& [id, flow] : flows) {
    INFO("flow " << id);
    CHECK(flow == std::pair(1, 1));
  }
  return ends.size();
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TRACE_SCHEMA_H_
