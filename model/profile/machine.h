// A machine profile: devices with what is known of their kernels, host memory nodes and the links between them, with the
// origin of every number.
//
// One GPU is a list of length one: every stream, buffer and limit in Spillway names its device by index.
// Machines are written as YAML (hw/*.yaml); nothing in the code knows a particular one.
#ifndef SPILLWAY_MODEL_PROFILE_MACHINE_H_
#define SPILLWAY_MODEL_PROFILE_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/machine/figures.h"
#include "hw/machine/math_peaks.h"
#include "hw/machine/shipped.h"
#include "model/step/op_kind.h"

namespace spillway {

// The host's cost of issuing one kind of op; ops and passes have the names that models use.
struct LaunchCost {
  OpKind op = OpKind::kConvolution;
  Pass pass = Pass::kForward;
  Nanos time = 0;
  bool operator==(const LaunchCost&) const = default;
};

// The time that each kind of host call takes on the issuing thread.
struct HostCosts {
  Nanos kernel_launch = 0, copy_submit = 0, event_record = 0, stream_wait = 0, pool_alloc = 0, pool_free = 0, sync = 0;
  Source source;
  // In place of kernel_launch, for the ops and passes that it names, each once. Empty: kernel_launch holds for all.
  std::vector<LaunchCost> launches = {};
  Source launches_source = {};
  bool operator==(const HostCosts&) const = default;
};

// One row of the first cost model: time = fixed + max(flops / (flop_fraction x peak), bytes / (bandwidth_fraction x
// memory bandwidth)). A fraction of 0 means that this resource does not bind. Rows are matched by op and pass, then by
// window: "1x1", "3x3", "7x7", "3x3x3", kGroupedWindow; "" matches every window and is used where no closer row exists.
struct CostLaw {
  OpKind op = OpKind::kConvolution;
  Pass pass = Pass::kForward;
  std::string window;
  double flop_fraction = 0;
  double bandwidth_fraction = 0;
  Nanos fixed = 0;
  Bytes workspace = 0;         // what the op wants; granted by the plan
  double error = 0.3;          // relative error, one standard deviation
  double copy_slowdown = 1.0;  // factor on the kernel's time while a copy runs in either direction, >= 1
  Source source;
  bool operator==(const CostLaw&) const = default;
};
constexpr const char* kGroupedWindow = "grouped";  // of convolutions in groups, whatever their window

// One fitted cost law: a form (model/kernels/kernel_form.h) with the parameters found for this device. Preferred to `laws`.
struct KernelModel {
  struct Parameter {
    std::string name;
    double value = 0;
    bool operator==(const Parameter&) const = default;
  };
  std::string form;  // "winograd_nonfused"
  OpKind op = OpKind::kConvolution;
  Pass pass = Pass::kForward;
  std::string algorithm;  // the library's name for it; "" where there is no choice
  std::string math = "fp32";
  std::vector<Parameter> parameters;  // exactly those of the form, in its order
  // Standard deviations of the logarithm of measured / predicted: what all launches of this model share on one device
  // and software stack, and what each launch has of its own.
  double shared_error = 0.1;
  double own_error = 0.2;
  double copy_slowdown = 1.0;  // as in CostLaw
  // Range of the samples, in flops of the launch (bytes where it has next to no flops); 0, 0 = not known. An answer
  // outside says so.
  double least_work = 0, most_work = 0;
  Source source;
  bool operator==(const KernelModel&) const = default;
};

// The overhead of a measuring harness ("pytorch-2.1-events"): the time that it adds to a kernel, and the least time
// that it shows for a call. Neither is part of a kernel's time. Used to compare predictions with samples of that
// harness.
struct CallFloor {
  std::string harness;
  OpKind op = OpKind::kConvolution;
  std::optional<Pass> pass;  // nullopt: every one
  Nanos added = 0, floor = 0;
  std::string math{};  // "fp32"; "" = every one
  bool operator==(const CallFloor&) const = default;
};

// How fast a software stack runs the kernels of one op, where the samples of a fit are of several: factors relative to
// the reference stack, whose rates `models` have and whose own factors are 1. Kept to compare predictions with samples
// of that stack. calibrate/fit/group.h says what the factors are and how stacks are named.
struct SoftwareStack {
  std::string name;
  OpKind op = OpKind::kConvolution;
  Pass pass = Pass::kForward;
  std::string math = "fp32";
  double arithmetic = 1, memory = 1, special = 1;
  bool operator==(const SoftwareStack&) const = default;
};

// The measured time of one launch on this very machine, with the launch's key as text (model/profile/launch_text.h).
// Preferred to `models`, which serve launches that were not measured.
struct MeasuredOp {
  OpKind op = OpKind::kConvolution;
  Pass pass = Pass::kForward;
  std::string shape;      // "32x16x8x8 -> 32x32x8x8 window 3x3 pad 1x1"
  std::string algorithm;  // the library's name for it; "" where there is no choice
  std::string math = "fp32", precision = "fp32", layout = "nchw";
  bool accumulate = false;
  Nanos time = 0;
  double error = 0.02;         // relative, one standard deviation: how far the time strays from run to run
  Bytes workspace = 0;         // what a plan has to grant for it; 0 for ops that are granted none
  double copy_slowdown = 1.0;  // as in CostLaw; 1 = not measured, the model's holds
  bool operator==(const MeasuredOp&) const = default;
};

// In what state a launch that was timed alone found its operands.
enum class OperandState : std::uint8_t {
  kStep,  // as a training step leaves them
  kCold,  // all in memory
  kWarm,  // in the caches as far as they fit
};
const std::vector<std::string>& OperandStateNames();  // "step", "cold", "warm"

// How and with what the launches of `measured` were timed; a version that is "" is not known, or of no such software.
struct MeasuredWith {
  OperandState operands = OperandState::kStep;
  std::string driver, cuda, cudnn;
  bool operator==(const MeasuredWith&) const = default;
};

struct Device {
  std::string name;
  Bytes total_memory = 0;
  Bytes reserve = 0;            // device context and library; never available
  double pool_fraction = 1.0;   // share of (total - reserve) that a training run may plan with
  double peak_flops = 0;        // fp32 operations per nanosecond
  MathPeaks math_peaks{};       // of products in other arithmetic, where the profile states them
  Source math_source{};         // of math_peaks
  double memory_bandwidth = 0;  // bytes per nanosecond
  int multiprocessors = 0;
  Bytes l2_cache = 0;  // 0 = not known
  HostCosts host_costs;
  std::vector<CostLaw> laws;
  std::string models_from;  // the profile whose first device taught the three below; "" = this one's own
  std::vector<KernelModel> models;
  std::vector<CallFloor> call_floors;
  std::vector<SoftwareStack> stacks;
  std::string cudnn{};               // its version, where the profile names one: "8.9"; "" = not known
  std::vector<MeasuredOp> measured;  // no launch twice with one algorithm
  Source measured_source{Source::Kind::kMeasured, "on this machine"};
  MeasuredWith measured_with;
  // Standard deviation of the logarithm that all kernel times share: what another driver, library version, clock or
  // cooling does to one kernel it does to all. Measured profiles of the very machine have less.
  double stack_error = 0.15;
  Source source;  // of the figures above
  Source memory_source;

