// The keys of scenario files (hw/text/keys.h), and the limits that they name: `spillway help scenario`.
#ifndef SPILLWAY_SCENARIOS_FILE_SCENARIO_KEYS_H_
#define SPILLWAY_SCENARIOS_FILE_SCENARIO_KEYS_H_

#include "hw/text/keys.h"
#include "sim/planning/strategy.h"

namespace spillway {

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

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_SCENARIO_KEYS_H_
