// Resizing, by plain loops over each axis's neighbours. oneDNN's nearest place is another one than PyTorch's.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

// Of a place of the result: the places that it lies between, and how much of it the second has.
struct Between {
  std::int64_t first = 0, second = 0;
  float share = 0;
};

std::vector<Between> AlongAxis(std::int64_t in, std::int64_t out, bool linear) {
  std::vector<Between> places(static_cast<std::size_t>(out));
  for (std::int64_t i = 0; i < out; ++i) {
    Between& place = places[static_cast<std::size_t>(i)];
    place.first = place.second = i * in / out;
    if (!linear) continue;
    const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    const double within = std::max(at, 0.0);
    place.first = std::min(static_cast<std::int64_t>(within), in - 1);
    place.second = std::min(place.first + 1, in - 1);
    place.share = static_cast<float>(within - static_cast<double>(place.first));
  }
  return places;
}

struct Axes {
  Shape in, out;
  std::vector<Between> d, h, w;
};

// Calls body(place of the input, place of the result, weight) within one plane, places of no weight left out.
template <typename Body>
void ForEachPair(const Axes& axes, Body body) {
  const auto ends = [](const Between& b) {
    return std::array<std::pair<std::int64_t, float>, 2>{{{b.first, 1 - b.share}, {b.second, b.share}}};
  };
  std::int64_t to = 0;
  for (const Between& d : axes.d) {
    for (const Between& h : axes.h) {
      for (const Between& w : axes.w) {
        for (const auto& [z, of_z] : ends(d)) {
          for (const auto& [y, of_y] : ends(h)) {
            for (const auto& [x, of_x] : ends(w)) {
              const float weight = of_z * of_y * of_x;
              if (weight != 0) body((z * axes.in.h + y) * axes.in.w + x, to, weight);
            }
          }
        }
        ++to;
      }
    }
  }
}

void Forward(const Axes& axes, const CpuArguments& a) {
  std::fill_n(Write(a, 0), axes.out.Elements(), 0.0f);
  for (std::int64_t plane = 0; plane < axes.in.n * axes.in.c; ++plane) {
    const float* const x = Read(a, 0) + plane * axes.in.Spatial();
    float* const y = Write(a, 0) + plane * axes.out.Spatial();
    ForEachPair(axes, [&](std::int64_t from, std::int64_t to, float weight) { y[to] += weight * x[from]; });
  }
}

void Backward(const Axes& axes, bool accumulate, const CpuArguments& a) {
  if (!accumulate) std::fill_n(Write(a, 0), axes.in.Elements(), 0.0f);
  for (std::int64_t plane = 0; plane < axes.in.n * axes.in.c; ++plane) {
    const float* const dy = Read(a, 0) + plane * axes.out.Spatial();
    float* const dx = Write(a, 0) + plane * axes.in.Spatial();
    ForEachPair(axes, [&](std::int64_t from, std::int64_t to, float weight) { dx[from] += weight * dy[to]; });
  }
}

}  // namespace

// Backward reads {gradient}.
KernelPtr MakeResize(const OpCall& call) {
  const Shape &in = call.launch.shape.in, &out = call.launch.shape.out;
  const bool linear = call.details.linear;
  const Axes axes{in, out, AlongAxis(in.d, out.d, linear), AlongAxis(in.h, out.h, linear),
                  AlongAxis(in.w, out.w, linear)};
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([axes](const CpuArguments& a) { Forward(axes, a); });
  }
  return std::make_unique<LoopKernel>(
      [axes, accumulate = call.launch.accumulate](const CpuArguments& a) { Backward(axes, accumulate, a); });
}

}  // namespace spillway::cpu
