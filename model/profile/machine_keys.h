// The keys of machine profiles, as tables (hw/text/keys.h), and the limits that they name. For the readers of the parts
// of a profile; `spillway help machine` prints MachineKeys() and SecondNameKeys().
#ifndef SPILLWAY_MODEL_PROFILE_MACHINE_KEYS_H_
#define SPILLWAY_MODEL_PROFILE_MACHINE_KEYS_H_

#include "hw/machine/hardware_keys.h"

namespace spillway {

// Limits, as in hardware_keys.h.
constexpr double kMostFraction = 5;  // fast algorithms, counted by their direct operations, exceed the peak
constexpr double kMostSlowdown = 10;
constexpr double kMostWork = 1e21;   // flops or bytes of one launch
constexpr double kMostFactor = 100;  // of one software stack against another
constexpr std::int64_t kMostMultiprocessors = 10000;

const KeyTable& MachineKeys();     // a profile
const KeyTable& SecondNameKeys();  // a profile with `same_as`: a second name for another one's figures
// The entries of `hosts` and `devices`, and the maps within them, outer ones first.
const KeyTable& HostKeys();
const KeyTable& DeviceKeys();
const KeyTable& FigureKeys();
const KeyTable& DeviceMemoryKeys();
const KeyTable& HostCostKeys();
const KeyTable& LaunchListKeys();
const KeyTable& LaunchCostKeys();
const KeyTable& LawKeys();
const KeyTable& CallFloorKeys();
const KeyTable& StackKeys();
const KeyTable& KernelModelKeys();
const KeyTable& ModelWorkKeys();
const KeyTable& MeasuredKeys();
const KeyTable& MeasuredSoftwareKeys();

// Rows that several of them have.
KeyRow OpRow(const char* meaning);
KeyRow PassRow();

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_MACHINE_KEYS_H_
