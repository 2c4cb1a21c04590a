// Explicit GEMM, forward: a first kernel copies the input patches of the whole batch into a matrix (im2col), a second
// multiplies it by the filter. Only the forward pass has it.
//
//   matrix  = input channels x window elements by samples x output positions: the workspace, to the byte
//   product = rows samples x output positions, columns output channels, depth input channels x window elements
// Tested by tests/model/kernel_forms_gemm_test.cc.
#include "model/kernels/conv_launch.h"
#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kGemmRows,
    Row{"bandwidth", "fraction of memory bandwidth in the product; every matrix moves once", 0.7, 0.1, 1.1, 0.3},
    Row{"copy_bandwidth", "fraction of memory bandwidth in im2col; input read and matrix written once", 0.5, 0.05, 1.1,
        0.3},
    Row{"fixed", "ns per call", 12000, 2000, 4e4, 0.5},
};
using Values = ParameterValues<kParameters>;

constexpr GemmTile kTiles[] = {{128, 128}, {128, 64}, {128, 32}};

constexpr const char* kNames[] = {"gemm"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && pass == Pass::kForward);
}

// The library has it for two dimensions.
bool Runs(const Launch& launch) {
  const OpShape& s = launch.shape;
  return s.in.d == 1 && s.window[0] == 1 && s.groups == 1;
}

Bytes Workspace(const Launch& launch) {
  const OpShape& s = launch.shape;
  return SizeOf(launch.type) * s.in.c * s.window[1] * s.window[2] * s.out.n * s.out.Spatial();
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const auto matrix = static_cast<double>(Workspace(launch));
  const TiledProduct product{
      .rows = conv.n * conv.out_spatial, .columns = conv.k, .depth = conv.c * conv.taps, .count = 1, .split = 1};
  const double moved = matrix + conv.filter_bytes + conv.out_bytes + conv.accumulated_bytes;
  return p["fixed"] + (conv.in_bytes + matrix) / (chip.memory_bandwidth * p["copy_bandwidth"]) +
         Overlap(FastestTileTime(product, kTiles, chip, GemmLawOf(p)),
                 moved / (chip.memory_bandwidth * p["bandwidth"]));
}

}  // namespace

KernelForm ExplicitGemmForm() {
  return FormOf<Time>({.name = "explicit_gemm",
                       .description = "im2col of the whole batch, then one matrix product",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace});
}

}  // namespace spillway
