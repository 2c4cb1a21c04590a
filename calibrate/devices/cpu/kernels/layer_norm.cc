// Normalisation over the channels of each position, by mean and deviation or by the root mean square; sums in double.
#include <cmath>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

constexpr double kEpsilon = 1e-5;  // PyTorch's usual one

struct LayerNorm {
  Shape shape;
  bool affine = true, root = false, input_gradient = true, accumulate = false;
  std::int64_t Positions() const { return shape.n * shape.Spatial(); }
  // body(element, channel) for the channels of a position; positions count samples outermost.
  template <typename Body>
  void ForEachAt(std::int64_t position, Body body) const {
    const std::int64_t size = shape.Spatial(), n = position / size;
    std::int64_t i = n * shape.c * size + position % size;
    for (std::int64_t c = 0; c < shape.c; ++c, i += size) body(i, c);
  }
  // The mean of value(element, channel) over the channels of a position.
  template <typename Value>
  double Mean(std::int64_t position, Value value) const {
    double sum = 0;
    ForEachAt(position, [&](std::int64_t i, std::int64_t c) { sum += value(i, c); });
    return sum / static_cast<double>(shape.c);
  }
};

// Forward reads {input, scale, shift} and writes {result, inverse deviations, means}; by the root without shift and means,
// in inference only the result.
void Forward(const LayerNorm& norm, const CpuArguments& a) {
  const float* x = Read(a, 0);
  for (std::int64_t p = 0; p < norm.Positions(); ++p) {
    const double mean = norm.root ? 0 : norm.Mean(p, [&](std::int64_t i, std::int64_t) { return x[i]; });
    const double square = norm.Mean(p, [&](std::int64_t i, std::int64_t) { return (x[i] - mean) * (x[i] - mean); });
    const double inverse = 1 / std::sqrt(square + kEpsilon);
    if (a.writes.size() > 1) Write(a, 1)[p] = static_cast<float>(inverse);
    if (a.writes.size() > 2) Write(a, 2)[p] = static_cast<float>(mean);
    norm.ForEachAt(p, [&](std::int64_t i, std::int64_t c) {
      float y = static_cast<float>((x[i] - mean) * inverse);
      if (norm.affine) y *= Read(a, 1)[c];
      if (norm.affine && !norm.root) y += Read(a, 2)[c];
      Write(a, 0)[i] = y;
    });
  }
}

// What backward reads.
struct Saved {
  const float *x, *dy, *inverses, *means = nullptr, *scale = nullptr;
  Saved(const LayerNorm& norm, const CpuArguments& a) : x(Read(a, 0)), dy(Read(a, 1)), inverses(Read(a, 2)) {
    std::size_t next = 3;
    if (!norm.root) means = Read(a, next++);
    if (norm.affine) scale = Read(a, next);
  }
  double Unit(std::int64_t p, std::int64_t i) const {
    return (x[i] - (means == nullptr ? 0.0 : static_cast<double>(means[p]))) * inverses[p];
  }
  double Scaled(std::int64_t i, std::int64_t c) const {
    return scale == nullptr ? dy[i] : static_cast<double>(dy[i]) * scale[c];
  }
};

// dx = inverse * (s - mean of s - unit * mean of (s * unit)), s = dy * scale; by the root without the mean of s.
void InputGradient(const LayerNorm& norm, const Saved& saved, float* dx) {
  for (std::int64_t p = 0; p < norm.Positions(); ++p) {
    const auto scaled = [&](std::int64_t i, std::int64_t c) { return saved.Scaled(i, c); };
    const double sum = norm.root ? 0 : norm.Mean(p, scaled);
    const double product =
        norm.Mean(p, [&](std::int64_t i, std::int64_t c) { return saved.Scaled(i, c) * saved.Unit(p, i); });
    norm.ForEachAt(p, [&](std::int64_t i, std::int64_t c) {
      const double gradient = saved.inverses[p] * (saved.Scaled(i, c) - sum - saved.Unit(p, i) * product);
      dx[i] = static_cast<float>(norm.accumulate ? dx[i] + gradient : gradient);
    });
  }
}

// `shift`: nullptr by the root.
void VectorGradients(const LayerNorm& norm, const Saved& saved, float* scale, float* shift, bool accumulate) {
  const std::int64_t size = norm.shape.Spatial();
  for (std::int64_t c = 0; c < norm.shape.c; ++c) {
    double by_scale = accumulate ? scale[c] : 0.0, by_shift = 0;
    for (std::int64_t p = 0; p < norm.Positions(); ++p) {
      const std::int64_t n = p / size, i = (n * norm.shape.c + c) * size + p % size;
      by_scale += saved.dy[i] * saved.Unit(p, i);
      by_shift += saved.dy[i];
    }
    scale[c] = static_cast<float>(by_scale);
    if (shift != nullptr) shift[c] = static_cast<float>(by_shift);
  }
}

}  // namespace

// Backward reads {input, gradient, inverse deviations, means, scale} and writes {input's gradient where wanted, scale's,
// shift's}; by the root without means and shift.
KernelPtr MakeLayerNorm(const OpCall& call) {
  const LayerNorm norm{.shape = call.launch.shape.in,
                       .affine = call.details.affine,
                       .root = call.details.root_mean_square,
                       .input_gradient = call.details.input_gradient,
                       .accumulate = call.launch.accumulate};
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([norm](const CpuArguments& a) { Forward(norm, a); });
  }
  return std::make_unique<LoopKernel>([norm](const CpuArguments& a) {
    const Saved saved(norm, a);
    const std::size_t first = norm.input_gradient ? 1 : 0;
    if (norm.affine) {
      float* const shift = norm.root ? nullptr : Write(a, first + 1);
      VectorGradients(norm, saved, Write(a, first), shift, norm.accumulate && !norm.input_gradient);
    }
    if (norm.input_gradient) InputGradient(norm, saved, Write(a, 0));
  });
}

}  // namespace spillway::cpu
