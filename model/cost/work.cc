// Flops and bytes of one library call. Everything the cost models know of an op's size comes from here.
//
// Bytes: how often each operation passes over its input (in), its output (out), its weights; gradients count as what
// they are the gradient of. Vectors of one element per channel count once each.
//
//   convolution, linear   forward, backward_data, backward_filter: in, out and weights once each
//   bias                  forward: out twice (in place); backward: out once
//   batch norm            forward: statistics, normalise, write = 3 (2 with given statistics);
//                         backward: x and dy for the sums, x and dy again, dx = 5
//   ReLU                  forward x, y; backward y, dy, dx
//   max pooling, LRN      forward x, y; backward x, y, dy, dx
//   average pooling       forward x, y; backward dy, dx
//   dropout               forward x, y; backward dy, dx; a mask of one byte per element each time
//   add                   every operand and the sum;  concat, copy: read and write
//   softmax loss          forward x, p; backward p, dx
//   update                w, v, g read, w, v written
// An op that accumulates reads its destination once more.
#include "model/cost/cost_model.h"

namespace spillway {
namespace {

// How often an operation touches `in` and `out`, and its flops per element of `out` (of `in` for backward passes).
// Flops of everything but convolution and linear are rough: memory binds there.
struct Passes {
  double in = 0, out = 0;
  double flops = 0;
  double mask = 0;     // bytes per element of out
  double vectors = 0;  // of one element per channel of out
};

double Elements(const Shape& shape) { return static_cast<double>(shape.Elements()); }

double WindowSize(const OpShape& s) { return static_cast<double>(s.window[0] * s.window[1] * s.window[2]); }

Passes ForwardPasses(const Launch& launch) {
  const OpShape& s = launch.shape;
  switch (launch.kind) {
    case OpKind::kBias:
      return {.out = 2, .flops = 1, .vectors = 1};
    case OpKind::kBatchNorm:
      return s.operands == 0 ? Passes{.in = 1, .out = 1, .flops = 2, .vectors = 4}
                             : Passes{.in = 2, .out = 1, .flops = 5, .vectors = 4};
    case OpKind::kRelu:
      return {.in = 1, .out = 1, .flops = 1};
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
      return {.in = 1, .out = 1, .flops = WindowSize(s)};
    case OpKind::kLrn:
      return {.in = 1, .out = 1, .flops = 2 * WindowSize(s) + 3};
    case OpKind::kDropout:
      return {.in = 1, .out = 1, .flops = 1, .mask = 1};
    case OpKind::kConcat:
      return {.out = 2};
    case OpKind::kAdd:
      return {.out = static_cast<double>(s.operands) + 1, .flops = static_cast<double>(s.operands - 1)};
    case OpKind::kSoftmaxLoss:
      return {.in = 1, .out = 1, .flops = 4};
    case OpKind::kCopy:
      return {.out = 2};
    default:
      return {};
  }
}

Passes BackwardPasses(const Launch& launch) {
  const OpShape& s = launch.shape;
  switch (launch.kind) {
    case OpKind::kBias:
      return {.out = 1, .flops = 1, .vectors = 1};
    case OpKind::kBatchNorm:
      return {.in = 3, .out = 2, .flops = 8, .vectors = 5};
    case OpKind::kRelu:
      return {.in = 1, .out = 2, .flops = 1};
    case OpKind::kMaxPool:
      return {.in = 2, .out = 2, .flops = 1};
    case OpKind::kAveragePool:
      return {.in = 1, .out = 1, .flops = 1};
    case OpKind::kLrn:
      return {.in = 2, .out = 2, .flops = 2 * WindowSize(s) + 5};
    case OpKind::kDropout:
      return {.in = 1, .out = 1, .flops = 1, .mask = 1};
    case OpKind::kSoftmaxLoss:
      return {.in = 1, .out = 1, .flops = 2};
    default:
      return ForwardPasses(launch);  // concat, add, copy: the same work either way
  }
}

double WeightElements(const Launch& launch) {
  const OpShape& s = launch.shape;
  const double out = static_cast<double>(s.out.c);
  if (launch.kind == OpKind::kLinear) return out * static_cast<double>(s.in.c * s.in.Spatial());
  return out * static_cast<double>(s.in.c / s.groups) * WindowSize(s);
}

// What the pass writes: the destination of an accumulation.
double DestinationElements(const Launch& launch) {
  switch (launch.pass) {
    case Pass::kForward:
      return Elements(launch.shape.out);
    case Pass::kBackwardFilter:
      return WeightElements(launch);
    case Pass::kBackwardBias:
      return static_cast<double>(launch.shape.out.c);
    case Pass::kBackward:
      return Elements(launch.kind == OpKind::kConcat ? launch.shape.out : launch.shape.in);
    default:
      return Elements(launch.shape.in);
  }
}

// Each weight is used once per sample and output position, whichever of the three operands is computed.
Work WeightedWork(const Launch& launch, double element) {
  const double weights = WeightElements(launch);
  const double uses = static_cast<double>(launch.shape.out.n * launch.shape.out.Spatial());
  return {.flops = 2 * weights * uses,
          .bytes = element * (weights + Elements(launch.shape.in) + Elements(launch.shape.out))};
}

Work UpdateWork(const Launch& launch, double element) {
  const double vectors = static_cast<double>(launch.shape.operands);
  const double elements = Elements(launch.shape.in);
  return {.flops = 2 * (vectors - 1) * elements, .bytes = element * (2 * vectors - 1) * elements};
}

Work StreamingWork(const Launch& launch, double element) {
  const bool forward = launch.pass == Pass::kForward;
  const Passes p = forward ? ForwardPasses(launch) : BackwardPasses(launch);
  const double in = Elements(launch.shape.in), out = Elements(launch.shape.out);
  return {.flops = p.flops * (forward ? out : in),
          .bytes =
              element * (p.in * in + p.out * out + p.vectors * static_cast<double>(launch.shape.out.c)) + p.mask * out};
}

}  // namespace

Launch LaunchOf(const Op& op) {
  return {.kind = op.kind,
          .pass = op.pass,
          .shape = op.shape,
          .type = op.type,
          .layout = op.layout,
          .math = op.math,
          .accumulate = op.accumulate};
}

Work CountWork(const Launch& launch) {
  const double element = static_cast<double>(SizeOf(launch.type));
  const bool weighted = launch.kind == OpKind::kConvolution || launch.kind == OpKind::kLinear;
  Work work = weighted                         ? WeightedWork(launch, element)
              : launch.kind == OpKind::kUpdate ? UpdateWork(launch, element)
                                               : StreamingWork(launch, element);
  if (launch.accumulate) work.bytes += element * DestinationElements(launch);
  return work;
}

}  // namespace spillway
