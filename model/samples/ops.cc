#include "model/samples/ops.h"

#include <algorithm>
#include <cassert>

#include "model/kernels/kernel_form.h"
#include "model/step/op_kind.h"

namespace spillway {

namespace {

// Other words than the names of kinds, and the order in which all are told.
std::vector<OpWord> MakeOpWords() {
  constexpr auto kKernel = SampleKind::kKernel;
  constexpr auto kOther = SampleKind::kOther;
  std::vector<OpWord> words = {
      {"conv", kKernel, OpKind::kConvolution},
      {"convolution", kKernel, OpKind::kConvolution},
      {"linear", kKernel, OpKind::kLinear},
      {"bias", kKernel, OpKind::kBias},
      {"batch_norm", kKernel, OpKind::kBatchNorm},
      {"relu", kKernel, OpKind::kRelu},
      {"pool", kKernel, OpKind::kMaxPool},
      {"max_pool", kKernel, OpKind::kMaxPool},
      {"average_pool", kKernel, OpKind::kAveragePool},
      {"lrn", kKernel, OpKind::kLrn},
      {"dropout", kKernel, OpKind::kDropout},
      {"concat", kKernel, OpKind::kConcat, 2},
      {"add", kKernel, OpKind::kAdd, 2},
      {"softmax", kKernel, OpKind::kSoftmaxLoss},
      {"softmax_loss", kKernel, OpKind::kSoftmaxLoss},
      {"update", kKernel, OpKind::kUpdate, 3},
      {"axpy", kKernel, OpKind::kUpdate, 2},  // w += a g: an update without momentum
      {kChannelScale, kKernel, OpKind::kScale},
      {"copy", SampleKind::kCopy, OpKind::kCopy},
      {"conv_bias", kOther, OpKind::kConvolution, 1, true},
      {"conv_bias_relu", kOther, OpKind::kConvolution, 1, true},
      {"scale", kOther, OpKind::kCopy, 1, true},  // x *= a, as libraries have it
      {"zero", kOther, OpKind::kCopy, 1, true},
      {"allocation", kOther},
      {"overhead", kOther},
      {"memory", kOther},
  };
  for (const OpTraits& traits : kOpTraits) {
    const std::string_view name = traits.name;
    if (traits.opaque) continue;
    if (std::any_of(words.begin(), words.end(), [&](const OpWord& word) { return name == word.name; })) continue;
    words.push_back({traits.name, kKernel, traits.kind, traits.operands});
  }
  return words;
}

}  // namespace

const std::vector<OpWord>& OpWords() {
  static const std::vector<OpWord> words = MakeOpWords();
  return words;
}

const OpWord* FindOpWord(std::string_view name) {
  for (const OpWord& word : OpWords()) {
    if (name == word.name) return &word;
  }
  return nullptr;
}

const char* WordOf(OpKind kind) { return kind == OpKind::kScale ? kChannelScale : OpKindName(kind); }

namespace {

std::vector<std::string> NamesOfPasses(OpKind kind) {
  std::vector<std::string> names;
  for (int pass = 0; pass <= static_cast<int>(Pass::kUpdate); ++pass) {
    if (HasPass(kind, static_cast<Pass>(pass))) names.emplace_back(PassName(static_cast<Pass>(pass)));
  }
  return names;
}

}  // namespace

std::vector<std::string> PassWords(OpKind kind) {
  switch (kind) {
    case OpKind::kConvolution:
    case OpKind::kTransposedConvolution:
    case OpKind::kLinear:
      return {"forward", "backward_data", "backward_filter"};
    case OpKind::kBias:
      return {"forward", "backward", "backward_bias"};
    case OpKind::kUpdate:
      return {"update", "forward"};
    default:
      return NamesOfPasses(kind);
  }
}

Pass PassOf(OpKind kind, std::string_view word) {
  if (kind == OpKind::kUpdate) return Pass::kUpdate;
  if (kind == OpKind::kBias && word != "forward") return Pass::kBackwardBias;
  const auto pass = PassByName(word);
  assert(pass);
  return *pass;
}

std::vector<std::string> AlgorithmWords(const OpWord& op, Pass pass) {
  const auto names = AlgorithmNames(op.kind, pass);
  if (!names.empty()) return {names.begin(), names.end()};
  switch (op.kind) {
    case OpKind::kMaxPool:
      if (std::string_view(op.name) == "pool") return {"max", "average"};
      return {"max"};
    case OpKind::kAveragePool:
      return {"average"};
    case OpKind::kBatchNorm:
      return {"spatial", "spatial_persistent", "native", kGivenStatistics};
    default:
      return {"in_place"};
  }
}

const std::vector<std::string>& CopyKinds() {
  static const std::vector<std::string> kinds = {"pinned", "pinned_synchronous", "pageable",         "pitched",
                                                 "device", "write_combined",     "managed_prefetch", "managed_touch",
                                                 "peer",   "peer_staged"};
  return kinds;
}

const std::vector<std::string>& CopyDirections() {
  static const std::vector<std::string> directions = {"h2d", "d2h", "d2d"};
  return directions;
}

const std::vector<std::string>& KernelKinds() {
  static const std::vector<std::string> kinds = {"cold", "warm", "race", "step"};
  return kinds;
}

const std::vector<std::string>& MathWords() {
  static const std::vector<std::string> words = {"fma", "tf32", "fp16", "bf16", "fp32"};
  return words;
}

MathMode MathOf(int word) { return word == 4 ? MathMode::kFp32 : static_cast<MathMode>(word); }

const char* MathWord(MathMode mode) { return mode == MathMode::kFp32 ? "fma" : MathModeName(mode); }

}  // namespace spillway
