// Where the data lie that are shipped with the program.
#ifndef SPILLWAY_HW_MACHINE_SHIPPED_H_
#define SPILLWAY_HW_MACHINE_SHIPPED_H_

#include <string>
#include <vector>

namespace spillway {

// Folder with the shipped profiles: $SPILLWAY_HOME/hw, else hw/ beside the program where profiles lie there (a portable
// folder, a Python package), else that of the source tree the program was built from.
std::string MachineFolder();
// Names of the shipped profiles, sorted.
std::vector<std::string> ListMachines();

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_SHIPPED_H_
