// Winograd convolution in separate kernels: transforms of input and filter, a batch of matrix products, transform of
// the result. All three passes.
//
// A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016. F(m x m, r x r) turns every m x m
// outputs into f = (m + r - 1)^2 independent products: 36 for 3x3 windows (m = 4), 169 for 5x5 (m = 9). With t = samples
// x ceil(height / m) x ceil(width / m) patches, each product is patches x output channels, summed over input channels
// (backward data: channels swapped; backward filter: input x output channels, summed over patches in one block each, so
// that few channels leave most multiprocessors idle).
//
// The workspace holds the transformed input, result and filter, f x (t x (c + k) + c x k) words; forward and backward
// data round the samples up to 16.
// Tested by tests/model/kernel_forms_conv_test.cc.
#include "model/kernels/conv_launch.h"
#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kGemmRows,
    Row{"source_bandwidth", "fraction of memory bandwidth, transform of what is read", 0.6, 0.1, 0.95, 0.3},
    Row{"result_bandwidth", "fraction of memory bandwidth, transform of the result", 0.6, 0.1, 0.95, 0.3},
    Row{"filter_bandwidth", "fraction of memory bandwidth, transform of the filter", 0.3, 0.02, 1.5, 0.7},
    Row{"misaligned", "filter transform: rate left where channels are no multiple of 8", 0.4, 0.02, 1.2, 0.7},
    Row{"large_transform", "bandwidth left to the transforms of 5x5 windows", 0.7, 0.1, 1, 0.6},
    Row{"fixed", "ns per call: four launches", 10000, 2000, 1e5, 0.7},
};
using Values = ParameterValues<kParameters>;

constexpr GemmTile kTiles[] = {{128, 128}, {128, 64}, {64, 64}, {128, 32}, {32, 128}};
constexpr std::span<const GemmTile> kFilterTiles = std::span(kTiles).first(1);
constexpr std::int64_t kSampleStep = 16;

constexpr const char* kNames[] = {"winograd_nonfused"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && HasPass(kind, pass));
}

bool Runs(const Launch& launch) { return IsPlainWindow(launch, 3) || IsPlainWindow(launch, 5); }

struct Transform {
  std::int64_t products = 0;  // f
  std::int64_t patches = 0;   // t
};

Transform TransformOf(const Launch& launch) {
  const OpShape& s = launch.shape;
  const std::int64_t window = s.window[1];
  const std::int64_t patch = window == 3 ? 4 : 9;
  const Shape& tiled = launch.pass == Pass::kBackwardData ? s.in : s.out;
  const std::int64_t samples = launch.pass == Pass::kBackwardFilter ? s.in.n : RoundUp(s.in.n, kSampleStep);
  const std::int64_t side = patch + window - 1;
  return {.products = side * side,
          .patches = samples * (RoundUp(tiled.h, patch) / patch) * (RoundUp(tiled.w, patch) / patch)};
}

struct Traffic {
  double source = 0, result = 0, filter = 0;  // bytes that the transforms move
};

Traffic TrafficOf(const Launch& launch, const ConvLaunch& conv, double products, double patches) {
  const double element = static_cast<double>(SizeOf(launch.type));
  const double in = conv.in_bytes + element * products * patches * conv.c;
  const double out = conv.out_bytes + element * products * patches * conv.k;
  const double filter = conv.filter_bytes * (1 + products / conv.taps);
  if (launch.pass == Pass::kForward) return {in, out + conv.accumulated_bytes, filter};
  if (launch.pass == Pass::kBackwardData) return {out, in + conv.accumulated_bytes, filter};
  return {in + out, 0, filter + conv.accumulated_bytes};
}

double ProductTime(const Launch& launch, const ConvLaunch& conv, const Chip& chip, const GemmLaw& law, double products,
                   double patches) {
  TiledProduct product{.count = products};
  if (launch.pass == Pass::kBackwardFilter) {
    product.rows = conv.c, product.columns = conv.k, product.depth = patches;
    return FastestTileTime(product, kFilterTiles, chip, law);
  }
  const bool forward = launch.pass == Pass::kForward;
  product.rows = patches, product.columns = forward ? conv.k : conv.c, product.depth = forward ? conv.c : conv.k;
  return FastestTileTime(product, kTiles, chip, law);
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const Transform transform = TransformOf(launch);
  const auto products = static_cast<double>(transform.products), patches = static_cast<double>(transform.patches);
  const Traffic traffic = TrafficOf(launch, conv, products, patches);
  const std::int64_t depth = launch.pass == Pass::kBackwardData ? launch.shape.out.c : launch.shape.in.c;
  const double filter = p["filter_bandwidth"] * RowAlignment(depth, p["misaligned"]);
  const double moving =
      traffic.source / p["source_bandwidth"] + traffic.result / p["result_bandwidth"] + traffic.filter / filter;
  const double bandwidth = chip.memory_bandwidth * (launch.shape.window[1] == 3 ? 1.0 : p["large_transform"]);
  return p["fixed"] + ProductTime(launch, conv, chip, GemmLawOf(p), products, patches) + moving / bandwidth;
}

Bytes Workspace(const Launch& launch) {
  const Transform t = TransformOf(launch);
  const std::int64_t c = launch.shape.in.c, k = launch.shape.out.c;
  return 4 * t.products * (t.patches * (c + k) + c * k);
}

}  // namespace

KernelForm WinogradNonfusedForm() {
  return FormOf<Time>({.name = "winograd_nonfused",
                       .description = "Winograd F(4x4, 3x3) or F(9x9, 5x5) as transforms around batched products",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace});
}

}  // namespace spillway
