// The parts of a machine profile as text: each is read from a node of YAML and, but for the whole, written by
// its own file. What is wrong goes to the diagnostics, with its place.
#ifndef SPILLWAY_MODEL_PROFILE_PROFILE_TEXT_H_
#define SPILLWAY_MODEL_PROFILE_PROFILE_TEXT_H_

#include <string>

#include "hw/machine/hardware_text.h"
#include "hw/text/document.h"
#include "model/profile/machine.h"

namespace spillway {

// ---- Fitted kernel models in profiles: reading and writing one entry of `models`, `call_floors` or `stacks`.

// Mistakes go to the diagnostics. Whether the program knows the form and its parameters is for the cost model to say.
KernelModel ReadKernelModel(const Node& node, Diagnostics& diagnostics, const std::string& owner);
// As an item of a list that is indented by six spaces; ends with a newline.
std::string KernelModelText(const KernelModel& model);

CallFloor ReadCallFloor(const Node& node, Diagnostics& diagnostics, const std::string& owner);
std::string CallFloorText(const CallFloor& floor);

SoftwareStack ReadStack(const Node& node, Diagnostics& diagnostics, const std::string& owner);
std::string StackText(const SoftwareStack& stack);

// ---- What issuing each kind of op costs, in profiles: reading and writing the entry `launches` of `host_costs`.
//
//   launches:
//     source: {measured: "..."}
//     ops:
//       - {op: convolution, pass: forward, time: 9200 ns}

// Sets HostCosts::launches and launches_source. Mistakes go to the diagnostics, an op and pass that come twice among them.
// Whether the program knows the names is for the cost model to say.
void ReadLaunchCosts(const Node& node, Diagnostics& diagnostics, const std::string& owner, HostCosts& costs);
// The entry, indented by six spaces; ends with a newline. "" where there is none.
std::string LaunchCostsText(const HostCosts& costs);

// ---- Measured launches in profiles: reading and writing the entry `measured` of a device.
//
//   measured:
//     source: {measured: "..."}
//     operands: step
//     software: {driver: "550.54", cuda: "12.4", cudnn: "9.1.0"}
//     ops:
//       - convolution forward 32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1, algorithm direct, time 123456 ns, error 0.01
//
// One text a launch: parts separated by commas, first op, pass and shape, then words with their values in any order.
// Texts, since a few hundred maps of ten keys each would take a tenth of a second to load.

// Sets Device::measured, measured_source and measured_with. Mistakes go to the diagnostics, a launch that comes twice
// among them. Files of before there were keys for it say in their source's text how and with what was measured, in words
// that were always the same: these are read here, and by nobody else.
// Whether the program knows the names, and what the shape says, is for the cost model to say.
void ReadMeasured(const Node& node, Diagnostics& diagnostics, const std::string& owner, Device& device);
// The entry, indented by four spaces; ends with a newline.
std::string MeasuredText(const Device& device);
// One launch's text, and all of it that tells launches apart.
std::string MeasuredOpText(const MeasuredOp& op);
std::string MeasuredKey(const MeasuredOp& op);

// The body of a profile; for machine_file.cc. Its keys are listed in machine_keys.cc.
// Reads and checks everything but `same_as`. Mistakes go to the diagnostics, and the result is then not to be used.
// The caller calls reader.Finish().
Machine ReadMachine(MapReader& reader, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_PROFILE_TEXT_H_
