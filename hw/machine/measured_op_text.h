// Measured launches in profiles: reading and writing the entry `measured` of a device.
//
//   measured:
//     source: {measured: "..."}
//     ops:
//       - convolution forward 32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1, algorithm direct, time 123456 ns, error 0.01
//
// One text a launch: parts separated by commas, first op, pass and shape, then words with their values in any order.
// Texts, since a few hundred maps of ten keys each would take a tenth of a second to load.
#ifndef SPILLWAY_HW_MACHINE_MEASURED_OP_TEXT_H_
#define SPILLWAY_HW_MACHINE_MEASURED_OP_TEXT_H_

#include <string>

#include "hw/machine/machine.h"
#include "hw/text/document.h"

namespace spillway {

// Sets Device::measured and measured_source. Mistakes go to the diagnostics, a launch that comes twice among them.
// Whether the program knows the names, and what the shape says, is for the cost model to say.
void ReadMeasured(const Node& node, Diagnostics& diagnostics, const std::string& owner, Device& device);
// The entry, indented by four spaces; ends with a newline.
std::string MeasuredText(const Device& device);
// One launch's text, and all of it that tells launches apart.
std::string MeasuredOpText(const MeasuredOp& op);
std::string MeasuredKey(const MeasuredOp& op);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_MEASURED_OP_TEXT_H_
