// Convolution by FFTs of tiles of 32 x 32 points, forward and backward data. (The library lists it for the filter pass,
// too, but did not run it in any layer of three networks.)
//
//   tiles      overlap by the window less one: steps of 33 - window. A window of one row is transformed along the width
//              only, tiles of 1 x 32, and of one column along the height
//   workspace  spectra of the filter and of both images, two tiles of each image at a time; where tiles have one row or
//              column, two of every row or column of the image
//   time       fixed + (planes + spectra) at `bandwidth` + products + `piece` for every further two tiles of an image
//
// The transforms themselves hide behind their memory traffic.
// Tested by tests/model/kernel_forms_gemm_test.cc.
#include <algorithm>

#include "model/kernels/conv_launch.h"
#include "model/kernels/kernel_form.h"
#include "model/kernels/spectrum.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kSpectrumRows,
    Row{"piece", "ns for every two tiles of an image after the first two", 30000, 1000, 5e5, 0.8},
    Row{"fixed", "ns per call of the library", 18000, 3000, 5e4, 0.5},
};
using Values = ParameterValues<kParameters>;

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kTilesAtOnce = 2;

constexpr const char* kNames[] = {"fft_tiling"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && (pass == Pass::kForward || pass == Pass::kBackwardData));
}

// Limits as the cuDNN developer guide gives them: windows up to 32; stride 1, or 2 where the window has two dimensions.
bool Runs(const Launch& launch) {
  const OpShape& s = launch.shape;
  const std::int64_t most = s.window[1] == 1 || s.window[2] == 1 ? 1 : 2;
  return RunsFft(launch) && s.window[1] <= kSide && s.window[2] <= kSide && s.stride[1] <= most && s.stride[2] <= most;
}

std::int64_t Pieces(std::int64_t size, std::int64_t window) {
  const std::int64_t step = kSide + 1 - window;
  return (size + step - 1) / step;
}

struct Tiling {
  PlaneTransform transform;
  std::int64_t tiles = 1;  // of one plane
  std::int64_t at_once = 1;
};

Tiling TilingOf(const Launch& launch) {
  const OpShape& s = launch.shape;
  // The positions that the result covers at stride 1.
  const bool forward = launch.pass == Pass::kForward;
  const std::int64_t h = forward ? s.out.h * s.stride[1] : s.in.h, w = forward ? s.out.w * s.stride[2] : s.in.w;
  Tiling tiling;
  if (s.window[1] == 1) {
    tiling.transform = {1, kSide};
    tiling.tiles = h * Pieces(w, s.window[2]);
    tiling.at_once = h * std::min(kTilesAtOnce, Pieces(w, s.window[2]));
  } else if (s.window[2] == 1) {
    tiling.transform = {1, kSide};
    tiling.tiles = w * Pieces(h, s.window[1]);
    tiling.at_once = w * std::min(kTilesAtOnce, Pieces(h, s.window[1]));
  } else {
    tiling.transform = {kSide, kSide};
    tiling.tiles = Pieces(h, s.window[1]) * Pieces(w, s.window[2]);
    tiling.at_once = std::min(kTilesAtOnce, tiling.tiles);
  }
  return tiling;
}

Bytes Workspace(const Launch& launch) {
  const Tiling tiling = TilingOf(launch);
  return PlanesOf(launch, tiling.at_once).All() * tiling.transform.Spectrum();
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const Tiling tiling = TilingOf(launch);
  const auto spectrum = static_cast<double>(tiling.transform.Spectrum());
  const Planes planes = PlanesOf(launch, tiling.tiles);
  const auto pieces = static_cast<double>((tiling.tiles + tiling.at_once - 1) / tiling.at_once);
  const double spectra = spectrum * static_cast<double>(planes.All());
  const double filter_again = spectrum * static_cast<double>(planes.filter) * (pieces - 1);
  const double products =
      SpectrumProductTime(FrequencyProductOf(launch, tiling.tiles), static_cast<double>(tiling.transform.Frequencies()),
                          spectra + filter_again, chip, p);
  const double moved = conv.Moved() + spectra;
  return p["fixed"] + (pieces - 1) * p["piece"] + moved / (chip.memory_bandwidth * p["bandwidth"]) + products;
}

}  // namespace

KernelForm FftTilingForm() {
  return FormOf<Time>({.name = "fft_tiling",
                       .description = "transforms of tiles of 32 points around one complex product per frequency",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace});
}

}  // namespace spillway
