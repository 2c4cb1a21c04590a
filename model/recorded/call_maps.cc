// Calls of a recording that pass over whole tensors: norms, activations, sums, copies, softmax.
#include "model/recorded/call_rows.h"

namespace spillway {

namespace {

Launches One(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape) {
  return std::vector<Launch>{MadeLaunch(call, kind, pass, shape)};
}

// What has a map as large as its first operand.
Launches OverMap(const AskedCall& call, OpKind kind, Pass pass) {
  const auto map = MapOf(call.Input(0));
  return map ? One(call, kind, pass, Alike(*map)) : std::nullopt;
}

// Batch norm is over samples and channels.
Launches Norm(const AskedCall& call, Pass pass, bool training) {
  const auto map = MapOf(call.Input(0));
  const std::size_t rank = call.Input(0).shape.size();
  if (!map || rank < 2 || rank > 5) return std::nullopt;
  OpShape shape = Alike(*map);
  shape.operands = training ? 1 : 0;
  return One(call, OpKind::kBatchNorm, pass, shape);
}

// The flag before so many scalars at the end.
std::optional<bool> FlagBefore(const AskedCall& call, std::size_t behind) {
  const std::vector<std::string>& scalars = call.of.scalars;
  if (scalars.size() <= behind) return std::nullopt;
  const std::string& flag = scalars[scalars.size() - behind - 1];
  if (flag != "true" && flag != "false") return std::nullopt;
  return flag == "true";
}

}  // namespace

Launches BatchNormCall(const AskedCall& call) {
  const auto training = FlagBefore(call, 2);  // momentum and epsilon
  return training ? Norm(call, Pass::kForward, *training) : std::nullopt;
}
Launches BatchNormTrainingCall(const AskedCall& call) { return Norm(call, Pass::kForward, true); }
Launches BatchNormGivenCall(const AskedCall& call) { return Norm(call, Pass::kForward, false); }

// Where the statistics were given, backward is another kernel, for which there is no law.
Launches BatchNormBackwardCall(const AskedCall& call) {
  const auto training = FlagBefore(call, 4);  // epsilon and which gradients are made
  return training && *training ? Norm(call, Pass::kBackward, true) : std::nullopt;
}
Launches BatchNormBackwardTrainingCall(const AskedCall& call) { return Norm(call, Pass::kBackward, true); }

Launches ReluCall(const AskedCall& call) { return OverMap(call, OpKind::kRelu, Pass::kForward); }
Launches ReluBackwardCall(const AskedCall& call) {
  if (call.inputs() != 2 || !AreAlike(call.Input(0), call.Input(1))) return std::nullopt;
  return OverMap(call, OpKind::kRelu, Pass::kBackward);
}

Launches DropoutCall(const AskedCall& call) { return OverMap(call, OpKind::kDropout, Pass::kForward); }
Launches DropoutBackwardCall(const AskedCall& call) { return OverMap(call, OpKind::kDropout, Pass::kBackward); }

// A cast, between two types, is no copy.
Launches CopyCall(const AskedCall& call) {
  const bool alike = call.inputs() == 1 || (call.inputs() == 2 && AreAlike(call.Input(0), call.Input(1)));
  return alike ? OverMap(call, OpKind::kCopy, call.EitherPass()) : std::nullopt;
}

// Reads a tensor and writes one, as a copy does.
Launches TimesNumberCall(const AskedCall& call) {
  return call.inputs() == 1 ? OverMap(call, OpKind::kCopy, call.EitherPass()) : std::nullopt;
}

Launches ConcatCall(const AskedCall& call) {
  const std::vector<std::int64_t> numbers = LeadingNumbers(call.of.scalars);
  const std::int64_t axis = numbers.empty() ? 0 : numbers[0];
  if (call.of.outputs.empty()) return std::nullopt;
  const auto in = RowsOf(call.Input(0), axis), out = RowsOf(call.of.outputs[0], axis);
  if (!in || !out) return std::nullopt;
  std::int64_t along = 0;
  for (const RecordedOperand& input : call.of.inputs) {
    const auto rows = RowsOf(input, axis);
    if (!rows || rows->n != out->n || rows->Spatial() != out->Spatial()) return std::nullopt;
    along += rows->c;
  }
  if (along != out->c) return std::nullopt;
  OpShape shape{.in = *in, .out = *out};
  shape.operands = static_cast<std::int64_t>(call.inputs());
  return One(call, OpKind::kConcat, Pass::kForward, shape);
}

// With the loss of labels behind it.
Launches LogSoftmaxCall(const AskedCall& call) {
  const std::vector<std::int64_t> numbers = LeadingNumbers(call.of.scalars);
  const auto rows = numbers.empty() ? std::nullopt : RowsOf(call.Input(0), numbers[0]);
  return rows ? One(call, OpKind::kSoftmaxLoss, Pass::kForward, Alike(*rows)) : std::nullopt;
}

// Of the loss, whose gradient needs the probabilities alone. A softmax by itself reads a gradient, too.
Launches LogSoftmaxBackwardCall(const AskedCall& call) {
  const std::vector<std::int64_t> numbers = LeadingNumbers(call.of.scalars);
  const auto rows = numbers.empty() ? std::nullopt : RowsOf(call.Input(0), numbers[0]);
  return rows ? One(call, OpKind::kSoftmaxLoss, Pass::kBackward, Alike(*rows)) : std::nullopt;
}

}  // namespace spillway
