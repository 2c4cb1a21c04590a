// What the CPU device's kernels must compute, in the plainest loops, and a way to run one call on given numbers.
#ifndef SPILLWAY_TESTS_CPU_REFERENCE_H_
#define SPILLWAY_TESTS_CPU_REFERENCE_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/ops/training_state.h"

namespace spillway {

using Values = std::vector<float>;

inline std::size_t Count(const Shape& shape) { return static_cast<std::size_t>(shape.Elements()); }

inline Values RandomValues(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  Values values(count);
  for (float& value : values) value = draw(generator);
  return values;
}
inline Values RandomValues(const Shape& shape, unsigned seed) { return RandomValues(Count(shape), seed); }

inline double LargestMagnitude(const Values& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

// Largest difference, relative to the largest expected magnitude. NaN counts as infinite.
inline double Difference(const Values& got, const Values& expected) {
  REQUIRE(got.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    largest = difference <= largest ? largest : difference;
    if (std::isnan(difference)) return INFINITY;
  }
  return largest / std::max(LargestMagnitude(expected), 1e-30);
}

// Memory at a multiple of 64 bytes, all NaN, with a guard behind it.
class GuardedMemory {
 public:
  explicit GuardedMemory(Bytes bytes) : bytes_(static_cast<std::size_t>(bytes)), memory_(Allocate(bytes_ + kGuard)) {
    std::memset(memory_, 0xff, bytes_ + kGuard);
  }
  ~GuardedMemory() { ::operator delete (memory_, std::align_val_t{64}); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  void* data() const { return memory_; }
  bool GuardIntact() const {
    const auto untouched = [](unsigned char byte) { return byte == 0xff; };
    const unsigned char* end = static_cast<const unsigned char*>(memory_) + bytes_;
    return std::all_of(end, end + kGuard, untouched);
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static void* Allocate(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{64}); }
  std::size_t bytes_;
  void* memory_;
};

// Runs a call; `writes` comes in with what the buffers hold before. The workspace is exactly as large as asked for and
// holds NaN. `arguments` carries what is neither read, written nor scratch.
inline void RunCall(CpuKernels& kernels, const OpCall& call, std::vector<Values> reads, std::vector<Values>& writes,
                    CpuArguments arguments = {}) {
  const CpuKernel& kernel = kernels.Prepare(call);
  const GuardedMemory scratch(kernel.workspace());
  std::vector<void*> from, to;
  for (Values& values : reads) from.push_back(values.data());
  for (Values& values : writes) to.push_back(values.data());
  arguments.reads = from;
  arguments.writes = to;
  arguments.workspace = scratch.data();
  kernel.Run(arguments);
  CHECK(scratch.GuardIntact());
}

// The same for ops with one result, which holds `before` at first.
inline Values Result(CpuKernels& kernels, const OpCall& call, std::vector<Values> reads, Values before,
                     const CpuArguments& arguments = {}) {
  std::vector<Values> writes{std::move(before)};
  RunCall(kernels, call, std::move(reads), writes, arguments);
  return writes[0];
}

// Calls body(input index, tap, output index) for every element of a window over the input and outside the padding;
// channels are the business of the caller: indices are within one channel.
template <typename Body>
void ForEachTap(const OpShape& s, Body body) {
  const auto inside = [](std::int64_t i, std::int64_t size) { return i >= 0 && i < size; };
  for (std::int64_t o = 0; o < s.out.Spatial(); ++o) {
    const std::int64_t od = o / (s.out.h * s.out.w), oh = o / s.out.w % s.out.h, ow = o % s.out.w;
    for (std::int64_t t = 0; t < s.window[0] * s.window[1] * s.window[2]; ++t) {
      const std::int64_t d = od * s.stride[0] - s.pad[0].begin + t / (s.window[1] * s.window[2]) * s.dilation[0];
      const std::int64_t h = oh * s.stride[1] - s.pad[1].begin + t / s.window[2] % s.window[1] * s.dilation[1];
      const std::int64_t w = ow * s.stride[2] - s.pad[2].begin + t % s.window[2] * s.dilation[2];
      if (inside(d, s.in.d) && inside(h, s.in.h) && inside(w, s.in.w)) body((d * s.in.h + h) * s.in.w + w, t, o);
    }
  }
}

inline std::size_t WeightCount(const OpShape& s) {
  return static_cast<std::size_t>(s.out.c * s.in.c / s.groups * s.window[0] * s.window[1] * s.window[2]);
}

// Calls body(input, weight, output) with the indices of every multiply-add of a convolution.
template <typename Body>
void ForEachProduct(const OpShape& s, Body body) {
  const std::int64_t in_group = s.in.c / s.groups, out_group = s.out.c / s.groups;
  const std::int64_t taps = s.window[0] * s.window[1] * s.window[2];
  for (std::int64_t n = 0; n < s.in.n; ++n) {
    for (std::int64_t oc = 0; oc < s.out.c; ++oc) {
      for (std::int64_t k = 0; k < in_group; ++k) {
        const std::int64_t ic = oc / out_group * in_group + k;
        ForEachTap(s, [&](std::int64_t i, std::int64_t tap, std::int64_t o) {
          body(static_cast<std::size_t>((n * s.in.c + ic) * s.in.Spatial() + i),
               static_cast<std::size_t>((oc * in_group + k) * taps + tap),
               static_cast<std::size_t>((n * s.out.c + oc) * s.out.Spatial() + o));
        });
      }
    }
  }
}

// Any pass: adds to `result` what the first two operands, in the op's order, make.
inline Values ConvolutionReference(const OpShape& s, Pass pass, const Values& a, const Values& b, Values result) {
  std::vector<double> sums(result.begin(), result.end());
  ForEachProduct(s, [&](std::size_t i, std::size_t w, std::size_t o) {
    if (pass == Pass::kForward) sums[o] += static_cast<double>(a[i]) * b[w];
    if (pass == Pass::kBackwardData) sums[i] += static_cast<double>(a[w]) * b[o];
    if (pass == Pass::kBackwardFilter) sums[w] += static_cast<double>(a[i]) * b[o];
  });
  std::transform(sums.begin(), sums.end(), result.begin(), [](double sum) { return static_cast<float>(sum); });
  return result;
}

inline OpCall Call(OpKind kind, Pass pass, const OpShape& shape, bool accumulate = false) {
  return CallOf(Launch{.kind = kind, .pass = pass, .shape = shape, .accumulate = accumulate});
}

// Gradient of sum(weights * f(x)) by central differences, f being linear or smooth.
template <typename Function>
Values NumericGradient(Function f, Values x, const Values& weights, float step) {
  const auto weighted = [&](const Values& y) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(weights[i]) * y[i];
    return sum;
  };
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float centre = x[i];
    x[i] = centre + step;
    const float up = x[i];
    const double above = weighted(f(x));
    x[i] = centre - step;
    gradient[i] = static_cast<float>((above - weighted(f(x))) / (static_cast<double>(up) - x[i]));
    x[i] = centre;
  }
  return gradient;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CPU_REFERENCE_H_
