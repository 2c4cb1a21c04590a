// Tensors: what is stored, in which type and layout, and what for.
#ifndef SPILLWAY_MODEL_STEP_TENSOR_H_
#define SPILLWAY_MODEL_STEP_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hw/machine/math_peaks.h"
#include "hw/text/units.h"

namespace spillway {

using TensorId = std::int32_t;  // index into TrainingStep::tensors; -1 = none
constexpr TensorId kNoTensor = -1;

// The type of a tensor's elements. Ops compute in floating point, up to kLastFloat; integers are indices, labels and
// masks. The type that an op computes in is part of a launch's cost key, and so is the math mode of its products: fp32
// numbers may be multiplied in tf32. Only fp32 NCHW is trained, others are measured and predicted.
enum class DataType : std::uint8_t { kFp32, kFp16, kBf16, kInt64, kInt32, kInt8, kBool };
constexpr DataType kLastFloat = DataType::kBf16;
enum class Layout : std::uint8_t { kNchw, kNhwc };

struct TypeTraits {
  DataType type;
  const char* name;       // in profiles, samples and texts
  const char* long_name;  // as frameworks call the type
  Bytes size;             // of an element
};
// By DataType.
inline constexpr std::array<TypeTraits, 7> kTypeTraits{{
    {DataType::kFp32, "fp32", "float32", 4},
    {DataType::kFp16, "fp16", "float16", 2},
    {DataType::kBf16, "bf16", "bfloat16", 2},
    {DataType::kInt64, "int64", "int64", 8},
    {DataType::kInt32, "int32", "int32", 4},
    {DataType::kInt8, "int8", "int8", 1},
    {DataType::kBool, "bool", "bool", 1},
}};
constexpr const TypeTraits& TraitsOf(DataType type) { return kTypeTraits[static_cast<std::size_t>(type)]; }
constexpr Bytes SizeOf(DataType type) { return TraitsOf(type).size; }
constexpr bool IsFloat(DataType type) { return type <= kLastFloat; }
constexpr const char* DataTypeName(DataType type) { return TraitsOf(type).name; }
std::optional<DataType> DataTypeByName(std::string_view name);  // by either name
const char* LayoutName(Layout layout);                          // "nchw", "nhwc"
std::optional<Layout> LayoutByName(std::string_view name);

// From a name back to its value, nullopt for an unknown name. Values count from 0 to `last` without gaps.
template <typename Value>
std::optional<Value> ValueByName(std::string_view name, Value last, const char* (*name_of)(Value)) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name == name_of(static_cast<Value>(i))) return static_cast<Value>(i);
  }
  return std::nullopt;
}

// Sizes in logical order whatever the memory layout. 2-D data have d = 1; a vector per sample has d = h = w = 1.
struct Shape {
  std::int64_t n = 1, c = 1, d = 1, h = 1, w = 1;
  std::int64_t Elements() const { return n * c * d * h * w; }
  std::int64_t Spatial() const { return d * h * w; }
  bool operator==(const Shape&) const = default;
};
std::string ShapeText(const Shape& shape);  // "128x64x112x112", with d only where it is not 1

// What a tensor is for, as who makes it and who reads it decides when the step is unrolled.
enum class TensorClass : std::uint8_t {
  kInput,       // the batch; its master copy stays on the host
  kFeatureMap,  // forward result that backward reads: what strategies classify
  kTransient,   // forward result that no backward op reads: gone after its last forward use
  kGradient,    // gradient of a forward result
  kParameter,
  kParameterGradient,
  kOptimizerState,
  kAuxiliary,      // small results kept for backward and never moved: saved statistics, dropout mask, loss
  kParameterCopy,  // a parameter, or its gradient, in another type: made anew by each part of a batch
};

// What follows from a tensor's class, in one table; nobody asks for a class by name to know it. Planners, `lower`,
// `verify`, the bounds and the devices go by the same columns, as they go by the same step.
struct TensorTraits {
  TensorClass use;
  const char* name;  // "feature_map", ...: in texts
  bool on_host =
      false;  // has a copy on the host before and after the step: is never copied out, is there to be brought
  bool resident = false;       // stays on the device from step to step, and always within a step, between its uses
  bool may_move = true;        // a plan may swap or drop it in a gap between two uses
  bool of_parameters = false;  // has the parameters' shape, whatever the batch
  bool of_part = false;        // of the parameters' shape, but each part of a batch has its own
  bool outlives = false;       // where a step reads it before it writes it, it holds what is left from before the step
};

// By TensorClass.
inline constexpr std::array<TensorTraits, 9> kTensorTraits{{
    {.use = TensorClass::kInput, .name = "input", .on_host = true, .outlives = true},
    {.use = TensorClass::kFeatureMap, .name = "feature_map"},
    {.use = TensorClass::kTransient, .name = "transient"},
    {.use = TensorClass::kGradient, .name = "gradient"},
    {.use = TensorClass::kParameter,
     .name = "parameter",
     .resident = true,
     .may_move = false,
     .of_parameters = true,
     .outlives = true},
    {.use = TensorClass::kParameterGradient, .name = "parameter_gradient", .of_parameters = true},
    {.use = TensorClass::kOptimizerState,
     .name = "optimizer_state",
     .resident = true,
     .may_move = false,
     .of_parameters = true,
     .outlives = true},
    {.use = TensorClass::kAuxiliary, .name = "auxiliary", .may_move = false, .outlives = true},
    {.use = TensorClass::kParameterCopy,
     .name = "parameter_copy",
     .may_move = false,
     .of_parameters = true,
     .of_part = true,
     .outlives = true},
}};
constexpr const TensorTraits& TraitsOf(TensorClass use) { return kTensorTraits[static_cast<std::size_t>(use)]; }
constexpr const char* TensorClassName(TensorClass use) { return TraitsOf(use).name; }

// Owned by its TrainingStep and found by its index there, a TensorId. Where it lies is no matter of the tensor's:
// buffers are the Program's.
struct Tensor {
  std::string name;  // unique in its step; a layer's result carries the layer's name
  Shape shape;
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;
  TensorClass use = TensorClass::kTransient;
  const TensorTraits& Traits() const { return TraitsOf(use); }
  Bytes bytes = 0;  // what a buffer for it needs, before allocator rounding: SizeOf(type) an element; a recording tells
  std::int64_t first_sample = 0;  // of the batch: what an input begins with
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_TENSOR_H_
