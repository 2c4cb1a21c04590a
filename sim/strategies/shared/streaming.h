// Fitting a step into memory that single ops exceed: what is not used is on the host, and ops that do not fit beside
// nothing else stream their operands in parts.
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_STREAMING_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_STREAMING_H_

#include <memory>
#include <string>
#include <vector>

#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"

namespace spillway {

// Parts of so many samples each, run as the library chooses within what it asks for or, if that is more, within what the
// whole op is granted. `samples`: as many in all as the launch has.
std::vector<OpPart> PartsAsGranted(const Problem& problem, const Launch& whole,
                                   const std::vector<std::int64_t>& samples);

// The same for tiles: to each part what the most demanding of its tiles asks for, or what the whole op is granted.
void GrantTiles(const Problem& problem, const Op& op, OpDecision& decision);

enum class MayDivide : std::uint8_t { kNothing, kWhatDoesNotFit };

// A plan of `problem` called `strategy`, every map swapped, that needs at most problem.capacity in an arena. With
// kWhatDoesNotFit an op that takes more by itself streams what it must, or, where that does not fit, all that it may, in
// parts of the largest power of two of samples that fits; then gaps of other tensors are swapped over the ops that need most.
// What the library refuses whole for its size (Cost::calls) runs in parts, too.
// Deterministic. Not feasible: `reason` begins with "out_of_memory: ", and names the op that nothing helps where it is one.
// `facts`: of the problem's step, costs and device. `smallest_layout`: if there is one, the least that a layout took which
// was too large, or 0.
Planned FitByStreaming(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, const char* strategy,
                       MayDivide divide, Bytes* smallest_layout = nullptr);

// Where to look for the least capacity in which FitByStreaming finds a plan, which is hardly ever less: what the largest op
// takes beside nothing else, whole or, where it may be divided, in its smallest parts.
Bytes LeastAlone(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, MayDivide divide);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_STREAMING_H_
