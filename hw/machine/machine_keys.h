// The keys of machine profiles, as tables (hw/text/keys.h), and the limits that they name. For the readers of the parts
// of a profile; `spillway help machine` prints MachineKeys() and SecondNameKeys().
#ifndef SPILLWAY_HW_MACHINE_MACHINE_KEYS_H_
#define SPILLWAY_HW_MACHINE_MACHINE_KEYS_H_

#include "hw/text/keys.h"

namespace spillway {

// Limits are there to catch slips of unit and of the decimal point, not to judge hardware: each is far beyond what is
// known to exist. Fractions and factors have no unit.
constexpr double kMostError = 10;    // of a model, a curve, a measurement: relative, one standard deviation
constexpr double kMostFraction = 5;  // fast algorithms, counted by their direct operations, exceed the peak
constexpr double kMostSlowdown = 10;
constexpr double kMostWork = 1e21;          // flops or bytes of one launch
constexpr double kMostFactor = 100;         // of one software stack against another
constexpr double kLeastDuplexFactor = 0.5;  // below it, taking turns would be faster
constexpr std::int64_t kMostMultiprocessors = 10000;

const KeyTable& MachineKeys();     // a profile
const KeyTable& SecondNameKeys();  // a profile with `same_as`: a second name for another one's figures
// The entries of `hosts`, `devices` and `links`, and the maps within them, outer ones first.
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
const KeyTable& LinkKeys();
const KeyTable& CurveKeys();
const KeyTable& OtherMemoryKeys();
const KeyTable& DuplexKeys();
const KeyTable& SourceKeys();

// Rows that several of them have.
KeyRow SourceRow();
KeyRow OpRow(const char* meaning);
KeyRow PassRow();
KeyRow ErrorRow(const char* name, const char* usual, const char* meaning);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_MACHINE_KEYS_H_
