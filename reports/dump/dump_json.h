// What the dumps share; for dump_*.cc.
#ifndef SPILLWAY_REPORTS_DUMP_DUMP_JSON_H_
#define SPILLWAY_REPORTS_DUMP_DUMP_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

#include "model/kernels/kernel_form.h"
#include "reports/dump/dump.h"

namespace spillway {

// Keys stay in the order in which they were set, so that the same dump has the same bytes.
using DumpObject = nlohmann::ordered_json;

// On one line. Bytes that are not UTF-8 become U+FFFD.
inline std::string DumpLine(const DumpObject& object) {
  return object.dump(-1, ' ', false, DumpObject::error_handler_t::replace);
}

// One key a line, and the items of lists of maps likewise: for people and for diff.
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

// Where the file is from: the first keys of every dump.
inline DumpObject DumpHead(const char* what, const std::string& network, std::int64_t batch,
                           const std::string& machine) {
  return {{"format", std::string("spillway-") + what},
          {"version", kDumpVersion},
          {"network", network},
          {"batch", batch},
          {"machine", machine}};
}

// null where an op has no choice of algorithm, or it is not known.
inline DumpObject AlgorithmObject(OpKind kind, Pass pass, std::int32_t algorithm) {
  const std::string name = AlgorithmName(kind, pass, algorithm);
  return name.empty() ? DumpObject(nullptr) : DumpObject(name);
}

// What a launch costs, as step and program have it. Times are nanoseconds; errors relative, one standard deviation.
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
