// Text and objects that all three dumps share: the head, costs, algorithms. Private to dump_*.cc.
//
// A dump is one JSON object. DumpText writes one key a line and one list item a line, so that people can read it and
// diff compares it line by line:
//
//   {
//    "format": "spillway-step",
//    "ops": [
//     {"id": 0, "name": "conv1:forward", ...},
//     {"id": 1, ...}
//    ]
//   }
#ifndef SPILLWAY_REPORTS_DUMP_DUMP_JSON_H_
#define SPILLWAY_REPORTS_DUMP_DUMP_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "model/kernels/kernel_form.h"
#include "reports/dump/dump.h"

namespace spillway {

// Keys stay in the order in which they were set, so that equal dumps have equal bytes.
using DumpObject = nlohmann::ordered_json;

// `object` as JSON on one line. Bytes that are not UTF-8 become U+FFFD.
inline std::string DumpLine(const DumpObject& object) {
  return object.dump(-1, ' ', false, DumpObject::error_handler_t::replace);
}

// `document` as JSON with one key a line. A list of maps has one map a line; any other list stays on its key's line.
inline std::string DumpText(const DumpObject& document) {
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += (text.size() == 1 ? "\n " : ",\n ") + DumpLine(key) + ": ";
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      text += DumpLine(value);
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) text += (i == 0 ? "[\n  " : ",\n  ") + DumpLine(value[i]);
    text += "\n ]";
  }
  return text + "\n}\n";
}

// The first keys of every dump: format and version, then the point. `what`: "step", "program" or "plan".
inline DumpObject DumpHead(const char* what, const std::string& network, std::int64_t batch,
                           const std::string& machine) {
  return {{"format", std::string("spillway-") + what},
          {"version", kDumpVersion},
          {"network", network},
          {"batch", batch},
          {"machine", machine}};
}

// The algorithm's name; null if the op has no choice of algorithm or the algorithm is unknown.
inline DumpObject AlgorithmObject(OpKind kind, Pass pass, std::int32_t algorithm) {
  const std::string name = AlgorithmName(kind, pass, algorithm);
  return name.empty() ? DumpObject(nullptr) : DumpObject(name);
}

// The cost of a launch, as the step and the program show it. Times are nanoseconds; errors are relative, one standard
// deviation.
inline DumpObject CostObject(const Launch& launch, const Cost& cost) {
  return {{"time_ns", cost.time},
          {"algorithm", AlgorithmObject(launch.kind, launch.pass, cost.algorithm)},
          {"workspace_bytes", cost.workspace},
          {"source", SourceKindName(cost.source)},
          {"how", cost.how},
          {"error", cost.error},
          {"shared_error", cost.shared_error},
          {"copy_slowdown", cost.copy_slowdown}};
}

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_DUMP_DUMP_JSON_H_
