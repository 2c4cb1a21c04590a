// Calls of a recording that take tensors element by element: activations, factors and sums with repeated operands, casts,
// and whatever passes over the bytes of its tensors once.
#include <algorithm>
#include <cmath>

#include "model/recorded/call_rows.h"
#include "model/recorded/recorded_graph.h"

namespace spillway {

namespace {

Launches One(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape) {
  return std::vector<Launch>{MadeLaunch(call, kind, pass, shape)};
}

double BytesOf(const std::vector<RecordedOperand>& operands) {
  constexpr Bytes kNotSaid = 4;
  double bytes = 0;
  for (const RecordedOperand& operand : operands) {
    const Bytes element = operand.type.empty() ? kNotSaid : ElementBytes(operand.type);
    bytes += operand.Elements() * static_cast<double>(element);
  }
  return bytes;
}

// What a copy writes; nullptr: not known. copy_ is given the destination first.
const RecordedOperand* DestinationOf(const AskedCall& call) {
  if (call.inputs() == 2) return &call.of.inputs.front();
  return call.of.outputs.empty() ? nullptr : &call.of.outputs.front();
}

// A copy that moves so many bytes, in and out together.
Launches CopyOf(const AskedCall& call, double bytes) {
  constexpr double kMost = 8e12;
  if (!(bytes >= 0 && bytes <= kMost)) return std::nullopt;
  const double moved = 2.0 * static_cast<double>(SizeOf(DataType::kFp32));
  Launch launch = MadeLaunch(call, OpKind::kCopy, call.EitherPass(), {});
  launch.type = DataType::kFp32;
  launch.layout = Layout::kNchw;
  launch.shape = Alike({.c = std::max<std::int64_t>(1, std::llround(bytes / moved))});
  return std::vector<Launch>{launch};
}

// Of two operands: the larger, where the smaller is repeated over it. `repeated`: whether it is.
struct Pair {
  Shape map;
  bool repeated = false;
};

// Whether `small` is repeated to the shape of `large`, axis by axis from the last.
bool Repeats(const RecordedOperand& small, const RecordedOperand& large) {
  if (small.shape.size() > large.shape.size()) return false;
  const std::size_t skipped = large.shape.size() - small.shape.size();
  for (std::size_t k = 0; k < small.shape.size(); ++k) {
    if (small.shape[k] != 1 && small.shape[k] != large.shape[skipped + k]) return false;
  }
  return true;
}

std::optional<Pair> PairOf(const AskedCall& call) {
  if (call.inputs() != 2 || call.Input(0).type != call.Input(1).type) return std::nullopt;
  const RecordedOperand& a = call.Input(0);
  const RecordedOperand& b = call.Input(1);
  const bool first = Repeats(b, a);
  if (!first && !Repeats(a, b)) return std::nullopt;
  const auto map = MapOf(first ? a : b), other = MapOf(first ? b : a);
  if (!map || !other) return std::nullopt;
  return Pair{*map, a.shape != b.shape};
}

Launches OfPair(const AskedCall& call, OpKind kind) {
  const auto pair = PairOf(call);
  if (!pair) return std::nullopt;
  OpShape shape = Alike(pair->map);
  shape.operands = pair->repeated ? 1 : 2;
  return One(call, kind, call.EitherPass(), shape);
}

}  // namespace

// A function of each element. Two tensors, as a power of tensors has, are another kernel.
Launches ActivationCall(const AskedCall& call) {
  const auto map = MapOf(call.Input(0));
  return map && call.inputs() == 1 ? One(call, OpKind::kActivation, Pass::kForward, Alike(*map)) : std::nullopt;
}

// Of a gradient and what forward saved.
Launches ActivationBackwardCall(const AskedCall& call) {
  const auto map = MapOf(call.Input(0));
  if (!map || call.inputs() != 2 || !AreAlike(call.Input(0), call.Input(1))) return std::nullopt;
  return One(call, OpKind::kActivation, Pass::kBackward, Alike(*map));
}

// Two tensors, or a tensor and a number. One that is repeated counts nothing beside the other.
Launches SumCall(const AskedCall& call) {
  return call.inputs() == 1 ? TimesNumberCall(call) : OfPair(call, OpKind::kAdd);
}
Launches FactorsCall(const AskedCall& call) {
  return call.inputs() == 1 ? TimesNumberCall(call) : OfPair(call, OpKind::kMultiply);
}

// Between a wide and a narrow type the elements are counted in the narrow one.
Launches CastCall(const AskedCall& call) {
  const RecordedOperand* const from = &call.of.inputs.back();
  const RecordedOperand* const to = DestinationOf(call);
  if (call.inputs() > 2 || to == nullptr || from->type == to->type) return CopyCall(call);
  const auto map = MapOf(*to);
  const auto a = DataTypeByName(from->type), b = DataTypeByName(to->type);
  if (!map || !a || !b) return std::nullopt;
  const bool cast = IsFloat(*a) && IsFloat(*b) && SizeOf(*a) + SizeOf(*b) == 3 * std::min(SizeOf(*a), SizeOf(*b));
  if (!cast || from->Elements() != to->Elements()) return CopiedBytesCall(call);
  Launch launch = MadeLaunch(call, OpKind::kCast, call.EitherPass(), Alike(*map));
  launch.type = SizeOf(*a) < SizeOf(*b) ? *a : *b;
  return std::vector<Launch>{launch};
}

Launches BytesCall(const AskedCall& call) { return CopyOf(call, BytesOf(call.of.inputs) + BytesOf(call.of.outputs)); }

// The destination is written, not read.
Launches CopiedBytesCall(const AskedCall& call) {
  const RecordedOperand* const to = DestinationOf(call);
  if (call.inputs() > 2 || to == nullptr) return BytesCall(call);
  return CopyOf(call, BytesOf({call.of.inputs.back()}) + BytesOf({*to}));
}

// Of the source as many bytes are read as are written. A mask is turned into places first, and says nothing of how much
// of the source is read: then all of it counts.
Launches PickedBytesCall(const AskedCall& call) {
  const std::vector<RecordedOperand>& inputs = call.of.inputs;
  const auto masks = [](const RecordedOperand& operand) { return operand.type == "bool" || operand.type == "uint8"; };
  const bool picks = inputs.size() > 1 && !call.of.outputs.empty();
  if (!picks || std::any_of(inputs.begin() + 1, inputs.end(), masks)) return BytesCall(call);
  return CopyOf(call, BytesOf({inputs.begin() + 1, inputs.end()}) + 2 * BytesOf(call.of.outputs));
}

Launches FillCall(const AskedCall& call) {
  return CopyOf(call, BytesOf(call.of.outputs.empty() ? call.of.inputs : call.of.outputs));
}

// Of (scores, labels): a score of each label is read.
Launches LossOfLabelsCall(const AskedCall& call) {
  if (call.inputs() < 2) return std::nullopt;
  return CopyOf(call, 2 * BytesOf({call.Input(1)}));
}

// Over a part of the axes: the tensor is read once, as for the gradient of a bias.
Launches ReductionCall(const AskedCall& call) {
  if (Launches bias = BiasGradientCall(call)) return bias;
  const auto map = MapOf(call.Input(0));
  if (!map || call.inputs() != 1) return std::nullopt;
  return One(call, OpKind::kBias, Pass::kBackwardBias, Alike(*map));
}

}  // namespace spillway
