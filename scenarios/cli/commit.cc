#include "scenarios/cli/command.h"

namespace spillway {

const char* Commit() { return SPILLWAY_COMMIT; }

}  // namespace spillway
