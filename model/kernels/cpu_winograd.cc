// Winograd convolution F(4x4, 3x3) on a processor (Lavin and Gray 2016, arXiv 1509.09308): tiles of 6x6 inputs give 4x4
// outputs by 36 products of channel matrices.
//
//   time = fixed + reorders of input and output + filter transform + tile transforms + products
//
// Tested by tests/model/kernel_forms_cpu_conv_test.cc.
#include "model/kernels/cpu_conv.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr double kProducts = 36;
constexpr std::int64_t kTile = 4;

constexpr ParameterTable kParameters{
    Row{"efficiency", "fraction of peak in the products", 0.53, 0.02, 2, 0.3},
    Row{"short_depth", "summed channels (backward filter: tiles) for which products take twice the time", 5, 0.05, 500,
        0.8},
    Row{"short_result", "channels of the result for which products take twice the time", 16, 0.05, 500, 0.6},
    Row{"transform_bandwidth", "fraction of the memory bandwidth at which transformed tiles are written and read", 0.7,
        0.02, 20, 0.4},
    Row{"filter_transform", "nanoseconds per pair of channels", 40, 0.1, 5000, 2.0},
    kCpuFixed,
    kCpuReorderRows,
};
using Values = ParameterValues<kParameters>;

constexpr const char* kNames[] = {"winograd"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && HasPass(kind, pass));
}
bool Runs(const Launch& launch) {
  return IsPlainWindow(launch, 3) && launch.shape.MostPad(1) <= 1 && launch.shape.MostPad(2) <= 1;
}

double Tiles(const Launch& launch) {
  const Shape& result = launch.pass == Pass::kBackwardData ? launch.shape.in : launch.shape.out;
  const auto along = [](std::int64_t size) { return (size + kTile - 1) / kTile; };
  return static_cast<double>(result.n * along(result.h) * along(result.w));
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const OpShape& s = launch.shape;
  const double tiles = Tiles(launch), in = WholeVectors(s.in.c), out = WholeVectors(s.out.c);
  const double reorders = CpuReorderTime(CpuOperandsOf(launch, false), launch, chip, p);
  const double depth = launch.pass == Pass::kForward ? in : launch.pass == Pass::kBackwardData ? out : tiles;
  const double result = launch.pass == Pass::kBackwardData ? in : out;
  const double products = 2 * kProducts * tiles * in * out / (p["efficiency"] * chip.peak_flops) *
                          (1 + p["short_depth"] / depth) * (1 + p["short_result"] / result);
  const double transformed = 2 * 4 * kProducts * tiles * (in + out);
  const double transforms = CpuTraffic(transformed, transformed / 2, chip, p["transform_bandwidth"], p);
  return p["fixed"] + reorders + in * out * p["filter_transform"] + transforms + products;
}

// Tiles of the whole batch at once; the library takes them in blocks where filters and a block fit its caches. Each
// buffer may begin at a page of 2 MiB. Forward keeps the filter transformed, backward passes reordered.
Bytes Workspace(const Launch& launch) {
  constexpr double kWindow = 9, kPage = 2.0 * kMiB;
  const bool forward = launch.pass == Pass::kForward, filter = launch.pass == Pass::kBackwardFilter;
  const double in = WholeVectors(launch.shape.in.c), out = WholeVectors(launch.shape.out.c);
  const CpuOperands operands = CpuOperandsOf(launch, false);
  const double transformed = 4 * kProducts * (in * out + Tiles(launch) * (in + out)) + 3 * kPage;
  const double gradients = filter ? 4 * (kProducts * in * out + out) + kPage : 0;
  return CacheLines(4 * in * static_cast<double>(launch.shape.in.n * launch.shape.in.Spatial())) +
         CacheLines(operands.out.blocked) + CacheLines(4 * (forward ? kProducts : kWindow) * in * out) +
         CacheLines(transformed + gradients);
}

}  // namespace

KernelForm CpuWinogradForm() {
  return FormOf<Time>({.name = "cpu_winograd",
                       .description = "Winograd F(4x4, 3x3) on blocked layouts, operands reordered",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace,
                       .platform = Platform::kCpu});
}

}  // namespace spillway
