// Fits kernel models to the samples of one device.
//
// All algorithms of one (op, pass, math) are fitted together, in the logarithm of the time (fit/solve.h says how), each
// form's parameters drawn to the form's start values, or to what another device taught (`carried`). What a harness adds
// to every call is found apart, and so is how software stacks differ (fit/group.h): the models are those of the stack
// with most layers, the newer of two alike, by op, pass and math. Errors come from cross-validation: layers are
// predicted by fits that have not seen them, nor, where the others suffice, anything of their network or source.
// Deterministic.
#ifndef SPILLWAY_CALIBRATE_FIT_FIT_H_
#define SPILLWAY_CALIBRATE_FIT_FIT_H_

#include <span>
#include <string>
#include <vector>

#include "model/kernels/kernel_form.h"
#include "model/profile/machine.h"
#include "model/samples/file.h"
#include "model/samples/sample.h"

namespace spillway {

// Operations that a fit takes of larger files: hundreds for each parameter, in seconds.
constexpr SampleLimits kFitted{.kernels = 10'000, .copies = 300};

struct FitDevice {
  std::string name;  // as the samples have it
  Chip chip;
};

struct FitOptions {
  // The devices whose samples are used: one, or siblings that share their architecture (the PCIe and the SXM2 board of
  // one chip), each with its own figures, since the forms are fractions of those. Samples of others are left aside.
  std::vector<FitDevice> devices;
  // Models of another device's profile, and how to name that device in ours. They are the priors of the same form, op,
  // pass and algorithm, and are taken over where there are no samples at all.
  std::vector<KernelModel> carried;
  std::string carried_from;
  double stack_error = 0.15;  // of the profile (model/profile/machine.h): for the report on steps
  int folds = 5;              // of the cross-validation; 0 = none, errors are then wide guesses
  // The forms of the devices' platform; empty = GPUs.
  std::span<const KernelForm> forms{};
  int threads = 1;  // for the groups; the result does not depend on it
};

// The time that the samples' harness spends on a call, which is part of no model. The harness shows
//   added + (kernel^6 + floor^6)^(1/6)
// (Observe in fit/layout.h): `added` passes before the kernel starts (a framework looking its algorithm up), `floor`
// while it runs. Both drift from the first of the harness' samples to the last, in the order of the files: PyTorch's
// look-up grows with all that it has run before. At the place u, 0 to 1: floor = first + (last - first) u,
// added = first + (last - first) u^added_power.
struct HarnessFloor {
  std::string harness;
  OpKind op = OpKind::kConvolution;
  Pass pass = Pass::kForward;
  std::string math;
  double first_ns = 0, last_ns = 0;              // floor
  double first_added_ns = 0, last_added_ns = 0;  // added
  double added_power = 1;
  bool operator==(const HarnessFloor&) const = default;
};

// A sample predicted by a fit that has not seen its layer.
struct HeldOut {
  int sample = 0;           // index into the samples given
  double predicted_us = 0;  // of the algorithm that was measured where it is known and not the autotuner's choice,
                            // else of the fastest; harness floor included
  double reference_us = 0;  // as predicted_us, at the rates of the reference stack: what a profile's models say
  std::string algorithm;    // the one predicted to be fastest
  double shared_error = 0, own_error = 0;  // as that fit's model states them; of the whole fit
  bool operator==(const HeldOut&) const = default;
};

struct FitResult {
  std::vector<KernelModel> models;  // by op, pass, math, algorithm
  std::vector<HarnessFloor> floors;
  std::vector<SoftwareStack>
      stacks;                     // of each op, pass and math that several took samples of, the reference among them
  std::vector<HeldOut> held_out;  // by sample; only those a model serves
  std::vector<HeldOut> outside;   // the same of left-out networks and sources (fit/folds.h), where they could be made
  std::vector<std::string> warnings;  // what was weakened and why: one sentence each
};

// Throws UserError: no sample of a kernel with a time; `devices` empty while the samples name several (all are named);
// a device of `devices` without a sample; a carried model of an unknown form or with other parameters.
FitResult Fit(std::span<const Sample> samples, const FitOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_FIT_H_
