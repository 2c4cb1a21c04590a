// What backward saves beyond what its arithmetic needs, by framework and version: a row of a table, no forks in the code.
//
// A layer saves what its backward op reads (model/README.md). Frameworks save more, or something else, by their own derivative
// formulas. Those of PyTorch: torch/csrc/autograd, and saved tensors looked at in 1.13.1 and 2.15.0 on a processor.
#ifndef SPILLWAY_MODEL_UNROLL_SAVED_TENSORS_H_
#define SPILLWAY_MODEL_UNROLL_SAVED_TENSORS_H_

#include <array>

#include "model/step/tensor.h"

namespace spillway {

struct SavedTensors {
  const char* name;
  // Max pooling: the input and an int64 place for each element of the result. False: input and result.
  bool pool_indices = false;
  bool pooled_input = false;           // average pooling with a window: its input
  bool globally_pooled_input = false;  // average pooling over the whole image: its input
  bool wide_mask = false;              // dropout: the mask in the type of what it multiplies; false: a byte
  bool repeated_scale = false;         // instance norm: its scale repeated for each sample
  bool labels = false;                 // the loss: int64 labels; a gradient of the log-probabilities, in backward alone
  // A convolution that is frozen: its input, which its weight's gradient alone would read.
  bool frozen_convolution_input = false;
  bool fused_attention = true;  // false: attention is written out, whatever its layer says
  constexpr DataType MaskType(DataType factor) const { return wide_mask ? factor : DataType::kBool; }
};

// 1.13 on a processor draws dropout's mask in the input's type, 16 bits too (the saved factor of MulBackward0). Its global average pooling is a pooling, which saves its
// input; that of 2.x is a mean, which saves nothing. One formula gives all gradients of a convolution and saves what any
// of them reads; a linear layer has a formula for each.
inline constexpr std::array<SavedTensors, 3> kSavedTensors{{
    {.name = "what arithmetic needs"},
    {.name = "torch-1.13",
     .pool_indices = true,
     .pooled_input = true,
     .globally_pooled_input = true,
     .wide_mask = true,
     .repeated_scale = true,
     .labels = true,
     .frozen_convolution_input = true,
     .fused_attention = false},
    {.name = "torch-2",
     .pool_indices = true,
     .pooled_input = true,
     .repeated_scale = true,
     .labels = true,
     .frozen_convolution_input = true},
}};
inline constexpr const SavedTensors& kSavedByArithmetic = kSavedTensors[0];
inline constexpr const SavedTensors& kSavedByTorch113 = kSavedTensors[1];
inline constexpr const SavedTensors& kSavedByTorch2 = kSavedTensors[2];

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UNROLL_SAVED_TENSORS_H_
