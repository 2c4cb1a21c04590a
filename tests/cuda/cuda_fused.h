// Convolutions with bias and activation in one call, and what they come to.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_FUSED_H_
#define SPILLWAY_TESTS_CUDA_CUDA_FUSED_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/cuda/cuda_kernel_compare.h"

namespace spillway {

struct FusedShape {
  const char* name;
  OpShape shape;
};
// Plain, grouped with a stride, and with depth.
inline const std::vector<FusedShape>& FusedShapes() {
  static const std::vector<FusedShape> shapes = {{"plain",
                                                  {.in = {.n = 2, .c = 4, .h = 6, .w = 5},
                                                   .out = {.n = 2, .c = 3, .h = 6, .w = 5},
                                                   .window = {1, 3, 3},
                                                   .pad = {0, 1, 1}}},
                                                 {"grouped",
                                                  {.in = {.n = 2, .c = 4, .h = 5, .w = 5},
                                                   .out = {.n = 2, .c = 6, .h = 3, .w = 3},
                                                   .window = {1, 3, 3},
                                                   .stride = {1, 2, 2},
                                                   .pad = {0, 1, 1},
                                                   .groups = 2}},
                                                 {"deep",
                                                  {.in = {.n = 1, .c = 4, .d = 3, .h = 4, .w = 4},
                                                   .out = {.n = 1, .c = 4, .d = 3, .h = 4, .w = 4},
                                                   .window = {3, 3, 3},
                                                   .pad = {1, 1, 1},
                                                   .groups = 4}}};
  return shapes;
}

// Random input, weight and bias.
inline std::vector<Values> FusedValues(const OpShape& s) {
  const std::int64_t weights = s.out.c * s.in.c / s.groups * s.window[0] * s.window[1] * s.window[2];
  return {RandomValues(s.in, 1), RandomValues(static_cast<std::size_t>(weights), 2),
          RandomValues(static_cast<std::size_t>(s.out.c), 3)};
}

// The convolution by the CPU device, then bias and ReLU by hand.
inline Values FusedResult(CpuKernels& cpu, const OpCall& call, const std::vector<Values>& reads, bool relu) {
  const Shape& out = call.launch.shape.out;
  OpCall plain = call;
  plain.launch.algorithm = 0;
  plain.launch.workspace = kUsualWorkspace;
  plain.launch.math = MathMode::kFp32;
  Values values = Result(cpu, plain, {reads[0], reads[1]}, Values(Count(out)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i) / out.Spatial() % out.c;
    values[i] += reads[2][static_cast<std::size_t>(channel)];
    if (relu) values[i] = std::max(values[i], 0.0f);
  }
  return values;
}

// Device memory that holds what the vectors do.
class FusedOperands {
 public:
  FusedOperands(CudaCalls& calls, const std::vector<Values>& all, CudaStream* stream) {
    for (const Values& values : all) {
      buffers_.push_back(std::make_unique<DeviceBuffer>(calls, static_cast<Bytes>(values.size() * sizeof(float))));
      buffers_.back()->Put(values.data(), stream);
      places_.push_back(buffers_.back()->data());
    }
  }
  const std::vector<void*>& places() const { return places_; }

 private:
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<void*> places_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_FUSED_H_
