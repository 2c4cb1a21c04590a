// Kernels of the CPU device for today's layers: forward against formulas, every backward against finite differences.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "model/step/activation.h"
#include "tests/cpu_reference.h"

namespace spillway {
namespace {

const Shape kFlat{2, 6, 1, 3, 4}, kDeep{2, 4, 2, 3, 2};

OpShape Alike(const Shape& shape) { return {.in = shape, .out = shape}; }

// Away from corners by more than the step of a difference: -2.95, -2.85, ... none a multiple of 0.1.
Values Smooth(std::size_t count) {
  Values x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<double>(i * 37 % 149) * 0.1 - 7.45);
  return x;
}

Values Added(const Values& before, const Values& more) {
  Values sum = before;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  return sum;
}

// The gradient `call` computes of `reads`, which is to be `expected`; then added to what is there.
void CheckGradient(CpuKernels& kernels, OpCall call, const std::vector<Values>& reads, const Values& expected) {
  const Values before = RandomValues(expected.size(), 99);
  const Values got = Result(kernels, call, reads, before);
  CHECK(Difference(got, expected) < 3e-3);
  call.launch.accumulate = true;
  CHECK(Difference(Result(kernels, call, reads, before), Added(before, got)) < 1e-6);
}

OpCall ActivationCall(const ActivationTraits& traits, Pass pass, const Shape& shape, bool from_result = false) {
  OpCall call = Call(OpKind::kActivation, pass, Alike(shape));
  call.details.function = traits.function;
  call.details.slope = 0.2;
  call.details.from_result = from_result;
  return call;
}

// The functions by their definitions, in double.
double Defined(const std::string& name, double x) {
  const double logistic = 1 / (1 + std::exp(-x)), hard = std::min(std::max(x + 3, 0.0), 6.0) / 6;
  const double tanh_inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  const std::map<std::string, double> values{{"sigmoid", logistic},
                                             {"tanh", std::tanh(x)},
                                             {"silu", x * logistic},
                                             {"gelu", 0.5 * x * std::erfc(-x / std::sqrt(2.0))},
                                             {"gelu_tanh", 0.5 * x * (1 + std::tanh(tanh_inner))},
                                             {"leaky_relu", x > 0 ? x : 0.2 * x},
                                             {"relu6", std::min(std::max(x, 0.0), 6.0)},
                                             {"hard_swish", x * hard},
                                             {"hard_sigmoid", hard},
                                             {"elu", x > 0 ? x : std::exp(x) - 1}};
  return values.at(name);
}

}  // namespace

TEST_CASE("activations: values, gradients from input and result, in place") {
  CpuKernels kernels;
  for (const ActivationTraits& traits : kActivations) {
    INFO(traits.name);
    const Values x = Smooth(Count(kFlat)), dy = RandomValues(kFlat, 2);
    const OpCall forward = ActivationCall(traits, Pass::kForward, kFlat);
    const auto function = [&](const Values& in) { return Result(kernels, forward, {in}, Values(in.size(), NAN)); };
    const Values y = function(x);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == Approx(Defined(traits.name, x[i])).margin(2e-6));
    const Values expected = NumericGradient(function, x, dy, 0.01f);
    CHECK((traits.from_input != nullptr || traits.from_result != nullptr));
    if (traits.from_input != nullptr) {
      CheckGradient(kernels, ActivationCall(traits, Pass::kBackward, kFlat), {x, dy}, expected);
    }
    if (traits.from_result != nullptr) {
      CheckGradient(kernels, ActivationCall(traits, Pass::kBackward, kFlat, true), {y, dy}, expected);
    }
    // What backward is asked for is there, in place too.
    CHECK(((traits.saves == ActivationSaves::kInput) ? traits.from_input : traits.from_result) != nullptr);
    CHECK((!traits.in_place || traits.from_result != nullptr));
    Values place = x;
    const std::array<void*, 1> one{place.data()};
    kernels.Prepare(forward).Run({.reads = one, .writes = one});
    CHECK(place == y);
  }
}

TEST_CASE("scale and PReLU: a parameter per channel") {
  CpuKernels kernels;
  const Shape shape = GENERATE(kFlat, kDeep);
  const OpKind kind = GENERATE(OpKind::kScale, OpKind::kPrelu);
  const std::size_t channels = static_cast<std::size_t>(shape.c), spatial = static_cast<std::size_t>(shape.Spatial());
  const Values x = Smooth(Count(shape)), parameter = RandomValues(channels, 2), dy = RandomValues(shape, 3);
  const OpCall call = Call(kind, Pass::kForward, Alike(shape));
  const auto forward = [&](const Values& in, const Values& by) {
    return Result(kernels, call, {in, by}, Values(in.size(), NAN));
  };
  const Values y = forward(x, parameter);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float factor = kind == OpKind::kPrelu && x[i] > 0 ? 1.0f : parameter[i / spatial % channels];
    CHECK(y[i] == x[i] * factor);
  }
  const bool keeps_sign = kind == OpKind::kPrelu;
  const Values by_input = NumericGradient([&](const Values& v) { return forward(v, parameter); }, x, dy, 0.01f);
  const Values by_parameter = NumericGradient([&](const Values& v) { return forward(x, v); }, parameter, dy, 0.5f);
  const std::vector<Values> data =
      keeps_sign ? std::vector<Values>{x, parameter, dy} : std::vector<Values>{parameter, dy};
  CheckGradient(kernels, Call(kind, Pass::kBackward, Alike(shape)), data, by_input);
  CheckGradient(kernels, Call(kind, Pass::kBackwardBias, Alike(shape)), {x, dy}, by_parameter);
}

