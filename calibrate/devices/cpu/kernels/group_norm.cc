// Group normalisation: mean and deviation of the channels of a group, of each sample by itself; all sums in double.
#include <cmath>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

constexpr double kEpsilon = 1e-5;  // PyTorch's usual one

struct GroupNorm {
  Shape shape;
  std::int64_t groups = 1;
  bool affine = true, input_gradient = true, accumulate = false;

  std::int64_t Groups() const { return shape.n * groups; }  // of all samples
  // body(channel, begin, end): the elements of each channel of a group.
  template <typename Body>
  void ForEachPlaneOf(std::int64_t group, Body body) const {
    const std::int64_t channels = shape.c / groups, size = shape.Spatial();
    for (std::int64_t k = 0; k < channels; ++k) {
      const std::int64_t begin = (group * channels + k) * size;
      body(group % groups * channels + k, begin, begin + size);
    }
  }
  // The mean of value(element, channel) over a group.
  template <typename Value>
  double Mean(std::int64_t group, Value value) const {
    double sum = 0;
    ForEachPlaneOf(group, [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sum += value(i, c);
    });
    return sum / static_cast<double>(shape.c / groups * shape.Spatial());
  }
};

// Forward reads {input, scale, shift} and writes {result, means, inverse deviations, scale repeated for each sample}; in
// inference only the result.
void Forward(const GroupNorm& norm, const CpuArguments& a) {
  const float* x = Read(a, 0);
  float* y = Write(a, 0);
  for (std::int64_t g = 0; g < norm.Groups(); ++g) {
    const double mean = norm.Mean(g, [&](std::int64_t i, std::int64_t) { return x[i]; });
    const double square = norm.Mean(g, [&](std::int64_t i, std::int64_t) { return (x[i] - mean) * (x[i] - mean); });
    const double inverse = 1 / std::sqrt(square + kEpsilon);
    if (a.writes.size() > 1) {
      Write(a, 1)[g] = static_cast<float>(mean);
      Write(a, 2)[g] = static_cast<float>(inverse);
    }
    norm.ForEachPlaneOf(g, [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
      const float scale = norm.affine ? Read(a, 1)[c] : 1.0f, shift = norm.affine ? Read(a, 2)[c] : 0.0f;
      for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<float>((x[i] - mean) * inverse) * scale + shift;
    });
  }
  for (std::int64_t k = 0; a.writes.size() > 3 && k < norm.shape.n * norm.shape.c; ++k) {
    Write(a, 3)[k] = Read(a, 1)[k % norm.shape.c];
  }
}

// What backward reads.
struct Saved {
  const float *x, *dy, *means, *inverses, *scale;
  Saved(const GroupNorm& norm, const CpuArguments& a)
      : x(Read(a, 0)),
        dy(Read(a, 1)),
        means(Read(a, 2)),
        inverses(Read(a, 3)),
        scale(norm.affine ? Read(a, 4) : nullptr) {}
  double Scale(std::int64_t c) const { return scale == nullptr ? 1.0 : static_cast<double>(scale[c]); }
  double Unit(std::int64_t g, std::int64_t i) const { return (static_cast<double>(x[i]) - means[g]) * inverses[g]; }
};

// dx = inverse * (s - mean of s - unit * mean of (s * unit)), s = dy * scale.
void InputGradient(const GroupNorm& norm, const Saved& saved, float* dx) {
  for (std::int64_t g = 0; g < norm.Groups(); ++g) {
    const auto scaled = [&](std::int64_t i, std::int64_t c) { return saved.dy[i] * saved.Scale(c); };
    const double sum = norm.Mean(g, scaled);
    const double product =
        norm.Mean(g, [&](std::int64_t i, std::int64_t c) { return scaled(i, c) * saved.Unit(g, i); });
    norm.ForEachPlaneOf(g, [&](std::int64_t c, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double gradient = saved.inverses[g] * (scaled(i, c) - sum - saved.Unit(g, i) * product);
        dx[i] = static_cast<float>(norm.accumulate ? dx[i] + gradient : gradient);
      }
    });
  }
}

void VectorGradients(const GroupNorm& norm, const Saved& saved, float* scale, float* shift, bool accumulate) {
  const std::int64_t spatial = norm.shape.Spatial(), channels = norm.shape.c;
  for (std::int64_t c = 0; c < channels; ++c) {
    double by_scale = accumulate ? scale[c] : 0.0, by_shift = 0;
    for (std::int64_t n = 0; n < norm.shape.n; ++n) {
      const std::int64_t g = n * norm.groups + c / (channels / norm.groups), begin = (n * channels + c) * spatial;
      for (std::int64_t i = begin; i < begin + spatial; ++i) {
        by_scale += saved.dy[i] * saved.Unit(g, i);
        by_shift += saved.dy[i];
      }
    }
    scale[c] = static_cast<float>(by_scale);
    shift[c] = static_cast<float>(by_shift);
  }
}

}  // namespace

// Backward reads {input, gradient, means, inverse deviations, scale} and writes {input's gradient where wanted, scale's,
// shift's}.
KernelPtr MakeGroupNorm(const OpCall& call) {
  const GroupNorm norm{.shape = call.launch.shape.in,
                       .groups = call.launch.shape.groups,
                       .affine = call.details.affine,
                       .input_gradient = call.details.input_gradient,
                       .accumulate = call.launch.accumulate};
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([norm](const CpuArguments& a) { Forward(norm, a); });
  }
  return std::make_unique<LoopKernel>([norm](const CpuArguments& a) {
    const Saved saved(norm, a);
    const std::size_t first = norm.input_gradient ? 1 : 0;
    if (norm.affine) {
      VectorGradients(norm, saved, Write(a, first), Write(a, first + 1), norm.accumulate && !norm.input_gradient);
    }
    if (norm.input_gradient) InputGradient(norm, saved, Write(a, 0));
  });
}

}  // namespace spillway::cpu
