// The bias of convolution and linear layers: ops of their own, in place on the layer's result.
#ifndef SPILLWAY_MODEL_LAYERS_BIAS_H_
#define SPILLWAY_MODEL_LAYERS_BIAS_H_

#include "model/step/step_writer.h"

namespace spillway {

// Both do nothing for a layer without bias. The bias is its parameter 1.
void EmitBias(StepWriter& b);
void EmitBiasGradient(StepWriter& b);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_BIAS_H_
