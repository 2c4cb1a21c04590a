// Machine profiles as text: their keys, as tables (hw/text/keys.h), and their parts, each read from a node of YAML and
// written by a file of its own. Mistakes go to the diagnostics, with their places. Whether the program knows the names in
// a profile, of forms, ops and passes, is for the cost model to say.
#ifndef SPILLWAY_MODEL_PROFILE_PROFILE_TEXT_H_
#define SPILLWAY_MODEL_PROFILE_PROFILE_TEXT_H_

#include <string>
#include <vector>

#include "hw/machine/hardware_text.h"
#include "hw/text/document.h"
#include "model/profile/machine.h"
#include "model/profile/profile_names.h"

namespace spillway {

// ---- Keys. `spillway help machine` prints MachineKeys() and SecondNameKeys().

// Limits, as in hw/machine/hardware_text.h.
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

// ---- Fitted kernel models in profiles: reading and writing one entry of `models`, `call_floors` or `stacks`.

// Mistakes go to the diagnostics.
KernelModel ReadKernelModel(const Node& node, Diagnostics& diagnostics, const PartOwner& owner);
// What is wrong with a model, wherever it comes from: a form, an algorithm, a math mode or a parameter that this program
// does not know, a parameter that is missing or not positive.
struct ModelMistake {
  std::string key;     // whose value is wrong: "form", "algorithm", "math", "parameters"
  int parameter = -1;  // its index in KernelModel::parameters, if one of them is
  std::string message;
};
// `launches`: the model's op and pass, for messages: "relu forward".
std::vector<ModelMistake> MistakesOf(const KernelModel& model, const std::string& launches);
// As an item of a list that is indented by six spaces; ends with a newline.
std::string KernelModelText(const KernelModel& model);

CallFloor ReadCallFloor(const Node& node, Diagnostics& diagnostics, const PartOwner& owner);
std::string CallFloorText(const CallFloor& floor);

SoftwareStack ReadStack(const Node& node, Diagnostics& diagnostics, const PartOwner& owner);
std::string StackText(const SoftwareStack& stack);

// ---- What issuing each kind of op costs, in profiles: reading and writing the entry `launches` of `host_costs`.
//
//   launches:
//     source: {measured: "..."}
//     ops:
//       - {op: convolution, pass: forward, time: 9200 ns}

// Sets HostCosts::launches and launches_source. An op and pass that come twice are a mistake.
void ReadLaunchCosts(const Node& node, Diagnostics& diagnostics, const PartOwner& owner, HostCosts& costs);
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

// Sets Device::measured, measured_source and measured_with. A launch that comes twice is a mistake. Older files tell how
// and with which software they were measured in their source's text, always in the same words: it is read for them.
void ReadMeasured(const Node& node, Diagnostics& diagnostics, const std::string& owner, Device& device);
// The entry, indented by four spaces; ends with a newline.
std::string MeasuredText(const Device& device);
// One launch's text, and all of it that tells launches apart.
std::string MeasuredOpText(const MeasuredOp& op);
std::string MeasuredKey(const MeasuredOp& op);

// Entries of a list that say the same under `keys` are mistakes: "a second law for relu forward". Entries that say fewer
// than two of them are left out.
void RefuseRepeated(const Node& list, std::initializer_list<const char*> keys, const char* second,
                    Diagnostics& diagnostics);

// ---- The body of a profile.

// Reads and checks everything but `same_as`. After a mistake the result is not to be used. The caller calls
// reader.Finish().
Machine ReadMachine(MapReader& reader, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_PROFILE_TEXT_H_
