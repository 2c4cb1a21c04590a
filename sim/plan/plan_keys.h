// The keys of plan files (hw/text/keys.h): `spillway help plan`.
#ifndef SPILLWAY_SIM_PLAN_PLAN_KEYS_H_
#define SPILLWAY_SIM_PLAN_PLAN_KEYS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hw/text/keys.h"
#include "sim/plan/plan.h"

namespace spillway {

constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();
constexpr const char* kPlanStart = "start";         // the position kNoOp: before the first op
constexpr const char* kPlanNone = "none";           // GapDecision::before kNoOp: no use ends the gap
constexpr const char* kPlanNextStep = "next_step";  // GapDecision::before kNextStep

const KeyTable& PlanKeys();
const KeyTable& GapKeys();
const KeyTable& OpDecisionKeys();
const KeyTable& OpPartKeys();
const KeyTable& OpAgainKeys();
const KeyTable& OpTilesKeys();
const KeyTable& RecomputationKeys();
const KeyTable& RuntimeKeys();  // of a plan

// Those that ReadRuntimeFields (sim/plan/runtime.h) reads, with what holds without them: a new Runtime's, or `otherwise`.
std::vector<KeyRow> RuntimeFieldKeys(const char* otherwise = nullptr);

// The words for the choices that a runtime has under a key (memory, barrier, host_syncs, pool, blocking_copies,
// swap_in_waits, backward_units, part_waits, workspaces), in the order of their enumeration, and for the one that it makes.
const std::vector<std::string>& RuntimeWords(std::string_view key);
const std::string& RuntimeWord(const Runtime& runtime, std::string_view key);

const std::vector<std::string>& GapActionNames();  // by GapAction

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_PLAN_KEYS_H_
