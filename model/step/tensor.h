// Tensors: what is stored, in which type and layout, and what for.
#ifndef SPILLWAY_MODEL_STEP_TENSOR_H_
#define SPILLWAY_MODEL_STEP_TENSOR_H_

#include <cstdint>
#include <string>

#include "hw/text/units.h"

namespace spillway {

using TensorId = std::int32_t;  // index into TrainingStep::tensors; -1 = none
constexpr TensorId kNoTensor = -1;

enum class DataType : std::uint8_t { kFp32, kFp16, kBf16 };
enum class MathMode : std::uint8_t { kFp32, kTf32, kFp16, kBf16 };
enum class Layout : std::uint8_t { kNchw, kNhwc };

constexpr Bytes SizeOf(DataType type) { return type == DataType::kFp32 ? 4 : 2; }
const char* DataTypeName(DataType type);  // "fp32", "fp16", "bf16"
const char* MathModeName(MathMode mode);
const char* LayoutName(Layout layout);

// Sizes in logical order whatever the memory layout. 2-D data have d = 1; a vector per sample has d = h = w = 1.
struct Shape {
  std::int64_t n = 1, c = 1, d = 1, h = 1, w = 1;
  std::int64_t Elements() const { return n * c * d * h * w; }
  std::int64_t Spatial() const { return d * h * w; }
  bool operator==(const Shape&) const = default;
};
std::string ShapeText(const Shape& shape);  // "128x64x112x112", with d only where it is not 1

enum class TensorClass : std::uint8_t {
  kInput,       // the batch; its master copy stays on the host
  kFeatureMap,  // forward result that backward reads: what strategies classify
  kTransient,   // forward result that no backward op reads: gone after its last forward use
  kGradient,    // gradient of a forward result
  kParameter,
  kParameterGradient,
  kOptimizerState,
  kAuxiliary,  // small results kept for backward and never moved: saved statistics, dropout mask, loss
};
const char* TensorClassName(TensorClass c);

struct Tensor {
  std::string name;  // unique in its step; a layer's result carries the layer's name
  Shape shape;
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;
  TensorClass use = TensorClass::kTransient;
  Bytes bytes = 0;  // what a buffer for it needs, before allocator rounding (a mask: one byte an element)
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_TENSOR_H_
