// Flops and bytes of one library call. Everything the cost models know of an op's size comes from here.
//
// Bytes: of a convolution and a linear layer input, output and weights once each, in every pass; of all others as the
// table in model/step/op_kind.h has it. Gradients count as what they are the gradient of.
// An op that accumulates reads its destination once more.
#include "model/step/launch.h"

namespace spillway {
namespace {

double Elements(const Shape& shape) { return static_cast<double>(shape.Elements()); }

double WindowSize(const OpShape& s) { return static_cast<double>(s.window[0] * s.window[1] * s.window[2]); }

// Batch norm with given statistics, as in inference: normalise and write.
constexpr OpTraffic kGivenStatistics{.in = 1, .out = 1, .vectors = 4, .flops = 2};

const OpTraffic& TrafficOf(const Launch& launch) {
  if (launch.pass != Pass::kForward) return TraitsOf(launch.kind).backward;
  const bool given = launch.kind == OpKind::kBatchNorm && launch.shape.operands == 0;
  return given ? kGivenStatistics : TraitsOf(launch.kind).forward;
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

Work StreamingWork(const Launch& launch, double element) {
  const OpTraffic& t = TrafficOf(launch);
  const double operands = static_cast<double>(launch.shape.operands);
  const double in = Elements(launch.shape.in), out = Elements(launch.shape.out);
  const double flops = t.flops + t.flops_per_operand * operands + t.flops_per_window * WindowSize(launch.shape);
  const double elements = (t.in + t.in_per_operand * operands) * in + (t.out + t.out_per_operand * operands) * out +
                          t.vectors * static_cast<double>(launch.shape.out.c);
  return {.flops = flops * (launch.pass == Pass::kForward ? out : in), .bytes = element * elements + t.mask * out};
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

Launch RecomputationOf(const Op& op) {
  Launch launch = LaunchOf(op);
  launch.recomputation = op.recompute_differs;
  return launch;
}

Work CountWork(const Launch& launch) {
  const double element = static_cast<double>(SizeOf(launch.type));
  Work work = HasWeights(launch.kind) ? WeightedWork(launch, element) : StreamingWork(launch, element);
  if (launch.accumulate) work.bytes += element * DestinationElements(launch);
  return work;
}

}  // namespace spillway
