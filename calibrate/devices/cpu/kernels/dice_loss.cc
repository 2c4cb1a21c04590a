// Soft Dice loss (model/step/loss.h). Forward writes probabilities, and where the step saves it a tensor of ones at the
// labels; backward needs probabilities and labels. Plain loops; sums in double.
#include <algorithm>
#include <cmath>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

bool IsLabel(const Shape& shape, std::span<const std::int32_t> labels, std::int64_t plane, std::int64_t i) {
  return labels[static_cast<std::size_t>(plane / shape.c * shape.Spatial() + i)] == plane % shape.c;
}

void Sigmoids(const Shape& shape, const float* x, float* p) {
  for (std::int64_t i = 0; i < shape.Elements(); ++i) p[i] = 1 / (1 + std::exp(-x[i]));
}

void Softmax(const Shape& shape, const float* x, float* p) {
  const std::int64_t places = shape.Spatial();
  for (std::int64_t i = 0; i < shape.n * places; ++i) {
    const std::int64_t first = i / places * shape.c * places + i % places, end = first + shape.c * places;
    float most = x[first];
    for (std::int64_t at = first; at < end; at += places) most = std::max(most, x[at]);
    float sum = 0;
    for (std::int64_t at = first; at < end; at += places) sum += p[at] = std::exp(x[at] - most);
    for (std::int64_t at = first; at < end; at += places) p[at] /= sum;
  }
}

// Of a plane of probabilities. Its Dice is n / d; the slope is -2 / d at the label's places, less -n / d^2 everywhere.
struct DiceSlopes {
  float everywhere = 0, at_label = 0;
};
DiceSlopes SlopesOf(const Shape& shape, std::span<const std::int32_t> labels, std::int64_t plane, const float* p,
                    double share) {
  double both = 0, all = 0;
  for (std::int64_t i = 0; i < shape.Spatial(); ++i) {
    const bool right = IsLabel(shape, labels, plane, i);
    both += right ? p[i] : 0;
    all += p[i] + (right ? 1.0 : 0.0);
  }
  const double above = 2 * both + kDiceSmooth, below = all + kDiceSmooth;
  return {static_cast<float>(share * above / (below * below)), static_cast<float>(-2 * share / below)};
}

// From the slopes of a sample's probabilities to the gradient of what they were made from.
void SampleBackward(const Shape& shape, bool independent, const std::vector<DiceSlopes>& slopes,
                    std::span<const std::int32_t> labels, const float* p, float* dx, bool accumulate) {
  const std::int64_t places = shape.Spatial();
  for (std::int64_t i = 0; i < places; ++i) {
    const auto slope = [&](std::int64_t c) {
      const DiceSlopes& of = slopes[static_cast<std::size_t>(c)];
      return of.everywhere + (labels[static_cast<std::size_t>(i)] == c ? of.at_label : 0);
    };
    float mean = 0;
    for (std::int64_t c = 0; c < shape.c && !independent; ++c) mean += p[c * places + i] * slope(c);
    for (std::int64_t c = 0; c < shape.c; ++c) {
      const std::int64_t at = c * places + i;
      const float gradient = independent ? slope(c) * p[at] * (1 - p[at]) : p[at] * (slope(c) - mean);
      dx[at] = accumulate ? dx[at] + gradient : gradient;
    }
  }
}

KernelPtr MakeForward(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  return std::make_unique<LoopKernel>([shape, independent = call.details.loss.independent](const CpuArguments& a) {
    (independent ? Sigmoids : Softmax)(shape, Read(a, 0), Write(a, 0));
    for (std::int64_t k = 0; a.writes.size() > 1 && k < shape.Elements(); ++k) {
      Write(a, 1)[k] = IsLabel(shape, a.labels, k / shape.Spatial(), k % shape.Spatial()) ? 1.0f : 0.0f;
    }
  });
}

}  // namespace

// Backward reads {probabilities}, and the labels from the arguments.
KernelPtr MakeDiceLoss(const OpCall& call) {
  if (call.launch.pass == Pass::kForward) return MakeForward(call);
  const Shape shape = call.launch.shape.in;
  const double samples = static_cast<double>(std::max(call.details.mean_over, shape.n));
  const double share = call.details.loss_weight / (samples * static_cast<double>(shape.c));
  const bool independent = call.details.loss.independent, accumulate = call.launch.accumulate;
  return std::make_unique<LoopKernel>([=](const CpuArguments& a) {
    const std::int64_t places = shape.Spatial();
    std::vector<DiceSlopes> slopes(static_cast<std::size_t>(shape.c));
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const float* p = Read(a, 0) + n * shape.c * places;
      for (std::int64_t c = 0; c < shape.c; ++c) {
        slopes[static_cast<std::size_t>(c)] = SlopesOf(shape, a.labels, n * shape.c + c, p + c * places, share);
      }
      SampleBackward(shape, independent, slopes, a.labels.subspan(static_cast<std::size_t>(n * places)), p,
                     Write(a, 0) + n * shape.c * places, accumulate);
    }
  });
}

}  // namespace spillway::cpu
