#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"

#include <algorithm>

#include "model/kernels/kernel_form.h"
#include "model/step/launch.h"

namespace spillway::ooc_cudnn {

namespace {

// Of the two sizes that everything is profiled with: one sample, 64 channels.
constexpr std::int64_t kProfiledChannels = 64, kProfiledSide[2] = {256, 128};
constexpr std::int64_t kConvolutionChannels = 128, kConvolutionSide[2] = {128, 64};
constexpr std::int64_t kChannelQuantum = 32;

Shape Images(std::int64_t channels, std::int64_t side) { return {.n = 1, .c = channels, .h = side, .w = side}; }

// The launch of the same kind on a profiled size.
Launch Profiled(const Launch& launch, int size) {
  Launch profiled = launch;
  OpShape& s = profiled.shape;
  profiled.accumulate = false;
  if (launch.kind == OpKind::kConvolution) {
    const std::int64_t channels = launch.pass == Pass::kBackwardFilter ? kProfiledChannels : kConvolutionChannels;
    s = OpShape{};
    s.in = Images(kConvolutionChannels, kConvolutionSide[size]);
    s.out = Images(channels, kConvolutionSide[size] - 2);
    s.window = {1, 3, 3};
    profiled.algorithm = launch.pass == Pass::kForward ? 1 : 0;  // implicit GEMM
    profiled.workspace = 0;
    return profiled;
  }
  if (HasWeights(launch.kind)) {  // as many features, one or two samples
    s.in.n = s.out.n = size == 0 ? 2 : 1;
    return profiled;
  }
  s.in = s.out = Images(kProfiledChannels, kProfiledSide[size]);
  if (!HasWindow(launch.kind)) return profiled;
  s.window = s.stride = {1, 2, 2};
  s.pad = {};
  s.out = Images(kProfiledChannels, kProfiledSide[size] / 2);
  return profiled;
}

}  // namespace

LinearLaw Through(double size1, double time1, double size2, double time2) {
  const double weight = size1 == size2 ? 0 : (time1 - time2) / (size1 - size2);
  return {weight, time1 - weight * size1};
}

LinearLaw CopyLaw(const CostModel& costs, int device) {
  const auto bytes = [](int size) { return 4 * Images(kProfiledChannels, kProfiledSide[size]).Elements(); };
  const auto time = [&](int size) {
    return static_cast<double>(costs.Copy(bytes(size), Direction::kHostToDevice, device).time);
  };
  return Through(static_cast<double>(bytes(0)), time(0), static_cast<double>(bytes(1)), time(1));
}

LinearLaw KernelLaw(const CostModel& costs, const Launch& launch, int device) {
  const Launch large = Profiled(launch, 0), small = Profiled(launch, 1);
  return Through(WorkOf(large), static_cast<double>(costs.Kernel(large, device).time), WorkOf(small),
                 static_cast<double>(costs.Kernel(small, device).time));
}

double WorkOf(const Launch& launch) {
  if (launch.kind != OpKind::kConvolution) return CountWork(launch).bytes;
  const OpShape& s = launch.shape;
  const std::int64_t channels = RoundUp(s.out.c, kChannelQuantum);
  return 4.0 * static_cast<double>(s.out.n * channels * s.out.Spatial()) *
         static_cast<double>(s.in.c / s.groups * s.window[0] * s.window[1] * s.window[2]);
}

}  // namespace spillway::ooc_cudnn
