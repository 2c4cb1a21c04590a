// The laws of a processor's kernels, on a chip of 1 byte and 1 flop per nanosecond with a last cache of 1000 bytes.
#ifndef SPILLWAY_TESTS_CPU_FORMS_H_
#define SPILLWAY_TESTS_CPU_FORMS_H_

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/cost/model_cost.h"
#include "model/kernels/kernel_form.h"
#include "tests/form_values.h"

namespace spillway {

constexpr Chip kChip{.peak_flops = 1, .memory_bandwidth = 1, .multiprocessors = 1, .l2_bytes = 1000};
// Caches of next to nothing: all traffic at the rate of the memory, all filters from beyond the core.
inline const Values kNoCache{{"fixed", 0}, {"cache_gain", 0}, {"cache_share", 1e-9}};

inline Values With(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

inline double TimeOf(const KernelForm& form, const Launch& launch, const Values& replaced, const Chip& chip = kChip) {
  return TimeOn(chip, form, launch, replaced);
}

// 2 samples, c to k channels, h x h pictures, window r, padded to keep the size.
inline Launch Convolution(Pass pass, std::int64_t c, std::int64_t k, std::int64_t h, std::int64_t r,
                          std::int64_t stride = 1) {
  const std::int64_t out = (h - 1) / stride + 1;
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = pass;
  launch.shape = {.in = {.n = 2, .c = c, .h = h, .w = h},
                  .out = {.n = 2, .c = k, .h = out, .w = out},
                  .window = {1, r, r},
                  .stride = {1, stride, stride},
                  .pad = {0, r / 2, r / 2}};
  return launch;
}

inline Launch Linear(Pass pass, std::int64_t samples, std::int64_t inputs, std::int64_t outputs) {
  return {.kind = OpKind::kLinear,
          .pass = pass,
          .shape = {.in = {.n = samples, .c = inputs}, .out = {.n = samples, .c = outputs}}};
}

inline Launch Square(OpKind kind, Pass pass, const Shape& shape, std::int64_t operands = 1) {
  return {.kind = kind, .pass = pass, .shape = {.in = shape, .out = shape, .operands = operands}};
}

inline const std::array<Pass, 3> kPasses{Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CPU_FORMS_H_