TEST_CASE("products of two maps, of a map and a number per plane, of a map with itself") {
  CpuKernels kernels;
  const Shape shape = GENERATE(kFlat, kDeep);
  const bool per_plane = GENERATE(false, true);
  OpShape s = Alike(shape);
  s.operands = per_plane ? 1 : 2;
  const std::size_t planes = static_cast<std::size_t>(shape.n * shape.c), spatial = Count(shape) / planes;
  const Values a = RandomValues(shape, 1), b = RandomValues(per_plane ? planes : Count(shape), 2);
  const Values dy = RandomValues(shape, 3);
  const OpCall call = Call(OpKind::kMultiply, Pass::kForward, s);
  const auto forward = [&](const Values& first, const Values& second) {
    return Result(kernels, call, {first, second}, Values(Count(shape), NAN));
  };
  const Values y = forward(a, b);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == a[i] * b[per_plane ? i / spatial : i]);
  const Values by_first = NumericGradient([&](const Values& v) { return forward(v, b); }, a, dy, 0.5f);
  const Values by_second = NumericGradient([&](const Values& v) { return forward(a, v); }, b, dy, 0.5f);
  CheckGradient(kernels, Call(OpKind::kMultiply, Pass::kBackwardData, s), {b, dy}, by_first);
  CheckGradient(kernels, Call(OpKind::kMultiply, Pass::kBackward, s), {a, dy}, by_second);
  if (per_plane) return;
  const Values square = Result(kernels, call, {a}, Values(Count(shape)));
  for (std::size_t i = 0; i < square.size(); ++i) CHECK(square[i] == a[i] * a[i]);
}

TEST_CASE("max pooling by saved places is max pooling") {
  CpuKernels kernels;
  OpShape s{.in = {2, 3, 2, 7, 6}, .out = {2, 3, 2, 4, 3}, .window = {1, 3, 3}, .stride = {1, 2, 2}, .pad = {0, 1, 1}};
  const Values x = RandomValues(s.in, 1), dy = RandomValues(s.out, 2), before = RandomValues(s.in, 3);
  const Values y = Result(kernels, Call(OpKind::kMaxPool, Pass::kForward, s), {x}, Values(Count(s.out)));
  OpCall forward = Call(OpKind::kMaxPool, Pass::kForward, s), backward = Call(OpKind::kMaxPool, Pass::kBackward, s);
  forward.details.saved_indices = backward.details.saved_indices = true;
  std::vector<Values> writes{Values(Count(s.out)), Values(2 * Count(s.out))};  // int64 places
  RunCall(kernels, forward, {x}, writes);
  CHECK(writes[0] == y);
  for (const bool accumulate : {false, true}) {
    backward.launch.accumulate = accumulate;
    const OpCall usual = Call(OpKind::kMaxPool, Pass::kBackward, s, accumulate);
    CHECK(Result(kernels, backward, {x, writes[1], dy}, before) == Result(kernels, usual, {x, y, dy}, before));
  }
}

TEST_CASE("dropout of whole samples, and with a mask of numbers") {
  CpuKernels kernels;
  const Shape shape{.n = 64, .c = 3, .h = 2, .w = 2};
  const bool per_sample = GENERATE(false, true);
  OpCall forward = Call(OpKind::kDropout, Pass::kForward, Alike(shape));
  forward.details.dropout_rate = 0.25;
  forward.details.per_sample = per_sample;
  forward.details.mask_type = DataType::kFp32;
  OpCall backward = forward;
  backward.launch.pass = Pass::kBackward;
  const Values x(Count(shape), 3.0f), dy(Count(shape), 6.0f);
  std::vector<Values> writes{Values(x.size()), Values(per_sample ? 64 : x.size())};
  RunCall(kernels, forward, {x}, writes, {.random_stream = 5});
  const Values dx = Result(kernels, backward, {writes[1], dy}, Values(x.size()));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool stays = writes[1][per_sample ? i / 12 : i] != 0;
    kept += stays ? 1 : 0;
    CHECK(writes[0][i] == (stays ? 4.0f : 0.0f));
    CHECK(dx[i] == (stays ? 8.0f : 0.0f));
  }
  const double share = static_cast<double>(kept) / static_cast<double>(x.size());
  CHECK(share > 0.5);
  CHECK(share < 0.95);
}

}  // namespace spillway
