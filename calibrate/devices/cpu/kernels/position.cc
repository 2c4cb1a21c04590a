// What tells positions apart: vectors added to them, a token in front of them, and rotation.
#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

// `vectors`: how many the table has; the first ones are added.
KernelPtr PositionForward(const Shape& shape, std::int64_t vectors) {
  return std::make_unique<LoopKernel>([shape, vectors](const CpuArguments& a) {
    const std::int64_t positions = shape.Spatial();
    for (std::int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
      const float *x = Read(a, 0) + plane * positions, *add = Read(a, 1) + plane % shape.c * vectors;
      for (std::int64_t i = 0; i < positions; ++i) Write(a, 0)[plane * positions + i] = x[i] + add[i];
    }
  });
}

KernelPtr PositionBackward(const Shape& shape, std::int64_t vectors, bool accumulate) {
  return std::make_unique<LoopKernel>([shape, vectors, accumulate](const CpuArguments& a) {
    const std::int64_t positions = shape.Spatial();
    float* gradient = Write(a, 0);
    if (!accumulate) std::fill_n(gradient, shape.c * vectors, 0.0f);
    for (std::int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
      const float* dy = Read(a, 0) + plane * positions;
      for (std::int64_t i = 0; i < positions; ++i) gradient[plane % shape.c * vectors + i] += dy[i];
    }
  });
}

void PutTokenInFront(const Shape& in, const CpuArguments& a) {
  const std::int64_t positions = in.Spatial();
  for (std::int64_t plane = 0; plane < in.n * in.c; ++plane) {
    float* y = Write(a, 0) + plane * (positions + 1);
    y[0] = Read(a, 1)[plane % in.c];
    std::copy_n(Read(a, 0) + plane * positions, positions, y + 1);
  }
}

void WithoutToken(const Shape& in, bool accumulate, const CpuArguments& a) {
  const std::int64_t positions = in.Spatial();
  for (std::int64_t plane = 0; plane < in.n * in.c; ++plane) {
    const float* dy = Read(a, 0) + plane * (positions + 1) + 1;
    float* dx = Write(a, 0) + plane * positions;
    for (std::int64_t i = 0; i < positions; ++i) dx[i] = accumulate ? dx[i] + dy[i] : dy[i];
  }
}

void TokenGradient(const Shape& in, bool accumulate, const CpuArguments& a) {
  for (std::int64_t c = 0; c < in.c; ++c) {
    double sum = accumulate ? Write(a, 0)[c] : 0.0;
    for (std::int64_t n = 0; n < in.n; ++n) sum += Read(a, 0)[(n * in.c + c) * (in.Spatial() + 1)];
    Write(a, 0)[c] = static_cast<float>(sum);
  }
}

// Cosines and sines of a position's angle, by pair and position. Channel k of a head makes a pair with channel k + half.
struct Rotation {
  std::vector<float> cosines, sines;
  std::int64_t half = 0, positions = 0;
};

Rotation RotationOf(const OpShape& s) {
  constexpr double kBase = 10000;  // Su et al. 2021, section 3.2.2
  Rotation rotation{.cosines = {}, .sines = {}, .half = s.in.c / s.groups / 2, .positions = s.in.Spatial()};
  for (std::int64_t k = 0; k < rotation.half; ++k) {
    const double speed = std::pow(kBase, -static_cast<double>(k) / static_cast<double>(rotation.half));
    for (std::int64_t i = 0; i < rotation.positions; ++i) {
      rotation.cosines.push_back(static_cast<float>(std::cos(static_cast<double>(i) * speed)));
      rotation.sines.push_back(static_cast<float>(std::sin(static_cast<double>(i) * speed)));
    }
  }
  return rotation;
}

// `sign`: 1 forward, -1 back.
void Rotate(const Rotation& r, std::int64_t heads, float sign, bool accumulate, const CpuArguments& a) {
  const std::int64_t block = r.half * r.positions;
  for (std::int64_t head = 0; head < heads; ++head) {
    const float *x = Read(a, 0) + 2 * head * block, *pair = x + block;
    float *y = Write(a, 0) + 2 * head * block, *second = y + block;
    for (std::int64_t k = 0; k < block; ++k) {
      const float cosine = r.cosines[static_cast<std::size_t>(k)], sine = sign * r.sines[static_cast<std::size_t>(k)];
      const float low = x[k] * cosine - pair[k] * sine, high = pair[k] * cosine + x[k] * sine;
      y[k] = accumulate ? y[k] + low : low;
      second[k] = accumulate ? second[k] + high : high;
    }
  }
}

}  // namespace

// Forward reads {input, vectors}; backward reads {gradient}.
KernelPtr MakePosition(const OpCall& call) {
  const Shape shape = call.launch.shape.out;
  const std::int64_t vectors = call.details.whole.w;
  if (call.launch.pass == Pass::kForward) return PositionForward(shape, vectors);
  return PositionBackward(shape, vectors, call.launch.accumulate);
}

// Forward reads {input, token}; both backward passes read {gradient}.
KernelPtr MakeClassToken(const OpCall& call) {
  const auto body = [in = call.launch.shape.in, pass = call.launch.pass,
                     accumulate = call.launch.accumulate](const CpuArguments& a) {
    if (pass == Pass::kForward) {
      PutTokenInFront(in, a);
    } else if (pass == Pass::kBackwardData) {
      WithoutToken(in, accumulate, a);
    } else {
      TokenGradient(in, accumulate, a);
    }
  };
  return std::make_unique<LoopKernel>(body);
}

// Backward reads {gradient}.
KernelPtr MakeRope(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  const float sign = call.launch.pass == Pass::kForward ? 1.0f : -1.0f;
  return std::make_unique<LoopKernel>(
      [rotation = RotationOf(s), heads = s.in.n * s.groups, sign,
       accumulate = call.launch.accumulate](const CpuArguments& a) { Rotate(rotation, heads, sign, accumulate, a); });
}

}  // namespace spillway::cpu
