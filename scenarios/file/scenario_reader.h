// Scenario files: their keys, as tables (hw/text/keys.h) that `spillway help scenario` prints, and the readers of their
// parts.
#ifndef SPILLWAY_SCENARIOS_FILE_SCENARIO_READER_H_
#define SPILLWAY_SCENARIOS_FILE_SCENARIO_READER_H_

#include <functional>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "scenarios/file/scenario.h"
#include "sim/planning/strategy.h"

namespace spillway {

// ---- Keys, and the limits that they name.

constexpr double kMostPoints = 100'000;  // of a scenario
constexpr std::int64_t kMostPixels = 100'000;
constexpr std::int64_t kMostClasses = 10'000'000;
constexpr double kMostEmulatedSlowdown = 1000;

const KeyTable& ScenarioKeys();
const KeyTable& NetworkChoiceKeys();
const KeyTable& MachineChoiceKeys();
const KeyTable& StrategyChoiceKeys();
const KeyTable& ParameterKeys(const Strategy& strategy);  // made from Strategy::parameters
const KeyTable& RuntimeChoiceKeys();
const KeyTable& EmulationKeys();
const KeyTable& ExpectationKeys();
const KeyTable& RatioKeys();
const KeyTable& BoundKeys();

// ---- Readers.

// Messages about one scenario: its own, and those about the files it names, which carry their own positions.
struct ScenarioErrors {
  explicit ScenarioErrors(const Document& document) : own(document) {}
  void ThrowIfAny() const;
  // Has another file loaded, named at `mark`; keeps what is wrong with it. A mistake told before is not repeated.
  void LoadOther(Mark mark, const std::string& path, const std::function<void()>& load);
  Diagnostics own;
  std::vector<std::string> other_files;
};

// The value of a name that must be among `names`; `hint` tells how to list them.
std::string ReadName(const Node& item, const std::string& what, const std::vector<std::string>& names,
                     const std::string& hint, Diagnostics& diagnostics);

// Reads `network:`: a map {zoo or file, image, frames, classes, batch}, or a list of such; one choice for each
// combination of what is swept but the batch. Each is built or loaded once, so that what it cannot be is told with the
// rest.
std::vector<NetworkChoice> ReadNetworks(MapReader& reader, const std::string& file, ScenarioErrors& errors);

// Reads a machine's name, or its path as seen from the folder that `file` is in.
std::string ReadMachineName(const Node& item, const std::string& file, ScenarioErrors& errors);

// Reads `machines:`: names, paths, or maps {name, from, host, host_memory} that change what the one named by `from` is
// connected to. The host must be one that a link leads to, and the link's curves for pageable memory known.
std::vector<MachineChoice> ReadMachines(MapReader& reader, const std::string& file, ScenarioErrors& errors);

// Reads `strategies:`: names, or maps {strategy, planned_on, parameters}; one choice for each combination of the
// parameters that are swept, none twice.
std::vector<StrategyChoice> ReadStrategies(MapReader& reader, const std::string& file, ScenarioErrors& errors);

// Reads `runtime:`: names of the table, or maps {name, from, framework, copy_streams, memory, barrier, host_syncs,
// framework_time, copy_chunk, pool, blocking_copies, swap_in_waits, collection_time, backward_units, part_waits,
// workspaces, host_percent} that change some fields of the one named by `from`. The strategies' own when there is no
// such key.
std::vector<RuntimeChoice> ReadRuntimes(MapReader& reader, Diagnostics& diagnostics);

// Reads `emulate:`: maps {compute_slowdown, link_rate}, or as-is. One that emulates nothing when there is no such key.
std::vector<Emulation> ReadEmulations(MapReader& reader, Diagnostics& diagnostics);

// Reads `expect:`. Appends one Expectation per figure and, where `batch` is a list, per batch.
void ReadExpectations(MapReader& reader, const std::string& scenario, Diagnostics& diagnostics,
                      std::vector<Expectation>& expectations);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_SCENARIO_READER_H_
