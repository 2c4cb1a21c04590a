// The table of calls. Several names of an operator have a row each: in place or not, of one library or another, of
// PyTorch 1.13 to 2.15.
#include "model/recorded/call_launches.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "model/recorded/call_rows.h"

namespace spillway {

namespace {

// Views, and memory that is taken or given another name: no kernel runs.
constexpr std::array<std::string_view, 12> kNoKernel = {
    "empty",        "empty_like",     "empty_strided", "new_empty", "new_empty_strided", "view",
    "_unsafe_view", "_reshape_alias", "detach",        "alias",     "lift_fresh",        "as_strided"};

struct CallRow {
  std::string_view name;
  Launches (*launches)(const AskedCall&);
  bool any_type = false;                                // also of integers, or without an input
  Launches (*of_integers)(const AskedCall&) = nullptr;  // what the call is of integers; none: not known
};

constexpr CallRow kRows[] = {
    {"convolution", ConvolutionCall},
    {"convolution_backward", ConvolutionBackwardCall},
    {"mm", ProductCall},
    {"addmm", ProductAndSumCall},
    {"_addmm_activation", ProductAndSumCall},
    {"linear", LinearCall},
    {"sum", ReductionCall, false, BytesCall},
    {"native_batch_norm", BatchNormCall},
    {"cudnn_batch_norm", BatchNormCall},
    {"_native_batch_norm_legit", BatchNormCall},
    {"_batch_norm_with_update", BatchNormTrainingCall},
    {"_batch_norm_no_update", BatchNormGivenCall},
    {"_native_batch_norm_legit_no_training", BatchNormGivenCall},
    {"native_batch_norm_backward", BatchNormBackwardCall},
    {"batch_norm_backward", BatchNormBackwardCall},
    {"cudnn_batch_norm_backward", BatchNormBackwardTrainingCall},
    {"max_pool2d_with_indices", MaxPoolCall},
    {"max_pool3d_with_indices", MaxPoolCall},
    {"max_pool2d_with_indices_backward", MaxPoolBackwardCall},
    {"max_pool3d_with_indices_backward", MaxPoolBackwardCall},
    {"avg_pool2d", AveragePoolCall},
    {"avg_pool3d", AveragePoolCall},
    {"avg_pool2d_backward", AveragePoolBackwardCall},
    {"avg_pool3d_backward", AveragePoolBackwardCall},
    {"_adaptive_avg_pool2d", AdaptivePoolCall},
    {"_adaptive_avg_pool3d", AdaptivePoolCall},
    {"_adaptive_avg_pool2d_backward", AdaptivePoolBackwardCall},
    {"_adaptive_avg_pool3d_backward", AdaptivePoolBackwardCall},
    {"mean", MeanCall},
    {"div", DivideCall, false, BytesCall},
    {"relu", ReluCall},
    {"threshold_backward", ReluBackwardCall},
    {"native_dropout", DropoutCall},
    {"native_dropout_backward", DropoutBackwardCall},
    {"add", SumCall, false, BytesCall},
    {"sub", SumCall, false, BytesCall},
    {"rsub", SumCall, false, BytesCall},
    {"mul", FactorsCall, false, BytesCall},
    {"clone", CopyCall, false, BytesCall},
    {"copy", CastCall, false, CopiedBytesCall},
    {"_to_copy", CastCall, false, CopiedBytesCall},
    {"cat", ConcatCall, false, BytesCall},
    {"_log_softmax", LogSoftmaxCall},
    {"_log_softmax_backward_data", LogSoftmaxBackwardCall},
    // Of networks of today.
    {"native_layer_norm", LayerNormCall},
    {"native_layer_norm_backward", LayerNormBackwardCall},
    {"_fused_rms_norm", LayerNormCall},
    {"_fused_rms_norm_backward", LayerNormBackwardCall},
    {"native_group_norm", GroupNormCall},
    {"native_group_norm_backward", GroupNormBackwardCall},
    {"bmm", ManyProductsCall},
    {"baddbmm", ManyProductsAndSumCall},
    {"_scaled_dot_product_flash_attention", AttentionCall},
    {"_scaled_dot_product_flash_attention_backward", AttentionBackwardCall},
    {"_scaled_dot_product_flash_attention_for_cpu", AttentionCall},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", AttentionBackwardCall},
    {"_scaled_dot_product_efficient_attention", AttentionCall},
    {"_scaled_dot_product_efficient_attention_backward", AttentionBackwardCall},
    {"_scaled_dot_product_cudnn_attention", AttentionCall},
    {"_scaled_dot_product_cudnn_attention_backward", AttentionBackwardCall},
    {"_scaled_dot_product_fused_attention_overrideable", AttentionCall},
    {"_scaled_dot_product_fused_attention_overrideable_backward", AttentionBackwardCall},
    {"_softmax", SoftmaxCall},
    {"_safe_softmax", SoftmaxCall},
    {"_softmax_backward_data", SoftmaxBackwardCall},
    {"embedding", EmbeddingCall},
    {"embedding_dense_backward", EmbeddingBackwardCall},
    // Functions of each element.
    {"gelu", ActivationCall},
    {"silu", ActivationCall},
    {"sigmoid", ActivationCall},
    {"tanh", ActivationCall},
    {"leaky_relu", ActivationCall},
    {"elu", ActivationCall},
    {"hardtanh", ActivationCall},
    {"hardswish", ActivationCall},
    {"hardsigmoid", ActivationCall},
    {"relu6", ActivationCall},
    {"softplus", ActivationCall},
    {"mish", ActivationCall},
    {"log_sigmoid_forward", ActivationCall},
    {"exp", ActivationCall},
    {"log", ActivationCall},
    {"sqrt", ActivationCall},
    {"rsqrt", ActivationCall},
    {"reciprocal", ActivationCall},
    {"pow", ActivationCall},
    {"square", ActivationCall},
    {"neg", ActivationCall},
    {"abs", ActivationCall},
    {"sin", ActivationCall},
    {"cos", ActivationCall},
    {"erf", ActivationCall},
    {"clamp", ActivationCall},
    {"clamp_min", ActivationCall},
    {"clamp_max", ActivationCall},
    {"gelu_backward", ActivationBackwardCall},
    {"silu_backward", ActivationBackwardCall},
    {"sigmoid_backward", ActivationBackwardCall},
    {"tanh_backward", ActivationBackwardCall},
    {"leaky_relu_backward", ActivationBackwardCall},
    {"elu_backward", ActivationBackwardCall},
    {"hardtanh_backward", ActivationBackwardCall},
    {"hardswish_backward", ActivationBackwardCall},
    {"hardsigmoid_backward", ActivationBackwardCall},
    {"softplus_backward", ActivationBackwardCall},
    {"mish_backward", ActivationBackwardCall},
    // Other sizes of an image.
    {"upsample_nearest1d", ResizeCall},
    {"upsample_nearest1d_backward", ResizeBackwardCall},
    {"upsample_nearest2d", ResizeCall},
    {"upsample_nearest2d_backward", ResizeBackwardCall},
    {"upsample_nearest3d", ResizeCall},
    {"upsample_nearest3d_backward", ResizeBackwardCall},
    {"_upsample_nearest_exact2d", ResizeCall},
    {"_upsample_nearest_exact2d_backward", ResizeBackwardCall},
    {"_upsample_nearest_exact3d", ResizeCall},
    {"_upsample_nearest_exact3d_backward", ResizeBackwardCall},
    {"upsample_linear1d", ResizeCall},
    {"upsample_linear1d_backward", ResizeBackwardCall},
    {"upsample_bilinear2d", ResizeCall},
    {"upsample_bilinear2d_backward", ResizeBackwardCall},
    {"upsample_trilinear3d", ResizeCall},
    {"upsample_trilinear3d_backward", ResizeBackwardCall},
    {"upsample_bicubic2d", ResizeCall},
    {"upsample_bicubic2d_backward", ResizeBackwardCall},
    // Losses of labels.
    {"nll_loss_forward", LossOfLabelsCall},
    {"nll_loss2d_forward", LossOfLabelsCall},
    {"nll_loss_backward", FillCall},
    {"nll_loss2d_backward", FillCall},
    // Lists of tensors.
    {"_foreach_add", AddListsCall},
    {"_foreach_mul", ListTimesNumberCall},
    {"_foreach_div", ListTimesNumberCall},
    {"_foreach_sub", ListAndNumbersCall},
    {"_foreach_sqrt", ListAndNumbersCall},
    {"_foreach_neg", ListAndNumbersCall},
    {"_foreach_reciprocal", ListAndNumbersCall},
    {"_foreach_pow", ListAndNumbersCall},
    {"_foreach_abs", ListAndNumbersCall},
    {"_foreach_exp", ListAndNumbersCall},
    {"_foreach_maximum", ListAndNumbersCall},
    {"_foreach_minimum", ListAndNumbersCall},
    {"_foreach_clamp_max", ListAndNumbersCall},
    {"_foreach_clamp_min", ListAndNumbersCall},
    {"_foreach_lerp", ListsBetweenCall},
    {"_foreach_addcmul", ListsProductCall},
    {"_foreach_addcdiv", ListsProductCall},
    {"_foreach_norm", ListsReadCall},
    {"_foreach_zero", ListsReadCall},
    {"_foreach_copy", ListsCopyCall},
    {"_fused_adam", FusedAdamCall},
    {"_fused_adamw", FusedAdamCall},
    {"_fused_sgd", FusedSgdCall},
    // What passes over its bytes once.
    {"masked_fill", BytesCall, true},
    {"where", BytesCall, true},
    {"slice_backward", BytesCall, true},
    {"select_backward", BytesCall, true},
    {"constant_pad_nd", BytesCall, true},
    {"repeat", BytesCall, true},
    {"mse_loss", BytesCall, true},
    {"mse_loss_backward", BytesCall, true},
    {"maximum", BytesCall, true},
    {"minimum", BytesCall, true},
    {"eq", BytesCall, true},
    {"ne", BytesCall, true},
    {"le", BytesCall, true},
    {"lt", BytesCall, true},
    {"ge", BytesCall, true},
    {"gt", BytesCall, true},
    {"bitwise_and", BytesCall, true},
    {"bitwise_or", BytesCall, true},
    {"bitwise_not", BytesCall, true},
    {"logical_and", BytesCall, true},
    {"logical_or", BytesCall, true},
    {"logical_not", BytesCall, true},
    {"cumsum", BytesCall, true},
    {"addcmul", BytesCall, true},
    {"addcdiv", BytesCall, true},
    {"lerp", BytesCall, true},
    // What takes some of the elements.
    {"index", PickedBytesCall, true},
    {"gather", PickedBytesCall, true},
    {"index_select", PickedBytesCall, true},
    {"take", PickedBytesCall, true},
    // What only writes.
    {"zero", FillCall, true},
    {"zeros", FillCall, true},
    {"zeros_like", FillCall, true},
    {"ones", FillCall, true},
    {"ones_like", FillCall, true},
    {"full", FillCall, true},
    {"full_like", FillCall, true},
    {"fill", FillCall, true},
    {"new_zeros", FillCall, true},
    {"new_ones", FillCall, true},
    {"new_full", FillCall, true},
    {"scalar_tensor", FillCall, true},
    {"arange", FillCall, true},
    {"bernoulli", FillCall, true},
    {"uniform", FillCall, true},
    {"normal", FillCall, true},
    {"rand", FillCall, true},
    {"rand_like", FillCall, true},
};

}  // namespace

std::optional<std::vector<Launch>> LaunchesOfCall(const RecordedArguments& call) {
  const CallName called = CallNameOf(call.op);
  std::string_view name = called.name;
  if (name.ends_with('_')) name.remove_suffix(1);  // in place
  if (std::find(kNoKernel.begin(), kNoKernel.end(), name) != kNoKernel.end()) return std::vector<Launch>{};
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const CallRow& r) { return r.name == name; });
  if (row == std::end(kRows)) return std::nullopt;
  const auto asked = Asked(call, called.overload, row->any_type);
  if (asked) return row->launches(*asked);
  const bool known = row->of_integers != nullptr && !call.inputs.empty();
  return known ? row->of_integers(*Asked(call, called.overload, true)) : std::nullopt;
}

}  // namespace spillway
