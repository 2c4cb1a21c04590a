// Functions of each element: a kind of layer for each row of model/step/activation.h, all ops of one kind.
#include <utility>
#include <vector>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Op ActivationOp(StepWriter& b, ActivationFunction function, Pass pass, std::vector<TensorId> reads,
                std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kActivation, pass, std::move(reads), std::move(writes));
  op.details.function = function;
  op.details.slope = b.attributes().slope;
  return op;
}

template <ActivationFunction kFunction>
void Forward(StepWriter& b) {
  const TensorId input = b.Input();
  const bool overwrite = TraitsOf(kFunction).in_place && b.options().inplace_relu && b.MayOverwriteInput();
  const TensorId result = overwrite ? b.OverwriteInput() : b.NewResult();
  b.Emit(ActivationOp(b, kFunction, Pass::kForward, {input}, {result}));
}

template <ActivationFunction kFunction>
void Backward(StepWriter& b) {
  const bool in_place = b.Result() == b.Input();
  const bool from_result = in_place || TraitsOf(kFunction).saves == ActivationSaves::kResult;
  Op op = ActivationOp(b, kFunction, Pass::kBackward, {from_result ? b.Result() : b.Input(), b.OutputGradient()}, {});
  op.details.from_result = from_result;
  b.EmitInputGradient(0, std::move(op), true);
}

// `reads_result`: backward does so, be it only where the function works in place.
template <ActivationFunction kFunction>
constexpr LayerKind KindOf(const char* name, const char* description, bool reads_result, std::uint64_t keys = 0) {
  return {.name = name,
          .description = description,
          .keys = keys,
          .backward_reads_result = reads_result,
          .infer = SameShape,
          .forward = Forward<kFunction>,
          .backward = Backward<kFunction>};
}

}  // namespace

const LayerKind kSigmoidLayer = KindOf<ActivationFunction::kSigmoid>("sigmoid", "logistic function", true);
const LayerKind kTanhLayer = KindOf<ActivationFunction::kTanh>("tanh", "hyperbolic tangent", true);
const LayerKind kSiluLayer =
    KindOf<ActivationFunction::kSilu>("silu", "input times its logistic function (swish)", false);
const LayerKind kGeluLayer =
    KindOf<ActivationFunction::kGelu>("gelu", "input times the normal distribution function, by erf", false);
const LayerKind kGeluTanhLayer =
    KindOf<ActivationFunction::kGeluTanh>("gelu_tanh", "gelu, approximated by tanh", false);
const LayerKind kLeakyReluLayer = KindOf<ActivationFunction::kLeakyRelu>(
    "leaky_relu", "rectified linear unit with a slope below zero", true, kSlopeKey);
const LayerKind kRelu6Layer = KindOf<ActivationFunction::kRelu6>("relu6", "rectified linear unit up to 6", false);
const LayerKind kHardSwishLayer =
    KindOf<ActivationFunction::kHardSwish>("hard_swish", "input times its hard sigmoid", false);
const LayerKind kHardSigmoidLayer =
    KindOf<ActivationFunction::kHardSigmoid>("hard_sigmoid", "x / 6 + 1/2, between 0 and 1", false);
const LayerKind kEluLayer =
    KindOf<ActivationFunction::kElu>("elu", "exponential linear unit: exp(x) - 1 below zero", true);

}  // namespace spillway