  // The peak of products in `mode`: what the profile states, else that of fp32.
  double PeakOf(MathMode mode) const { return math_peaks.Of(mode) > 0 ? math_peaks.Of(mode) : peak_flops; }
  bool StatesPeakOf(MathMode mode) const { return mode == MathMode::kFp32 || math_peaks.Of(mode) > 0; }

  // pool_fraction x (total_memory - reserve), rounded down to 512 bytes.
  Bytes UsableMemory() const;
  bool operator==(const Device&) const = default;
};

struct Machine {
  std::string name;
  std::string description;
  std::string software;            // the stack that the numbers belong to
  std::vector<std::string> notes;  // what is missing, what was chosen and why
  std::vector<Device> devices;
  std::vector<HostNode> hosts;
  std::vector<Link> links;

  // The link between a device and the host node nearest to it (the first listed). REQUIRES: a valid machine.
  const Link& LinkOf(int device) const;
  bool operator==(const Machine&) const = default;
};

// Loads a profile. `name_or_path` is the name of a shipped profile ("v100-x86-pcie3") or a path ending in .yaml.
// A profile may name another one (`same_as: other`) and then is that one under a second name, notes added.
// The keys of a profile are listed in machine_keys.cc.
// Throws UserError: unknown name (nearest named), or anything wrong in the file, all at once. A name that this program does
// not know is wrong too: of an op, a pass, a kernel form, its parameters, an algorithm.
Machine LoadMachine(const std::string& name_or_path);
// Reads a machine from text. `file` is for messages; a profile named by `same_as` is searched in its folder.
Machine ParseMachine(const std::string& text, const std::string& file);
// The profile as YAML; loading it again gives an equal machine.
std::string MachineToYaml(const Machine& machine);
// MachineToYaml for a file. Throws UserError where a figure is one that no reader accepts, so that no such file is written.
std::string ReadableProfile(const Machine& machine);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_MACHINE_H_
