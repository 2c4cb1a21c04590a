// Ops that stream all they may, for tests.
#ifndef SPILLWAY_TESTS_SIM_STREAM_ALL_H_
#define SPILLWAY_TESTS_SIM_STREAM_ALL_H_

#include <string>
#include <utility>
#include <vector>

#include "sim/plan/parts.h"
#include "tests/random_streams.h"
#include "tests/sim/parts_place.h"

namespace spillway {

// An op streams all that it may.
inline OpDecision StreamAll(const PartsPlace& p, OpId op, std::vector<OpPart> parts, int depth = kTilesDeep) {
  OpDecision decision{.op = op, .parts = std::move(parts), .streamed = {}, .depth = depth};
  for (const StepTables::Touch& touch : p.tables.Touches(op)) {
    if (MayStream(p.step.tensors[Index(touch.tensor)])) decision.streamed.push_back(touch.tensor);
  }
  return decision;
}

inline std::vector<OpPart> Ones(std::int64_t samples) {
  return std::vector<OpPart>(static_cast<std::size_t>(samples), OpPart{.samples = 1});
}

inline std::string Says(const PartsPlace& p, const Plan& plan) {
  std::string text;
  for (const std::string& mistake : CheckPlan(plan, p.step)) text += mistake + "\n";
  return text;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_STREAM_ALL_H_
