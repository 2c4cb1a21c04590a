#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "calibrate/fit/group.h"

namespace spillway {
namespace {

constexpr std::int64_t kSmallestTile = 32, kTensorCoreStep = 8;
constexpr double kMemorySpread = 0.05, kConvolutionSpread = 0.1, kLinearSpread = 0.25, kOtherMathSpread = 1.0;

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool Strides(const Launch& launch) {
  const auto& stride = launch.shape.stride;
  return std::any_of(stride.begin(), stride.end(), [](auto s) { return s > 1; });
}

// Rows and columns of the result, as in model/kernels/linear.cc.
std::array<std::int64_t, 2> ResultOf(const Launch& launch) {
  const OpShape& s = launch.shape;
  const std::int64_t in = s.in.c * s.in.Spatial(), samples = s.out.n * s.out.Spatial();
  switch (launch.pass) {
    case Pass::kBackwardData:
      return {in, samples};
    case Pass::kBackwardFilter:
      return {in, s.out.c};
    default:
      return {s.out.c, samples};
  }
}

bool HasSpecialResult(const Launch& launch) {
  const auto [rows, columns] = ResultOf(launch);
  if (launch.math == MathMode::kFp32) return std::min(rows, columns) < kSmallestTile;
  return rows % kTensorCoreStep != 0 || columns % kTensorCoreStep != 0;
}

bool IsSpecial(const Launch& launch) {
  if (launch.kind == OpKind::kConvolution) return Strides(launch);
  return launch.kind == OpKind::kLinear && HasSpecialResult(launch);
}

// Reads the number that begins at *at, leading zeros skipped, as its digits: the longer number is the larger.
std::string DigitsAt(const std::string& text, std::size_t* at) {
  while (*at < text.size() && text[*at] == '0') ++*at;
  std::string digits;
  while (*at < text.size() && IsDigit(text[*at])) digits += text[(*at)++];
  return digits;
}

}  // namespace

Chip WithRate(Chip chip, const StackRate& rate) {
  chip.peak_flops *= std::exp(rate.arithmetic);
  chip.memory_bandwidth *= std::exp(rate.memory);
  return chip;
}

double SpecialFactor(const Launch& launch, const StackRate& rate) {
  return IsSpecial(launch) ? std::exp(-rate.special) : 1;
}

StackRate StackSpread(OpKind kind, MathMode math) {
  if (!IsProduct(kind)) return {kMemorySpread, kMemorySpread, kMemorySpread};
  if (math != MathMode::kFp32) return {kOtherMathSpread, kOtherMathSpread, kOtherMathSpread};
  if (kind == OpKind::kLinear) return {kLinearSpread, kLinearSpread, kLinearSpread};
  return {kConvolutionSpread, kMemorySpread, kConvolutionSpread};
}

std::string StackName(const Sample& sample) {
  std::string name = sample.harness;
  const auto add = [&name](const char* what, const std::string& version) {
    if (version.empty()) return;
    if (!name.empty()) name += ", ";
    name += what + version;
  };
  add("driver ", sample.driver);
  add("CUDA ", sample.cuda);
  add("cuDNN ", sample.cudnn);
  return name;
}

bool IsNewer(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (IsDigit(a[i]) && IsDigit(b[j])) {
      const std::string x = DigitsAt(a, &i), y = DigitsAt(b, &j);
      if (x != y) return std::tuple(x.size(), x) > std::tuple(y.size(), y);
    } else if (a[i] != b[j]) {
      return a[i] > b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i > b.size() - j;
}

int ReferenceStack(const std::vector<std::string>& names, const std::vector<int>& layers) {
  assert(!names.empty() && names.size() == layers.size());
  std::size_t best = 0;
  for (std::size_t s = 1; s < names.size(); ++s) {
    const bool newer = layers[s] == layers[best] && IsNewer(names[s], names[best]);
    if (layers[s] > layers[best] || newer) best = s;
  }
  return static_cast<int>(best);
}

}  // namespace spillway
