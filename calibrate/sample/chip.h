// A known device as the cost laws see it.
#ifndef SPILLWAY_CALIBRATE_SAMPLE_CHIP_H_
#define SPILLWAY_CALIBRATE_SAMPLE_CHIP_H_

#include "hw/machine/chips.h"
#include "model/cost/kernel_form.h"

namespace spillway {

Chip ChipOf(const ChipFigures& figures);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_SAMPLE_CHIP_H_
