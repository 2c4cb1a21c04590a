// What `spillway --version` prints.
#ifndef SPILLWAY_SCENARIOS_CLI_VERSION_H_
#define SPILLWAY_SCENARIOS_CLI_VERSION_H_

#include <string>

namespace spillway {

// One line with version and commit. Verbose: also where the shipped files lie, and the folder in which the Python package
// keeps the plans of `spillway.torch.auto` (calibrate/torch/auto_cache.py has the same rule).
std::string VersionText(bool verbose);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_VERSION_H_
