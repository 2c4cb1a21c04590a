// Models and laws of one device carried to another one without a sample of it, and what carrying costs.
//
// A model's parameters are fractions of peak and bandwidth (model/kernels/kernel_form.h), so that they hold on any chip
// as far as chips are alike. How far they are is found out on chips that are known: each is left out in turn, gets the
// models carried to it, and these are held against its own.
//
// Tested by carry_test.
#ifndef SPILLWAY_CALIBRATE_FIT_CARRY_H_
#define SPILLWAY_CALIBRATE_FIT_CARRY_H_

#include <span>
#include <string>
#include <vector>

#include "model/profile/machine.h"

namespace spillway {

// Standard deviations of the logarithm of own / carried time, as in KernelModel: what all launches of a chip share, as
// the root of the mean square over the chips, and what each launch has of its own.
struct CarryCost {
  double shared = 0, own = 0;
  std::vector<std::string> chips;  // profiles that were left out
  int launches = 0;                // compared, over all of them
  bool operator==(const CarryCost&) const = default;
};

// Of `base` everything but its kernels; models and laws of the first device of `teacher` with errors wider by `cost`, all
// assumed. Nothing measured stays. Throws UserError where one device is a processor and the other is not.
Machine Carried(Machine base, const Machine& teacher, const CarryCost& cost);

// The launches of ResNet-50 and VGG-16 at batch 64 that both profiles have published or measured costs for. Chips of the
// teacher's figures, and those that take their models from another profile, tell nothing and are left aside.
CarryCost CostOfCarrying(const Machine& teacher, std::span<const Machine> known);
// The same over the shipped profiles.
CarryCost CostOfCarrying(const Machine& teacher);

// "31 % for all launches of a chip and 26 % for each, by 210 launches on p100-x86-pcie3, v100-x86-pcie3".
std::string CarryText(const CarryCost& cost);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_CARRY_H_
