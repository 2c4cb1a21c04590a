// What the files that read a scenario share.
#ifndef SPILLWAY_SCENARIOS_SCENARIO_READER_H_
#define SPILLWAY_SCENARIOS_SCENARIO_READER_H_

#include <string>
#include <vector>

#include "hw/document.h"
#include "scenarios/scenario.h"

namespace spillway {

// Messages about one scenario: its own, and those about the files it names, which carry their own positions.
struct ScenarioErrors {
  explicit ScenarioErrors(const Document& document) : own(document) {}
  void ThrowIfAny() const;
  Diagnostics own;
  std::vector<std::string> other_files;
};

// The value of a name that must be among `names`; `hint` tells how to list them.
std::string ReadName(const Node& item, const std::string& what, const std::vector<std::string>& names,
                     const std::string& hint, Diagnostics& diagnostics);

// Reads `runtime:`: names of the table, or maps {name, from, copy_streams, memory, barrier, host_syncs, framework_time,
// copy_chunk} that change some fields of the one named by `from`. The strategies' own when there is no such key.
std::vector<RuntimeChoice> ReadRuntimes(MapReader& reader, Diagnostics& diagnostics);

// Reads `expect:`. Appends one Expectation per figure and, where `batch` is a list, per batch.
void ReadExpectations(MapReader& reader, const std::string& scenario, Diagnostics& diagnostics,
                      std::vector<Expectation>& expectations);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_SCENARIO_READER_H_
