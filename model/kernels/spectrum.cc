// Tested by tests/kernel_forms_gemm_test.cc.
#include "model/kernels/spectrum.h"

#include <cmath>

#include "model/kernels/gemm_core.h"

namespace spillway {
namespace {

constexpr GemmTile kTile{64, 32};
constexpr double kComplexMultiplyAdd = 8;  // flops

}  // namespace

double PlaneTransform::Flops() const {
  const auto points = static_cast<double>(side_h * side_w);
  return 2.5 * points * std::log2(points);
}

Planes PlanesOf(const Launch& launch, std::int64_t tiles) {
  const OpShape& s = launch.shape;
  return {.in = s.in.n * s.in.c * tiles, .out = s.out.n * s.out.c * tiles, .filter = s.in.c * s.out.c};
}

FrequencyProduct FrequencyProductOf(const Launch& launch, std::int64_t tiles) {
  const auto patches = static_cast<double>(launch.shape.in.n * tiles);
  const auto c = static_cast<double>(launch.shape.in.c), k = static_cast<double>(launch.shape.out.c);
  if (launch.pass == Pass::kForward) return {patches, k, c};
  if (launch.pass == Pass::kBackwardData) return {patches, c, k};
  return {c, k, patches};
}

double SpectrumProductTime(const FrequencyProduct& product, double frequencies, double bytes, const Chip& chip,
                           std::span<const double> p) {
  const double rows = CeilNear(product.rows / kTile.rows) * kTile.rows;
  const double columns = CeilNear(product.columns / kTile.columns) * kTile.columns;
  const double depth = product.depth + p[kSpectrumDepthIndex];
  const double flops = kComplexMultiplyAdd * frequencies * rows * columns * depth;
  return Overlap(flops / (chip.peak_flops * p[kSpectrumEfficiencyIndex]),
                 bytes / (chip.memory_bandwidth * p[kSpectrumBandwidthIndex]));
}

bool FftApplies(const Launch& launch) {
  const OpShape& s = launch.shape;
  const bool flat = s.in.d == 1 && s.window[0] == 1;
  return launch.kind == OpKind::kConvolution && flat && s.groups == 1 && launch.layout == Layout::kNchw &&
         s.window[1] > s.pad[1] && s.window[2] > s.pad[2];
}

}  // namespace spillway
