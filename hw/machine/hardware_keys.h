// The keys of links, curves and sources in profiles, as tables (hw/text/keys.h), and the limits that they name.
#ifndef SPILLWAY_HW_MACHINE_HARDWARE_KEYS_H_
#define SPILLWAY_HW_MACHINE_HARDWARE_KEYS_H_

#include "hw/text/keys.h"

namespace spillway {

// Limits are there to catch slips of unit and of the decimal point, not to judge hardware: each is far beyond what is
// known to exist. Fractions and factors have no unit.
constexpr double kMostError = 10;           // of a model, a curve, a measurement: relative, one standard deviation
constexpr double kLeastDuplexFactor = 0.1;  // hosts with a third were measured

// The entry of `links` and the maps within it, outer ones first.
const KeyTable& LinkKeys();
const KeyTable& CurveKeys();
const KeyTable& OtherMemoryKeys();
const KeyTable& DuplexKeys();
const KeyTable& SourceKeys();

// Rows that several tables have.
KeyRow SourceRow();
KeyRow ErrorRow(const char* name, const char* usual, const char* meaning);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_HARDWARE_KEYS_H_
