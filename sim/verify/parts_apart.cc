#include "sim/verify/parts_apart.h"

namespace spillway::verifying {

bool ComputesSamplesApart(const Op& op) {
  switch (op.kind) {
    case OpKind::kBias:
    case OpKind::kRelu:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
    case OpKind::kLrn:
    case OpKind::kConcat:
    case OpKind::kAdd:
    case OpKind::kLinear:
    case OpKind::kCopy:
    case OpKind::kTransposedConvolution:
    case OpKind::kResize:
    case OpKind::kSlice:
    case OpKind::kActivation:
    case OpKind::kPrelu:
    case OpKind::kScale:
    case OpKind::kMultiply:
      return true;
    case OpKind::kGroupNorm:  // backward sums the gradients of scale and shift over samples beside its result
    case OpKind::kLayerNorm:
      return op.pass == Pass::kForward;
    case OpKind::kSoftmax:
    case OpKind::kProduct:
    case OpKind::kEmbedding:
    case OpKind::kPosition:
    case OpKind::kClassToken:
    case OpKind::kRope:
    case OpKind::kRearrange:
    case OpKind::kScoreBias:
    case OpKind::kPlaneAdd:
      return true;
    case OpKind::kAttention:  // its mask is drawn for all samples at once
      return !DrawsMask(op.shape.operands);
    default:
      return false;
  }
}

Apart PlacesApart(const Op& op) {
  switch (op.kind) {
    case OpKind::kBias:
    case OpKind::kRelu:
    case OpKind::kAdd:
    case OpKind::kCopy:
      return {true, true};
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:  // rows where no window reads another one's, nor padding
      return {true, op.shape.window[1] == op.shape.stride[1] && op.shape.pad[1] == Padding(0)};
    case OpKind::kLrn:
      return {false, true};
    default:
      return {};
  }
}

}  // namespace spillway::verifying
