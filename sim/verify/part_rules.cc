#include "sim/verify/part_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::verifying {

namespace {

const Box kOnePlace = WholeOf({});

// The operands of a convolution by what they are, whatever the pass: input, weight and output of the forward op, or the
// gradients in their place.
struct ConvolutionBoxes {
  Box in, weight, out;
};

ConvolutionBoxes ConvolutionBoxesOf(const Op& op, const std::function<Box(TensorId)>& touched) {
  switch (op.pass) {
    case Pass::kForward:
      return {touched(op.reads[0]), touched(op.reads[1]), touched(op.writes[0])};
    case Pass::kBackwardData:
      return {touched(op.writes[0]), touched(op.reads[0]), touched(op.reads[1])};
    default:
      return {touched(op.reads[0]), touched(op.writes[0]), touched(op.reads[1])};
  }
}

ConvolutionBoxes WholeBoxesOf(const Op& op) {
  const OpShape& s = op.shape;
  return {WholeOf(s.in), WholeOf({s.out.c, s.in.c / s.groups, s.window[0], s.window[1], s.window[2]}), WholeOf(s.out)};
}

bool SameRange(const Box& a, std::size_t axis, const Box& b, std::size_t other) {
  return a.begin[axis] == b.begin[other] && a.end[axis] == b.end[other];
}

// Channels: the weight's rows are the output's channels and its columns the input's. Groups are not divided.
std::string ChannelFault(const Op& op, const ConvolutionBoxes& b) {
  if (op.shape.groups > 1) {
    const bool whole = b.in.begin[kChannelAxis] == 0 && b.in.end[kChannelAxis] == op.shape.in.c &&
                       b.out.Size(kChannelAxis) == op.shape.out.c && b.weight.Size(kBatchAxis) == op.shape.out.c &&
                       b.weight.Size(kChannelAxis) == op.shape.in.c / op.shape.groups;
    return whole ? "" : "channels of a grouped convolution are not divided";
  }
  if (!SameRange(b.weight, kBatchAxis, b.out, kChannelAxis)) return "weight and output differ in output channels";
  if (!SameRange(b.weight, kChannelAxis, b.in, kChannelAxis)) return "weight and input differ in input channels";
  return "";
}

// Along one axis of space. Output o reads the places from o * stride - pad on. `first`: the place that the part's first
// output begins at, `last`: one past that of its last output.
std::string SpaceFault(const Op& op, const Launch& launch, const ConvolutionBoxes& b, std::size_t k) {
  const std::size_t axis = kDepthAxis + k;
  const std::int64_t window = op.shape.window[k], stride = op.shape.stride[k], pad = op.shape.pad[k].begin;
  const std::int64_t size = Sizes(op.shape.in)[axis], outputs = Sizes(op.shape.out)[axis];
  const std::int64_t first = b.out.begin[axis] * stride - pad;
  const std::int64_t last = (b.out.end[axis] - 1) * stride - pad + window;
  const Padding& padded = launch.shape.pad[k];
  if (padded.begin != b.in.begin[axis] - first) {
    return fmt::format("along axis {} the input begins {} before the window does, the launch pads {}", axis,
                       b.in.begin[axis] - first, padded.begin);
  }
  if (padded.begin < 0 || padded.end < 0) return "negative padding";
  const std::int64_t slides = b.in.Size(axis) + padded.Sum() - window;
  if (slides < 0 || slides / stride + 1 != b.out.Size(axis)) {
    return fmt::format("along axis {} the launch's input gives another number of outputs", axis);
  }
  if (op.pass == Pass::kBackwardData) {
    // Every output whose window touches the part's input.
    const std::int64_t reach = b.in.begin[axis] + pad - window;
    const std::int64_t begin = reach < 0 ? 0 : reach / stride + 1;
    const std::int64_t to = std::min(outputs, (b.in.end[axis] - 1 + pad) / stride + 1);
    return b.out.begin[axis] <= begin && b.out.end[axis] >= to ? "" : "an output that reads the part is left out";
  }
  // What a window reads and the part has not must be padding of the whole op.
  const bool before = b.in.begin[axis] <= std::max<std::int64_t>(0, first);
  const bool behind = b.in.end[axis] >= std::min(size, last);
  return before && behind ? "" : "a window reaches places that the part does not read";
}

// `shape`: what the launch's is to be, but for its padding.
std::string LaunchFault(const Op& op, const Launch& launch, OpShape shape) {
  const bool same_kind = launch.kind == op.kind && launch.pass == op.pass && launch.type == op.type &&
                         launch.layout == op.layout && launch.math == op.math;
  if (!same_kind) return "the launch is of another kind of op";
  if (launch.shape.in != shape.in || launch.shape.out != shape.out) {
    return fmt::format("the launch is of {} -> {}, the boxes are {} -> {}", ShapeText(launch.shape.in),
                       ShapeText(launch.shape.out), ShapeText(shape.in), ShapeText(shape.out));
  }
  shape.pad = launch.shape.pad;
  return launch.shape == shape ? "" : "the launch has another window";
}

OpShape Resized(OpShape shape, const Shape& in, const Shape& out) {
  shape.in = in;
  shape.out = out;
  return shape;
}

Part ConvolutionPart(const Op& op, const Launch& launch, const std::function<Box(TensorId)>& touched) {
  const ConvolutionBoxes b = ConvolutionBoxesOf(op, touched);
  Part part{.fault = LaunchFault(op, launch, Resized(op.shape, b.in.Shape(), b.out.Shape())),
            .summed = kOnePlace,
            .all = kOnePlace};
  const ConvolutionBoxes whole = WholeBoxesOf(op);
  const bool inside = Contains(whole.weight, b.weight) && Contains(whole.out, b.out) &&
                      (op.pass != Pass::kBackwardData || Contains(whole.in, b.in));
  if (part.fault.empty() && !inside) part.fault = "it reaches beyond the tensor";
  if (part.fault.empty() && !SameRange(b.in, kBatchAxis, b.out, kBatchAxis))
    part.fault = "input and output differ in samples";
  if (part.fault.empty()) part.fault = ChannelFault(op, b);
  for (std::size_t k = 0; k < 3 && part.fault.empty(); ++k) {
    const std::size_t axis = kDepthAxis + k;
    if (b.weight.Size(axis) != op.shape.window[k]) part.fault = "the window is not divided";
    if (part.fault.empty()) part.fault = SpaceFault(op, launch, b, k);
  }
  if (op.pass == Pass::kForward) {
    part.summed = WithRange(kOnePlace, kChannelAxis, b.weight.begin[kChannelAxis], b.weight.end[kChannelAxis]);
    part.all = WithRange(kOnePlace, kChannelAxis, 0, op.shape.in.c / op.shape.groups);
  } else if (op.pass == Pass::kBackwardData) {
    part.summed = WithRange(kOnePlace, kChannelAxis, b.out.begin[kChannelAxis], b.out.end[kChannelAxis]);
    part.all = WithRange(kOnePlace, kChannelAxis, 0, op.shape.out.c);
  } else {
    part.summed = WithRange(b.out, kChannelAxis, 0, 1);
    part.all = WithRange(WholeOf(op.shape.out), kChannelAxis, 0, 1);
  }
  return part;
}

bool ComputesSamplesApart(OpKind kind) {
  switch (kind) {
    case OpKind::kBias:
    case OpKind::kRelu:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
    case OpKind::kLrn:
    case OpKind::kConcat:
    case OpKind::kAdd:
    case OpKind::kLinear:
    case OpKind::kCopy:
      return true;
    default:
      return false;
  }
}

// The same samples of everything that has samples, and all of the parameters.
Part SamplesPart(const TrainingStep& step, const Op& op, const Launch& launch,
                 const std::function<Box(TensorId)>& touched) {
  Part part{.fault = "", .summed = kOnePlace, .all = kOnePlace};
  if (!ComputesSamplesApart(op.kind)) {
    part.fault = fmt::format("an op of kind {} has no parts", OpKindName(op.kind));
    return part;
  }
  const std::int64_t samples = launch.shape.in.n;
  Shape in = op.shape.in, out = op.shape.out;
  in.n = out.n = samples;
  part.fault = LaunchFault(op, launch, Resized(op.shape, in, out));
  if (part.fault.empty() && launch.shape.pad != op.shape.pad) part.fault = "the launch has another padding";
  Box range;
  bool found = false, sums = false;
  for (const std::vector<TensorId>* list : {&op.reads, &op.writes}) {
    for (const TensorId t : *list) {
      const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
      const Box box = touched(t), whole = WholeOf(tensor.shape);
      if (!Contains(whole, box)) part.fault = "it reaches beyond the tensor";
      if (tensor.Traits().of_parameters) {
        if (box != whole) part.fault = "parameters are not divided";
        sums = sums || (list == &op.writes);
        continue;
      }
      if (found && !SameRange(box, kBatchAxis, range, kBatchAxis)) part.fault = "operands differ in samples";
      if (WithRange(box, kBatchAxis, 0, tensor.shape.n) != whole) part.fault = "it is divided within a sample";
      range = box, found = true;
    }
  }
  if (part.fault.empty() && range.Size(kBatchAxis) != samples) part.fault = "the launch has another number of samples";
  if (sums) {
    part.summed = WithRange(kOnePlace, kBatchAxis, range.begin[kBatchAxis], range.end[kBatchAxis]);
    part.all = WithRange(kOnePlace, kBatchAxis, 0, op.shape.in.n);
  }
  return part;
}

}  // namespace

Part PartOf(const TrainingStep& step, const Op& op, const Launch& launch, const std::function<Box(TensorId)>& touched) {
  if (op.kind == OpKind::kConvolution) return ConvolutionPart(op, launch, touched);
  return SamplesPart(step, op, launch, touched);
}

}  // namespace spillway::verifying
