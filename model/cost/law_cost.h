// Costs by the laws of a profile, and by the chip's figures where there is none.
#ifndef SPILLWAY_MODEL_COST_LAW_COST_H_
#define SPILLWAY_MODEL_COST_LAW_COST_H_

#include "model/cost/cost_model.h"

namespace spillway {

// The errors of one law's answers add up: what is wrong about it is wrong for all of its kernels.
Cost CostByLaw(const Device& device, const Launch& launch);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_LAW_COST_H_
