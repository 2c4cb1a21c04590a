#include "model/step/activation.h"

#include <algorithm>
#include <cmath>

namespace spillway {
namespace {

using enum ActivationFunction;
constexpr auto kInput = ActivationSaves::kInput, kResult = ActivationSaves::kResult;

constexpr float kRootHalf = 0.70710678f;       // 1 / sqrt(2)
constexpr float kNormalDensity = 0.39894228f;  // 1 / sqrt(2 pi)
constexpr float kTanhInner = 0.79788456f;      // sqrt(2 / pi)
constexpr float kTanhCube = 0.044715f;         // Hendrycks and Gimpel, arXiv 1606.08415, section 2

float Logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float Sigmoid(float x, float) { return Logistic(x); }
float SigmoidFromResult(float y, float) { return y * (1 - y); }
float Tanh(float x, float) { return std::tanh(x); }
float TanhFromResult(float y, float) { return 1 - y * y; }

float Silu(float x, float) { return x * Logistic(x); }
float SiluFromInput(float x, float) {
  const float s = Logistic(x);
  return s * (1 + x * (1 - s));
}

float NormalShare(float x) { return 0.5f * (1 + std::erf(x * kRootHalf)); }
float Gelu(float x, float) { return x * NormalShare(x); }
float GeluFromInput(float x, float) { return NormalShare(x) + x * kNormalDensity * std::exp(-0.5f * x * x); }

float TanhOf(float x) { return std::tanh(kTanhInner * (x + kTanhCube * x * x * x)); }
float GeluTanh(float x, float) { return 0.5f * x * (1 + TanhOf(x)); }
float GeluTanhFromInput(float x, float) {
  const float t = TanhOf(x);
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kTanhInner * (1 + 3 * kTanhCube * x * x);
}

// Input and result have the same sign, as long as the slope is positive.
float Leaky(float x, float slope) { return x > 0 ? x : slope * x; }
float LeakySlope(float x, float slope) { return x > 0 ? 1 : slope; }

float Relu6(float x, float) { return std::clamp(x, 0.0f, 6.0f); }
float Relu6FromInput(float x, float) { return x > 0 && x < 6 ? 1.0f : 0.0f; }
float HardShare(float x) { return std::clamp(x / 6 + 0.5f, 0.0f, 1.0f); }
float HardSigmoid(float x, float) { return HardShare(x); }
float HardSigmoidFromInput(float x, float) { return x > -3 && x < 3 ? 1.0f / 6 : 0.0f; }
float HardSwish(float x, float) { return x * HardShare(x); }
float HardSwishFromInput(float x, float) { return x <= -3 ? 0.0f : x < 3 ? x / 3 + 0.5f : 1.0f; }

float Elu(float x, float) { return x > 0 ? x : std::expm1(x); }
float EluFromInput(float x, float) { return x > 0 ? 1 : std::exp(x); }
float EluFromResult(float y, float) { return y > 0 ? 1 : y + 1; }

}  // namespace

// Columns: function, name, saves, in place, value, derivative from the input, derivative from the result.
constexpr std::array<ActivationTraits, 10> kActivations{{
    {kSigmoid, "sigmoid", kResult, false, Sigmoid, nullptr, SigmoidFromResult},
    {kTanh, "tanh", kResult, false, Tanh, nullptr, TanhFromResult},
    {kSilu, "silu", kInput, false, Silu, SiluFromInput, nullptr},
    {kGelu, "gelu", kInput, false, Gelu, GeluFromInput, nullptr},
    {kGeluTanh, "gelu_tanh", kInput, false, GeluTanh, GeluTanhFromInput, nullptr},
    {kLeakyRelu, "leaky_relu", kInput, true, Leaky, LeakySlope, LeakySlope},
    {kRelu6, "relu6", kInput, false, Relu6, Relu6FromInput, nullptr},
    {kHardSwish, "hard_swish", kInput, false, HardSwish, HardSwishFromInput, nullptr},
    {kHardSigmoid, "hard_sigmoid", kInput, false, HardSigmoid, HardSigmoidFromInput, nullptr},
    {kElu, "elu", kInput, true, Elu, EluFromInput, EluFromResult},
}};

namespace {
constexpr bool InOrder() {
  for (std::size_t i = 0; i < kActivations.size(); ++i) {
    if (kActivations[i].function != static_cast<ActivationFunction>(i)) return false;
  }
  return true;
}
static_assert(InOrder(), "the rows are found by number");
}  // namespace

}  // namespace spillway
