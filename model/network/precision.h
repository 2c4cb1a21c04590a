// The types and the arithmetic of a training step: plain fp32, fp32 multiplied as TF32, autocast, and narrow throughout.
//
// Autocast keeps parameters in fp32 and narrows ops by their kind (LayerKind::autocast). It inserts casts:
//
//   fp32 image --cast--> bf16 --convolution (weight cast to bf16)--> bf16 --batch norm (fp32 scale)--> bf16 --...
//   ... --linear--> bf16 --cast--> fp32 --loss
//
// Each reader casts for itself, as PyTorch does; a layer's copy of a parameter is made once. Gradients of narrowed parameters
// are computed narrow and cast to fp32. Source: the lists of ops in PyTorch's documentation of torch.amp, and
// aten/src/ATen/autocast_mode.cpp.
//
// A sum of a narrow and a wide operand casts the narrow one first; PyTorch converts inside its kernel.
#ifndef SPILLWAY_MODEL_NETWORK_PRECISION_H_
#define SPILLWAY_MODEL_NETWORK_PRECISION_H_

#include <string>
#include <vector>

#include "model/network/network.h"

namespace spillway {

const LayerKind& CastLayer();  // model/layers/cast.cc; not in the table, since no file may name it

struct Precision {
  const char* name = "";  // "fp32", "tf32", "amp-fp16", "amp-bf16", "bf16"
  const char* description = "";
  DataType stored = DataType::kFp32;  // of parameters and their gradients and, without autocast, of all results
  DataType narrow = DataType::kFp32;  // of the ops that autocast narrows; the same as `stored`: no autocast
  MathMode math = MathMode::kFp32;    // of products
  bool scales_loss = false;           // gradients are divided by the loss's factor before the update (GradScaler)
  bool Autocasts() const { return narrow != stored; }
};

const std::vector<Precision>& PrecisionTable();
const Precision& PrecisionByName(const std::string& name);  // UserError with the nearest name

// Trains `network` in the precision: sets its types and, for autocast, inserts layers of kind cast. LayerIds change then.
// REQUIRES: InferShapes(network) succeeded, and the network is of fp32.
void ApplyPrecision(Network& network, const Precision& precision);

// The type in which the layer computes, which is its result's.
inline DataType TypeOf(const Network& network, const Layer& layer) { return layer.type.value_or(network.type); }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_PRECISION_H_
