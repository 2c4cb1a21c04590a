// What the rows of call_launches.cc are made of: reading a call's shapes and scalars. Private to model/recorded/.
#ifndef SPILLWAY_MODEL_RECORDED_CALL_ROWS_H_
#define SPILLWAY_MODEL_RECORDED_CALL_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/recorded/call_launches.h"

namespace spillway {

// "aten::add_.Tensor": add_ and Tensor.
struct CallName {
  std::string_view name, overload;
};
CallName CallNameOf(std::string_view op);

// A call with what its first input says of all.
struct AskedCall {
  const RecordedArguments& of;
  std::string_view overload;
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;

  std::size_t inputs() const { return of.inputs.size(); }
  const RecordedOperand& Input(std::size_t k) const { return of.inputs[k]; }
  // The pass of an op that runs alike in all: forward and update are one, backward is the other.
  Pass EitherPass() const { return of.pass == Pass::kBackward ? Pass::kBackward : Pass::kForward; }
};
// nullopt: the first input is not there or has no type to compute in. `any_type`: it need not be there, nor compute.
std::optional<AskedCall> Asked(const RecordedArguments& call, std::string_view overload, bool any_type = false);

using Launches = std::optional<std::vector<Launch>>;
Launch MadeLaunch(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape);

// ---- Shapes.

// The shape as layers have it: (samples, channels, places). nullopt: an empty tensor or one of more than 10^12 elements.
std::optional<Shape> MapOf(const RecordedOperand& operand);
// Rows along one axis, which is the channels': what is before it are samples, what is behind it places. nullopt also for
// an axis that the tensor lacks.
std::optional<Shape> RowsOf(const RecordedOperand& operand, std::int64_t axis);
inline OpShape Alike(const Shape& shape) { return {.in = shape, .out = shape}; }
// Whether a window, dilated or not, that slides over `in` has `out` positions. `rounds_up`: the last one may reach beyond
// the padding.
bool SlidesTo(const Shape& in, const Shape& out, const OpShape& window, bool rounds_up);

inline bool AreAlike(const RecordedOperand& a, const RecordedOperand& b) {
  return a.shape == b.shape && a.type == b.type;
}

// ---- Scalars.

// Those at the begin that are whole numbers.
std::vector<std::int64_t> LeadingNumbers(const std::vector<std::string>& scalars);
// Whether the axes are all but that of the channels, in any order. Negative ones count from the end.
bool AreAllButChannels(const std::vector<std::int64_t>& axes, std::size_t rank);

// Scalars from the last on: defaults are left out at the end, and what comes first differs between versions.
class ScalarsFromEnd {
 public:
  explicit ScalarsFromEnd(const std::vector<std::string>& scalars) : scalars_(scalars), left_(scalars.size()) {}
  // 0, false, and no longer good where there is no such scalar. Numbers are 0 to 10^9.
  std::int64_t Number();
  bool Flag();
  bool good() const { return good_; }

 private:
  const std::vector<std::string>& scalars_;
  std::size_t left_;
  bool good_ = true;
};

// ---- Rows, by file.

// call_products.cc
Launches ConvolutionCall(const AskedCall& call);
Launches ConvolutionBackwardCall(const AskedCall& call);
Launches ProductCall(const AskedCall& call);        // mm
Launches ProductAndSumCall(const AskedCall& call);  // addmm
Launches LinearCall(const AskedCall& call);
Launches BiasGradientCall(const AskedCall& call);  // sum over all but channels
// call_windows.cc
Launches MaxPoolCall(const AskedCall& call);
Launches MaxPoolBackwardCall(const AskedCall& call);
Launches AveragePoolCall(const AskedCall& call);
Launches AveragePoolBackwardCall(const AskedCall& call);
Launches AdaptivePoolCall(const AskedCall& call);
Launches AdaptivePoolBackwardCall(const AskedCall& call);
Launches MeanCall(const AskedCall& call);    // over all places
Launches DivideCall(const AskedCall& call);  // of an expanded gradient: that of a mean
// call_maps.cc
Launches BatchNormCall(const AskedCall& call);
Launches BatchNormTrainingCall(const AskedCall& call);
Launches BatchNormGivenCall(const AskedCall& call);
Launches BatchNormBackwardCall(const AskedCall& call);
Launches BatchNormBackwardTrainingCall(const AskedCall& call);
Launches ReluCall(const AskedCall& call);
Launches ReluBackwardCall(const AskedCall& call);
Launches DropoutCall(const AskedCall& call);
Launches DropoutBackwardCall(const AskedCall& call);
Launches CopyCall(const AskedCall& call);
Launches TimesNumberCall(const AskedCall& call);
Launches ConcatCall(const AskedCall& call);
Launches LogSoftmaxCall(const AskedCall& call);
Launches LogSoftmaxBackwardCall(const AskedCall& call);
// call_elements.cc
Launches ActivationCall(const AskedCall& call);
Launches ActivationBackwardCall(const AskedCall& call);
Launches SumCall(const AskedCall& call);      // of two tensors, or of one and a number
Launches FactorsCall(const AskedCall& call);  // the same of a product
Launches CastCall(const AskedCall& call);     // or a copy
Launches ReductionCall(const AskedCall& call);
Launches LossOfLabelsCall(const AskedCall& call);
Launches BytesCall(const AskedCall& call);        // whatever reads its inputs and writes its outputs once, of any type
Launches CopiedBytesCall(const AskedCall& call);  // a copy, of any type: of two inputs the first is the destination
Launches PickedBytesCall(const AskedCall& call);  // of (source, indices): elements of the source
Launches FillCall(const AskedCall& call);         // whatever writes its outputs alone
// call_lists.cc
Launches AddListsCall(const AskedCall& call);
Launches ListTimesNumberCall(const AskedCall& call);
Launches ListAndNumbersCall(const AskedCall& call);
Launches ListsBetweenCall(const AskedCall& call);  // two lists, of which the first is written
Launches ListsProductCall(const AskedCall& call);  // three
Launches ListsReadCall(const AskedCall& call);
Launches ListsCopyCall(const AskedCall& call);
Launches FusedAdamCall(const AskedCall& call);
Launches FusedSgdCall(const AskedCall& call);
// call_today.cc
Launches LayerNormCall(const AskedCall& call);
Launches LayerNormBackwardCall(const AskedCall& call);
Launches GroupNormCall(const AskedCall& call);
Launches GroupNormBackwardCall(const AskedCall& call);
Launches ManyProductsCall(const AskedCall& call);        // bmm
Launches ManyProductsAndSumCall(const AskedCall& call);  // baddbmm
Launches AttentionCall(const AskedCall& call);
Launches AttentionBackwardCall(const AskedCall& call);
Launches SoftmaxCall(const AskedCall& call);
Launches SoftmaxBackwardCall(const AskedCall& call);
Launches EmbeddingCall(const AskedCall& call);
Launches EmbeddingBackwardCall(const AskedCall& call);
Launches ResizeCall(const AskedCall& call);
Launches ResizeBackwardCall(const AskedCall& call);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_CALL_ROWS_H_
