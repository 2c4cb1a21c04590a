// From a network as a scenario names it to a step: the part of Prepare that is done again where steps are not kept.
#ifndef SPILLWAY_SCENARIOS_RUN_PREPARE_STEP_H_
#define SPILLWAY_SCENARIOS_RUN_PREPARE_STEP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "scenarios/run/prepare.h"

namespace spillway {

// Reads the file that the choice names, if it names one. UserError: it cannot be read, or the zoo cannot build it.
std::shared_ptr<const NetworkSource> SourceOf(const NetworkChoice& choice);

// `keep`: with network and ops; otherwise they are built, to see that they can be, and dropped.
std::unique_ptr<PreparedStep> PrepareStep(const std::shared_ptr<const NetworkSource>& source,
                                          const std::string& options, std::int64_t batch, bool keep);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_PREPARE_STEP_H_
