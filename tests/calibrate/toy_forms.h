// Two made-up convolution algorithms with laws simple enough to check a fit of them by hand.
#ifndef SPILLWAY_TESTS_CALIBRATE_TOY_FORMS_H_
#define SPILLWAY_TESTS_CALIBRATE_TOY_FORMS_H_

#include <array>
#include <string>
#include <vector>

#include "model/kernels/kernel_form.h"
#include "model/samples/sample.h"
#include "model/step/launch.h"

namespace spillway::toy {

inline constexpr std::array<FormParameter, 2> kParameters = {{
    {"efficiency", "fraction of peak", 0.5, 0.01, 2, 0.5},
    {"fixed", "ns", 2000, 100, 1e6, 0.7},
}};

// fixed + flops / (efficiency x peak)
inline double SteadyTime(const Launch& launch, const Chip& chip, std::span<const double> p) {
  return p[1] + CountWork(launch).flops / (p[0] * chip.peak_flops);
}
// The same on half the flops.
inline double FastTime(const Launch& launch, const Chip& chip, std::span<const double> p) {
  return p[1] + CountWork(launch).flops / (2 * p[0] * chip.peak_flops);
}

inline bool IsConvolution(OpKind kind) { return kind == OpKind::kConvolution; }
inline Bytes MuchWorkspace(const Launch&) { return 1000; }

inline constexpr const char* kSteady[] = {"implicit_gemm"};
inline constexpr const char* kFast[] = {"winograd"};

// "steady" needs no workspace, "fast" 1000 bytes and, all else equal, half the time.
inline std::vector<KernelForm> Forms() {
  return {{.name = "steady",
           .description = "",
           .parameters = kParameters,
           .algorithms = [](OpKind kind, Pass) -> std::span<const char* const> {
             if (!IsConvolution(kind)) return {};
             return kSteady;
           },
           .time = SteadyTime},
          {.name = "fast",
           .description = "",
           .parameters = kParameters,
           .algorithms = [](OpKind kind, Pass) -> std::span<const char* const> {
             if (!IsConvolution(kind)) return {};
             return kFast;
           },
           .time = FastTime,
           .workspace = MuchWorkspace}};
}

inline const Chip kChip{.peak_flops = 1000, .memory_bandwidth = 100};

// A 3x3 convolution of `channels` to as many on 14 x 14 pixels: 2 x 9 c^2 x 196 n flops.
inline Sample Convolution(std::int64_t batch, std::int64_t channels) {
  Sample s;
  s.what = SampleKind::kKernel;
  s.device = "toy";
  s.launch.kind = OpKind::kConvolution;
  s.launch.shape.in = s.launch.shape.out = {.n = batch, .c = channels, .h = 14, .w = 14};
  s.launch.shape.window = {1, 3, 3};
  s.launch.shape.pad = {0, 1, 1};
  return s;
}

inline Sample WithAlgorithm(Sample s, const std::string& algorithm) {
  s.algorithm = algorithm;
  s.launch.algorithm = AlgorithmByName(OpKind::kConvolution, s.launch.pass, algorithm);
  return s;
}

}  // namespace spillway::toy

#endif  // SPILLWAY_TESTS_CALIBRATE_TOY_FORMS_H_
