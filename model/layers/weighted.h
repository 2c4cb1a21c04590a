// The ops that convolution and linear layers have in common: one call per direction, all over the same weights.
#ifndef SPILLWAY_MODEL_LAYERS_WEIGHTED_H_
#define SPILLWAY_MODEL_LAYERS_WEIGHTED_H_

#include "model/step/step_writer.h"

namespace spillway {

// Weight (and bias, if the layer has one) for a weight of the given shape.
std::vector<ParameterShape> WeightAndBias(const LayerAttributes& attributes, const Shape& weight);

void EmitWeighted(StepWriter& b, OpKind kind);

// Saves the layer's input. Two orders are in use: bias, filter, data (Caffe), where the input can go before the
// gradient of it exists; and data, filter, bias (Chainer, PyTorch): StepOptions::data_first.
void EmitWeightedBackward(StepWriter& b, OpKind kind);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_WEIGHTED_H_
