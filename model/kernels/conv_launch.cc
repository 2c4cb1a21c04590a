// Tested by tests/model/kernel_forms_conv_test.cc.
#include "model/kernels/conv_launch.h"

#include <algorithm>
#include <cmath>

namespace spillway {

ConvLaunch ConvLaunchOf(const Launch& launch) {
  const OpShape& s = launch.shape;
  const auto element = static_cast<double>(SizeOf(launch.type));
  ConvLaunch conv;
  conv.n = static_cast<double>(s.in.n);
  conv.groups = static_cast<double>(s.groups);
  conv.c = static_cast<double>(s.in.c / s.groups);
  conv.k = static_cast<double>(s.out.c / s.groups);
  conv.in_spatial = static_cast<double>(s.in.Spatial());
  conv.out_spatial = static_cast<double>(s.out.Spatial());
  conv.taps = static_cast<double>(s.window[0] * s.window[1] * s.window[2]);
  conv.strides = static_cast<double>(s.stride[0] * s.stride[1] * s.stride[2]);
  conv.in_bytes = element * static_cast<double>(s.in.Elements());
  conv.out_bytes = element * static_cast<double>(s.out.Elements());
  conv.filter_bytes = element * conv.groups * conv.c * conv.k * conv.taps;
  if (launch.accumulate) {
    conv.accumulated_bytes = launch.pass == Pass::kForward        ? conv.out_bytes
                             : launch.pass == Pass::kBackwardData ? conv.in_bytes
                                                                  : conv.filter_bytes;
  }
  return conv;
}

TiledProduct BackwardDataProduct(const ConvLaunch& conv) {
  if (conv.strides == 1) {
    return {.rows = conv.n * conv.in_spatial, .columns = conv.c, .depth = conv.k * conv.taps, .count = conv.groups};
  }
  const double classes = std::min(conv.strides, conv.taps);
  return {.rows = conv.n * conv.out_spatial,
          .columns = conv.c,
          .depth = conv.k * conv.taps / classes,
          .count = conv.groups * classes};
}

double GroupedDirectTime(const ConvLaunch& conv, const Chip& chip, double bandwidth) {
  constexpr double kInstructions = 16;  // per multiply-add
  const double flops = 2 * conv.n * conv.out_spatial * conv.groups * conv.k * conv.c * conv.taps;
  const double bytes = conv.Moved();
  return Overlap(flops * kInstructions / chip.peak_flops, bytes / (chip.memory_bandwidth * bandwidth));
}

bool IsPlainWindow(const Launch& launch, std::int64_t window) {
  const OpShape& s = launch.shape;
  const bool flat = s.window[0] == 1 && s.in.d == 1;
  const bool dense = s.stride[0] == 1 && s.stride[1] == 1 && s.stride[2] == 1 && s.groups == 1 && !s.Dilated();
  return flat && dense && s.window[1] == window && s.window[2] == window;
}

double RowAlignment(std::int64_t words, double misaligned) {
  if (words % 8 == 0) return 1;
  return words % 4 == 0 ? std::sqrt(misaligned) : misaligned;
}

}  // namespace spillway
