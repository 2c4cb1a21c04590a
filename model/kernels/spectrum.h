// What the two FFT convolutions share (M. Mathieu, M. Henaff, Y. LeCun, "Fast Training of Convolutional Networks
// through FFTs", 2014; N. Vasilache et al., "Fast Convolutional Nets With fbfft: A GPU Performance Evaluation", 2015):
// planes of both operands are transformed, the products of all planes are summed over the depth as one complex matrix
// product per frequency, and the result is transformed back.
#ifndef SPILLWAY_MODEL_KERNELS_SPECTRUM_H_
#define SPILLWAY_MODEL_KERNELS_SPECTRUM_H_

#include <cstdint>

#include "model/kernels/law.h"

namespace spillway {

// One real plane's transform: side_h x side_w points, of which symmetry leaves side_h x (side_w / 2 + 1).
struct PlaneTransform {
  std::int64_t side_h = 1, side_w = 1;
  std::int64_t Frequencies() const { return side_h * (side_w / 2 + 1); }
  Bytes Spectrum() const { return 8 * Frequencies(); }  // single-precision complex, whatever the type of the tensors
  double Flops() const;                                 // 2.5 N log2 N
};

// Planes of a convolution, each of `tiles` pieces.
struct Planes {
  std::int64_t in = 0, out = 0, filter = 0;
  std::int64_t All() const { return in + out + filter; }
};
Planes PlanesOf(const Launch& launch, std::int64_t tiles);

// The product at one frequency: rows x columns, each the sum of `depth` products.
struct FrequencyProduct {
  double rows = 1, columns = 1, depth = 1;
};
FrequencyProduct FrequencyProductOf(const Launch& launch, std::int64_t tiles);

// The first rows of both forms.
// The efficiency counts 8 flops per complex multiply-add and comes out near 1.1 where real products reach 0.85: three
// real multiplications instead of four (as in cublasCgemm3m) would explain it.
inline constexpr ParameterTable kSpectrumRows{
    Row{"efficiency", "fraction of peak of the complex products at an endless depth", 1.05, 0.2, 1.5, 0.25},
    Row{"depth", "start and end of a product, in elements of the depth", 12, 0.5, 300, 0.8},
    Row{"bandwidth", "fraction of memory bandwidth, transforms and products", 0.45, 0.1, 1.1, 0.3},
};

// Nanoseconds of the products at all frequencies, batched, in the best of the library's tiles, moving `bytes`.
double SpectrumProductTime(const FrequencyProduct& product, double frequencies, double bytes, const Chip& chip,
                           ParameterValues<kSpectrumRows> p);

// Two dimensions, one group, NCHW: what the library has FFTs for. The window must be larger than the padding.
bool RunsFft(const Launch& launch);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_SPECTRUM_H_
