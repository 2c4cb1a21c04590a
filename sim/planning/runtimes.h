// The runtimes of the modelled systems, by name: "pooch", "arena".
#ifndef SPILLWAY_SIM_PLANNING_RUNTIMES_H_
#define SPILLWAY_SIM_PLANNING_RUNTIMES_H_

#include <string>
#include <vector>

#include "sim/plan/runtime.h"

namespace spillway {

struct RuntimeEntry {
  const char* name;
  const char* description;  // one line
  Runtime runtime;
};
const std::vector<RuntimeEntry>& RuntimeTable();
const Runtime& RuntimeByName(const std::string& name);  // UserError with the nearest name

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_RUNTIMES_H_
