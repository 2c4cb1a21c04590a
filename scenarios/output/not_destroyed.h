// What a command must not write over: one of its inputs, or a file of another kind than its own.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_NOT_DESTROYED_H_
#define SPILLWAY_SCENARIOS_OUTPUT_NOT_DESTROYED_H_

#include <string>
#include <vector>

namespace spillway {

// What a command writes under -o.
enum class Written { kPlan, kCarry, kMachine, kEstimate, kJson, kPage };

// Throws UserError before anything is computed: `out` is there and is one of `inputs`, or is neither empty nor an earlier
// file of the same kind. "", "-" and what is no regular file (a FIFO, /dev/stdout) are left to the writer.
void MustNotDestroy(const std::string& out, Written kind, const std::vector<std::string>& inputs);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_NOT_DESTROYED_H_
