// Fitted kernel models in profiles: reading and writing one entry of `models`, `call_floors` or `stacks`.
#ifndef SPILLWAY_HW_MACHINE_KERNEL_MODEL_TEXT_H_
#define SPILLWAY_HW_MACHINE_KERNEL_MODEL_TEXT_H_

#include <string>

#include "hw/machine/machine.h"
#include "hw/text/document.h"

namespace spillway {

// Mistakes go to the diagnostics. Whether the program knows the form and its parameters is for the cost model to say.
KernelModel ReadKernelModel(const Node& node, Diagnostics& diagnostics, const std::string& owner);
// As an item of a list that is indented by six spaces; ends with a newline.
std::string KernelModelText(const KernelModel& model);

CallFloor ReadCallFloor(const Node& node, Diagnostics& diagnostics, const std::string& owner);
std::string CallFloorText(const CallFloor& floor);

SoftwareStack ReadStack(const Node& node, Diagnostics& diagnostics, const std::string& owner);
std::string StackText(const SoftwareStack& stack);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_KERNEL_MODEL_TEXT_H_
