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
  if (launch.kind == OpKind::kLinear) return out * static_cast<double>(s.in.c * s.in.Spatial() / s.out.Spatial());
  return out * static_cast<double>(s.in.c / s.groups) * WindowSize(s);
}

// Of the parameter that a pass of kind kBackwardBias makes the gradient of.
double BiasElements(const Launch& launch) {
  const OpShape& s = launch.shape;
  if (launch.kind == OpKind::kEmbedding) return static_cast<double>(s.in.c * s.out.c);
  if (launch.kind == OpKind::kScoreBias) {
    const auto& w = s.window;
    return static_cast<double>((2 * w[0] - 1) * (2 * w[1] - 1) * (2 * w[2] - 1) * s.out.c);
  }
  return static_cast<double>(launch.kind == OpKind::kPosition ? s.out.c * s.out.Spatial() : s.out.c);
}

// Whether the pass makes the gradient of a number per plane.
bool MakesPlaneNumbers(const Launch& launch) {
  const bool factor = launch.kind == OpKind::kMultiply && launch.shape.operands == 1;
  return launch.pass == Pass::kBackward && (launch.kind == OpKind::kPlaneAdd || factor);
}

// What the pass writes: the destination of an accumulation.
double DestinationElements(const Launch& launch) {
  if (MakesPlaneNumbers(launch)) return static_cast<double>(launch.shape.in.n * launch.shape.in.c);
  switch (launch.pass) {
    case Pass::kForward:
      return Elements(launch.shape.out);
    case Pass::kBackwardFilter:
      return WeightElements(launch);
    case Pass::kBackwardBias:
      return BiasElements(launch);
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

// Every sum of a product is of window[0] numbers; the second factor has what the other matrices leave.
void AddProductWork(const OpShape& s, double element, Work& work) {
  const double depth = static_cast<double>(s.window[0]), matrices = static_cast<double>(s.in.n * s.groups);
  const double rows = Elements(s.in) / (matrices * depth), columns = Elements(s.out) / (matrices * rows);
  work.flops = 2 * Elements(s.out) * depth;
  work.bytes += element * matrices * depth * columns;
}

// Two products forward, five backward, which computes the scores again. Causal: of the pairs that are not masked.
double AttentionFlops(const Launch& launch) {
  const OpShape& s = launch.shape;
  const double queries = static_cast<double>(s.out.Spatial()), keys = static_cast<double>(s.in.Spatial());
  const double pairs = IsCausal(s.operands) ? queries * (queries + 1) / 2 : queries * keys;
  return (launch.pass == Pass::kForward ? 4 : 10) * pairs * static_cast<double>(s.out.n * s.out.c);
}

// An embedding's numbers are int64. Its input counts as many channels as the vocabulary, so that nothing here hangs on them.
void AddEmbeddingWork(const Launch& launch, double element, Work& work) {
  const bool forward = launch.pass == Pass::kForward;
  work.flops = forward ? 0 : Elements(launch.shape.out);
  work.bytes += static_cast<double>(SizeOf(DataType::kInt64) * launch.shape.out.n * launch.shape.out.Spatial());
  if (!forward) work.bytes += element * BiasElements(launch);
}

// What the rows of the table cannot say.
void AddOwnWork(const Launch& launch, double element, Work& work) {
  const OpShape& s = launch.shape;
  if (launch.kind == OpKind::kProduct) AddProductWork(s, element, work);
  if (launch.kind == OpKind::kAttention) work.flops = AttentionFlops(launch);
  if (launch.kind == OpKind::kEmbedding) AddEmbeddingWork(launch, element, work);
  if (launch.kind == OpKind::kPosition) work.bytes += element * BiasElements(launch);
  if (launch.kind == OpKind::kClassToken && launch.pass == Pass::kBackwardBias) {
    work.bytes = element * static_cast<double>(s.out.n * s.out.c + s.out.c);
  }
  // The gradient of the log-probabilities is written first (model/layers/softmax_loss.cc).
  if (launch.kind == OpKind::kSoftmaxLoss && launch.pass == Pass::kBackward) {
    work.bytes += element * static_cast<double>(s.operands - 1) * Elements(s.in);
  }
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

Work CountWork(const Launch& asked) {
  const Launch launch = AsConvolution(asked);
  const double element = static_cast<double>(SizeOf(launch.type));
  Work work = HasWeights(launch.kind) ? WeightedWork(launch, element) : StreamingWork(launch, element);
  AddOwnWork(launch, element, work);
  const double destination = launch.kind == OpKind::kCast ? 2 * element : element;  // what accumulates is wide
  if (launch.accumulate) work.bytes += destination * DestinationElements(launch);
  return work;
}

}  // namespace spillway
