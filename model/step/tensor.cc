#include "model/step/tensor.h"

namespace spillway {
namespace {

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kTensorTraits.size(); ++i) {
    if (kTensorTraits[i].use != static_cast<TensorClass>(i)) return false;
  }
  for (std::size_t i = 0; i < kTypeTraits.size(); ++i) {
    if (kTypeTraits[i].type != static_cast<DataType>(i)) return false;
  }
  return true;
}
static_assert(InOrder() && kTensorTraits.back().use == TensorClass::kParameterCopy, "the rows are found by number");
static_assert(kTypeTraits.back().type == DataType::kBool, "a row for each type");

}  // namespace

const char* LayoutName(Layout layout) { return layout == Layout::kNchw ? "nchw" : "nhwc"; }

std::optional<DataType> DataTypeByName(std::string_view name) {
  for (const TypeTraits& traits : kTypeTraits) {
    if (name == traits.name || name == traits.long_name) return traits.type;
  }
  return std::nullopt;
}
std::optional<Layout> LayoutByName(std::string_view name) { return ValueByName(name, Layout::kNhwc, LayoutName); }

std::string ShapeText(const Shape& shape) {
  std::string text = std::to_string(shape.n) + "x" + std::to_string(shape.c);
  if (shape.d != 1) text += "x" + std::to_string(shape.d);
  return text + "x" + std::to_string(shape.h) + "x" + std::to_string(shape.w);
}

}  // namespace spillway
