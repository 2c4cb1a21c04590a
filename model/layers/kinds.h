// The layer kinds by name of their constant; layer_kinds.cc puts them into a table.
#ifndef SPILLWAY_MODEL_LAYERS_KINDS_H_
#define SPILLWAY_MODEL_LAYERS_KINDS_H_

#include "model/network/layer_kind.h"

namespace spillway {

extern const LayerKind kAddLayer;
extern const LayerKind kAveragePoolLayer;
extern const LayerKind kBatchNormLayer;
extern const LayerKind kConcatLayer;
extern const LayerKind kConvolutionLayer;
extern const LayerKind kDropoutLayer;
extern const LayerKind kLinearLayer;
extern const LayerKind kLrnLayer;
extern const LayerKind kMaxPoolLayer;
extern const LayerKind kReluLayer;
extern const LayerKind kSoftmaxLossLayer;

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_KINDS_H_
