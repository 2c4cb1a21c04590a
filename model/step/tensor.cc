#include "model/step/tensor.h"

namespace spillway {
namespace {

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kTensorTraits.size(); ++i) {
    if (kTensorTraits[i].use != static_cast<TensorClass>(i)) return false;
  }
  return true;
}
static_assert(InOrder() && kTensorTraits.back().use == TensorClass::kAuxiliary, "the rows are found by number");

}  // namespace

const char* DataTypeName(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return "fp32";
    case DataType::kFp16:
      return "fp16";
    case DataType::kBf16:
      return "bf16";
  }
  return "?";
}

const char* LayoutName(Layout layout) { return layout == Layout::kNchw ? "nchw" : "nhwc"; }

std::optional<DataType> DataTypeByName(std::string_view name) {
  return ValueByName(name, DataType::kBf16, DataTypeName);
}
std::optional<Layout> LayoutByName(std::string_view name) { return ValueByName(name, Layout::kNhwc, LayoutName); }

std::string ShapeText(const Shape& shape) {
  std::string text = std::to_string(shape.n) + "x" + std::to_string(shape.c);
  if (shape.d != 1) text += "x" + std::to_string(shape.d);
  return text + "x" + std::to_string(shape.h) + "x" + std::to_string(shape.w);
}

}  // namespace spillway
