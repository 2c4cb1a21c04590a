#include "model/step/tensor.h"

namespace spillway {

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

const char* MathModeName(MathMode mode) {
  switch (mode) {
    case MathMode::kFp32:
      return "fp32";
    case MathMode::kTf32:
      return "tf32";
    case MathMode::kFp16:
      return "fp16";
    case MathMode::kBf16:
      return "bf16";
  }
  return "?";
}

const char* LayoutName(Layout layout) { return layout == Layout::kNchw ? "nchw" : "nhwc"; }

const char* TensorClassName(TensorClass c) {
  switch (c) {
    case TensorClass::kInput:
      return "input";
    case TensorClass::kFeatureMap:
      return "feature_map";
    case TensorClass::kTransient:
      return "transient";
    case TensorClass::kGradient:
      return "gradient";
    case TensorClass::kParameter:
      return "parameter";
    case TensorClass::kParameterGradient:
      return "parameter_gradient";
    case TensorClass::kOptimizerState:
      return "optimizer_state";
    case TensorClass::kAuxiliary:
      return "auxiliary";
  }
  return "?";
}

std::string ShapeText(const Shape& shape) {
  std::string text = std::to_string(shape.n) + "x" + std::to_string(shape.c);
  if (shape.d != 1) text += "x" + std::to_string(shape.d);
  return text + "x" + std::to_string(shape.h) + "x" + std::to_string(shape.w);
}

}  // namespace spillway
