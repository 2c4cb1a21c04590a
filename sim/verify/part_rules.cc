#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/verify/parts_apart.h"
#include "sim/verify/verify_boxes.h"

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
  const std::int64_t window = op.shape.Extent(k), stride = op.shape.stride[k], pad = op.shape.pad[k].begin;
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

bool IsPooling(OpKind kind) { return kind == OpKind::kMaxPool || kind == OpKind::kAveragePool; }

// Whether a tensor of a pooling is as large as its input: that and the input's gradient.
bool IsPoolInput(const Op& op, TensorId t) {
  const auto in = [t](const std::vector<TensorId>& list) {
    return std::find(list.begin(), list.end(), t) != list.end();
  };
  if (op.pass == Pass::kForward) return !in(op.writes);
  const std::size_t input = op.kind == OpKind::kMaxPool ? 0 : 1;  // of an average only where a framework saves it
  return in(op.writes) || (op.reads.size() > input && op.reads[input] == t);
}

// The same samples, channels and rows of everything that has samples, and all of the parameters, or those of the channels.
class PlacesPart {
 public:
  PlacesPart(const TrainingStep& step, const Op& op, const Launch& launch, const std::function<Box(TensorId)>& touched)
      : step_(step), op_(op), launch_(launch), apart_(PlacesApart(op)) {
    for (const std::vector<TensorId>* list : {&op.reads, &op.writes}) {
      for (const TensorId t : *list) LookAt(t, touched(t), list == &op.writes);
    }
  }

  Part Take() {
    Part part{.fault = fault_, .summed = kOnePlace, .all = kOnePlace};
    if (part.fault.empty()) part.fault = LaunchSays();
    for (const auto& [whole, box] : parameters_) {
      const Box wanted =
          op_.kind == OpKind::kBias ? WithRange(whole, kChannelAxis, channels_.begin, channels_.end) : whole;
      if (part.fault.empty() && box != wanted) part.fault = "parameters are not divided";
    }
    if (sums_) {
      part.summed = WithRange(kOnePlace, kBatchAxis, samples_.begin, samples_.end);
      part.all = WithRange(kOnePlace, kBatchAxis, 0, op_.shape.in.n);
      if (apart_.rows) {
        part.summed = WithRange(part.summed, kHeightAxis, rows_.begin, rows_.end);
        part.all = WithRange(part.all, kHeightAxis, 0, op_.shape.out.h);
      }
    }
    return part;
  }

 private:
  struct Places {
    std::int64_t begin = 0, end = 0;
    bool operator==(const Places&) const = default;
  };
  static Places Along(const Box& box, std::size_t axis) { return {box.begin[axis], box.end[axis]}; }
  void Fault(const char* what) {
    if (fault_.empty()) fault_ = what;
  }

  void LookAt(TensorId t, const Box& box, bool written) {
    const Tensor& tensor = step_.tensors[static_cast<std::size_t>(t)];
    const Box whole = WholeOf(tensor.shape);
    if (!Contains(whole, box)) Fault("it reaches beyond the tensor");
    if (tensor.Traits().of_parameters) {
      parameters_.push_back({whole, box});
      sums_ = sums_ || written;
      return;
    }
    Places rows = Along(box, kHeightAxis);
    if (IsPooling(op_.kind) && IsPoolInput(op_, t)) rows = OutputsOf(rows, whole.end[kHeightAxis]);
    if (found_ && Along(box, kBatchAxis) != samples_) Fault("operands differ in samples");
    if (found_ && apart_.channels && Along(box, kChannelAxis) != channels_) Fault("operands differ in channels");
    if (found_ && apart_.rows && rows != rows_) Fault("operands differ in rows");
    Box within = WithRange(box, kBatchAxis, 0, tensor.shape.n);
    if (apart_.channels) within = WithRange(within, kChannelAxis, 0, tensor.shape.c);
    if (apart_.rows) within = WithRange(within, kHeightAxis, 0, tensor.shape.h);
    if (within != whole) Fault("it is divided within a sample");
    samples_ = Along(box, kBatchAxis), channels_ = Along(box, kChannelAxis), rows_ = rows;
    found_ = true;
  }

  // The outputs of a pooling that rows of its input belong to: whole windows, and with the last one all that is left.
  Places OutputsOf(const Places& rows, std::int64_t all) {
    if (!apart_.rows) return rows;
    const std::int64_t stride = op_.shape.stride[1], outputs = op_.shape.out.h;
    const bool to_the_end = rows.end == all;
    if (rows.begin % stride != 0 || (!to_the_end && rows.end % stride != 0)) Fault("a window is cut");
    return {rows.begin / stride, to_the_end ? outputs : rows.end / stride};
  }

  std::string LaunchSays() const {
    Shape in = op_.shape.in, out = op_.shape.out;
    in.n = out.n = launch_.shape.in.n;
    if (apart_.channels) in.c = out.c = channels_.end - channels_.begin;
    if (apart_.rows) {
      out.h = rows_.end - rows_.begin;
      in.h = out.h;
      if (IsPooling(op_.kind)) {
        const std::int64_t stride = op_.shape.stride[1], all = op_.shape.in.h;
        in.h = (rows_.end == op_.shape.out.h ? all : rows_.end * stride) - rows_.begin * stride;
      }
    }
    const std::string fault = LaunchFault(op_, launch_, Resized(op_.shape, in, out));
    if (!fault.empty()) return fault;
    if (launch_.shape.pad != op_.shape.pad) return "the launch has another padding";
    const bool same = samples_.end - samples_.begin == launch_.shape.in.n;
    return same ? "" : "the launch has another number of samples";
  }

  const TrainingStep& step_;
  const Op& op_;
  const Launch& launch_;
  const Apart apart_;
  std::string fault_;
  bool found_ = false, sums_ = false;
  Places samples_, channels_, rows_;             // of the output
  std::vector<std::pair<Box, Box>> parameters_;  // all of each, and what is touched of it
};

Part SamplesPart(const TrainingStep& step, const Op& op, const Launch& launch,
                 const std::function<Box(TensorId)>& touched) {
  if (ComputesSamplesApart(op)) return PlacesPart(step, op, launch, touched).Take();
  return {.fault = fmt::format("an op of kind {} has no parts", OpKindName(op.kind)),
          .summed = kOnePlace,
          .all = kOnePlace};
}

}  // namespace

Part PartOf(const TrainingStep& step, const Op& op, const Launch& launch, const std::function<Box(TensorId)>& touched) {
  if (op.kind == OpKind::kConvolution) return ConvolutionPart(op, launch, touched);
  return SamplesPart(step, op, launch, touched);
}

}  // namespace spillway::verifying
