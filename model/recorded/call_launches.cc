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
constexpr std::array<std::string_view, 11> kNoKernel = {
    "empty",        "empty_like",     "empty_strided", "new_empty", "new_empty_strided", "view",
    "_unsafe_view", "_reshape_alias", "detach",        "alias",     "lift_fresh"};

struct CallRow {
  std::string_view name;
  Launches (*launches)(const AskedCall&);
};

constexpr CallRow kRows[] = {
    {"convolution", ConvolutionCall},
    {"convolution_backward", ConvolutionBackwardCall},
    {"mm", ProductCall},
    {"addmm", ProductAndSumCall},
    {"_addmm_activation", ProductAndSumCall},
    {"linear", LinearCall},
    {"sum", BiasGradientCall},
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
    {"div", DivideCall},
    {"relu", ReluCall},
    {"threshold_backward", ReluBackwardCall},
    {"native_dropout", DropoutCall},
    {"native_dropout_backward", DropoutBackwardCall},
    {"add", AddCall},
    {"mul", TimesNumberCall},
    {"clone", CopyCall},
    {"copy", CopyCall},
    {"cat", ConcatCall},
    {"_softmax", SoftmaxCall},
    {"_log_softmax", SoftmaxCall},
    {"_log_softmax_backward_data", LogSoftmaxBackwardCall},
    {"_foreach_add", AddListsCall},
    {"_foreach_mul", ListTimesNumberCall},
    {"_foreach_div", ListTimesNumberCall},
};

}  // namespace

std::optional<std::vector<Launch>> LaunchesOfCall(const RecordedArguments& call) {
  const auto [full, overload] = CallNameOf(call.op);
  std::string_view name = full;
  if (std::find(kNoKernel.begin(), kNoKernel.end(), name) != kNoKernel.end()) return std::vector<Launch>{};
  if (name.ends_with('_')) name.remove_suffix(1);  // in place
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const CallRow& r) { return r.name == name; });
  if (row == std::end(kRows)) return std::nullopt;
  const auto asked = Asked(call, overload);
  return asked ? row->launches(*asked) : std::nullopt;
}

}  // namespace spillway
