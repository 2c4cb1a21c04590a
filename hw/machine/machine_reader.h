// The body of a profile; for machine_file.cc. Its keys are listed in machine_keys.cc.
#ifndef SPILLWAY_HW_MACHINE_MACHINE_READER_H_
#define SPILLWAY_HW_MACHINE_MACHINE_READER_H_

#include "hw/machine/machine.h"
#include "hw/text/document.h"

namespace spillway {

// Reads and checks everything but `same_as`. Mistakes go to the diagnostics, and the result is then not to be used.
// The caller calls reader.Finish().
Machine ReadMachine(MapReader& reader, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_MACHINE_READER_H_
