// What to tell whoever asks for an arithmetic that a card does not have.
//
// PyTorch multiplies as TF32 from compute capability 8 on, and in fp32 below. bf16 runs emulated there by 2.15
// (including_emulation of torch.cuda.is_bf16_supported); 1.13 refuses autocast to it (torch/amp/autocast_mode.py).
#ifndef SPILLWAY_SCENARIOS_RUN_PRECISION_WARNING_H_
#define SPILLWAY_SCENARIOS_RUN_PRECISION_WARNING_H_

#include <string>

#include "model/profile/machine.h"

namespace spillway {

// "": the machine's first device states a peak for products in the precision, or there is no such precision.
std::string PrecisionWarning(const std::string& precision, const Machine& machine);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_PRECISION_WARNING_H_
