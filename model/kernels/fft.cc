// Convolution by one FFT per plane, all three passes.
//
//   transform   a square: the larger side of the image with its padding, in a power of two of at least 16 points (the
//               library's kernels are fft2d_r2c_16x16, 32x32, 64x64; none has two different sides)
//   workspace   spectra before and after their transposition, of the operands or of the result, whichever is more; and
//               a copy of the filter, in the filter pass of the incoming gradient
//   time        fixed + planes and spectra at `bandwidth` + transforms at `transform_efficiency` + products
//
// Products run as one batch over all frequencies, but one call per frequency (`call` nanoseconds at least) where the
// transform has 64 x 64 points or more, both sides have 64 channels and the batch is not made of whole blocks of 64:
// then a small product costs its launch. Inferred from times that are the number of frequencies times 6 to 7
// microseconds, whatever the channels. It was seen from 64 channels on and not with 3; between them nothing tells, and
// batches are taken, as in all other cases.
// Tested by tests/model/kernel_forms_gemm_test.cc.
#include <algorithm>
#include <bit>

#include "model/kernels/conv_launch.h"
#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"
#include "model/kernels/spectrum.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kSpectrumRows,
    Row{"transform_efficiency", "fraction of peak of the transforms, 2.5 N log2 N flops each", 0.4, 0.02, 5, 0.7},
    Row{"call", "ns per frequency where each has a call of its own", 6700, 1500, 15000, 0.3},
    Row{"fixed", "ns per call of the library", 15000, 3000, 5e4, 0.5},
};
using Values = ParameterValues<kParameters>;

constexpr std::int64_t kLeastSide = 16, kMostSide = 256;
constexpr std::int64_t kLargeTransform = 64 * (64 / 2 + 1);  // frequencies
constexpr std::int64_t kBatchBlock = 64;
constexpr std::int64_t kManyChannels = 64;

constexpr const char* kNames[] = {"fft"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && HasPass(kind, pass));
}

PlaneTransform TransformOf(const OpShape& s) {
  const auto padded = static_cast<std::uint64_t>(std::max(s.in.h + s.pad[1].Sum(), s.in.w + s.pad[2].Sum()));
  const std::int64_t side = std::max(kLeastSide, static_cast<std::int64_t>(std::bit_ceil(padded)));
  return {side, side};
}

// Limits as the cuDNN developer guide gives them.
bool Runs(const Launch& launch) {
  return RunsFft(launch) && launch.shape.stride[1] == 1 && launch.shape.stride[2] == 1 &&
         TransformOf(launch.shape).side_h <= kMostSide;
}

double CopiedBytes(const Launch& launch, const ConvLaunch& conv) {
  return launch.pass == Pass::kBackwardFilter ? conv.out_bytes : conv.filter_bytes;
}

Bytes Workspace(const Launch& launch) {
  const Planes planes = PlanesOf(launch, 1);
  const std::int64_t result = launch.pass == Pass::kForward        ? planes.out
                              : launch.pass == Pass::kBackwardData ? planes.in
                                                                   : planes.filter;
  const std::int64_t most = std::max(result, planes.All() - result);
  return 2 * most * TransformOf(launch.shape).Spectrum() +
         static_cast<Bytes>(CopiedBytes(launch, ConvLaunchOf(launch)));
}

bool CallPerFrequency(const Launch& launch, const PlaneTransform& transform) {
  const OpShape& s = launch.shape;
  return launch.pass != Pass::kBackwardFilter && transform.Frequencies() >= kLargeTransform &&
         s.in.n % kBatchBlock != 0 && std::min(s.in.c, s.out.c) >= kManyChannels;
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const PlaneTransform transform = TransformOf(launch.shape);
  const auto frequencies = static_cast<double>(transform.Frequencies());
  const auto planes = static_cast<double>(PlanesOf(launch, 1).All());
  const double spectra = planes * static_cast<double>(transform.Spectrum());
  const FrequencyProduct product = FrequencyProductOf(launch, 1);
  double products = SpectrumProductTime(product, frequencies, spectra, chip, p);
  if (CallPerFrequency(launch, transform)) products = Overlap(products, frequencies * p["call"]);
  const double copied = launch.pass == Pass::kBackwardFilter ? 2 * conv.out_bytes : 0;
  const double moved = conv.Moved() + copied + spectra;
  return p["fixed"] + moved / (chip.memory_bandwidth * p["bandwidth"]) +
         planes * transform.Flops() / (chip.peak_flops * p["transform_efficiency"]) + products;
}

}  // namespace

KernelForm FftForm() {
  return FormOf<Time>({.name = "fft",
                       .description = "transforms of whole planes around one complex product per frequency",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace});
}

}  // namespace spillway
