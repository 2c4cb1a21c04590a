// Kernels of the CPU device against plain loops (cpu_reference.h): convolution and linear layers, and what all have in
// common. The other ops are in cpu_layers_test.cc.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "model/kernels/kernel_form.h"
#include "tests/cpu_reference.h"

namespace spillway {
namespace {

struct ConvolutionCase {
  const char* name;
  OpShape shape;
};

OpShape Convolution(Shape in, std::int64_t out_channels, std::array<std::int64_t, 3> window,
                    std::array<std::int64_t, 3> stride, std::array<std::int64_t, 3> pad, std::int64_t groups = 1) {
  OpShape s{.in = in, .out = in, .window = window, .stride = stride, .pad = {pad[0], pad[1], pad[2]}, .groups = groups};
  s.out.c = out_channels;
  s.out.d = (in.d + 2 * pad[0] - window[0]) / stride[0] + 1;
  s.out.h = (in.h + 2 * pad[1] - window[1]) / stride[1] + 1;
  s.out.w = (in.w + 2 * pad[2] - window[2]) / stride[2] + 1;
  return s;
}

const std::vector<ConvolutionCase>& Cases() {
  static const std::vector<ConvolutionCase> cases = {
      {"3x3", Convolution({2, 16, 1, 9, 9}, 32, {1, 3, 3}, {1, 1, 1}, {0, 1, 1})},
      {"3x3 of images", Convolution({2, 3, 1, 10, 8}, 16, {1, 3, 3}, {1, 1, 1}, {0, 1, 1})},
      {"odd channels", Convolution({1, 5, 1, 7, 6}, 7, {1, 3, 3}, {1, 1, 1}, {0, 0, 0})},
      {"5x5 stride 2", Convolution({2, 4, 1, 11, 12}, 6, {1, 5, 5}, {1, 2, 2}, {0, 2, 2})},
      {"1x1 stride 2", Convolution({3, 8, 1, 7, 7}, 12, {1, 1, 1}, {1, 2, 2}, {0, 0, 0})},
      {"1x7", Convolution({1, 6, 1, 5, 9}, 8, {1, 1, 7}, {1, 1, 1}, {0, 0, 3})},
      {"groups", Convolution({2, 8, 1, 6, 6}, 12, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 4)},
      {"depthwise", Convolution({2, 8, 1, 6, 6}, 8, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, 8)},
      {"3-D", Convolution({2, 3, 5, 6, 7}, 4, {3, 3, 3}, {1, 1, 1}, {1, 1, 1})},
      {"3-D groups stride 2", Convolution({1, 4, 6, 6, 6}, 8, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, 2)},
  };
  return cases;
}

constexpr std::array<Pass, 3> kPasses = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter};

// Elements of the two operands and the result, in the op's order.
std::array<std::size_t, 3> Sizes(const OpShape& s, Pass pass) {
  const std::size_t in = Count(s.in), weight = WeightCount(s), out = Count(s.out);
  if (pass == Pass::kForward) return {in, weight, out};
  if (pass == Pass::kBackwardData) return {weight, out, in};
  return {in, out, weight};
}

// The number of algorithms compared.
int CompareWorkspaces(CpuKernels& kernels, const OpShape& shape, Pass pass, bool accumulate) {
  const OpCall call = Call(OpKind::kConvolution, pass, shape, accumulate);
  int compared = 0;
  for (const CpuAlgorithm& algorithm : kernels.Algorithms(call)) {
    const auto names = AlgorithmNames(OpKind::kConvolution, pass);
    const std::string name = names[static_cast<std::size_t>(algorithm.algorithm - 1)];
    for (const KernelForm& form : KernelForms(Platform::kCpu)) {
      const auto served = form.algorithms(OpKind::kConvolution, pass);
      if (std::find(served.begin(), served.end(), name) == served.end() || !form.Applies(call.launch)) continue;
      INFO(name << " " << PassName(pass) << " " << ShapeText(shape.in) << " window " << shape.window[1]);
      CHECK(form.workspace(call.launch) >= algorithm.workspace);
      ++compared;
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("convolution: every pass and algorithm computes what loops compute") {
  CpuKernels kernels;
  const auto& test = GENERATE(from_range(Cases()));
  for (const Pass pass : kPasses) {
    const auto [first, second, result] = Sizes(test.shape, pass);
    const Values a = RandomValues(first, 1), b = RandomValues(second, 2), before = RandomValues(result, 3);
    for (const bool accumulate : {false, true}) {
      OpCall call = Call(OpKind::kConvolution, pass, test.shape, accumulate);
      const Values expected = ConvolutionReference(test.shape, pass, a, b, accumulate ? before : Values(result, 0.0f));
      const std::vector<CpuAlgorithm> algorithms = kernels.Algorithms(call);
      REQUIRE(!algorithms.empty());
      for (const CpuAlgorithm& algorithm : algorithms) {
        INFO(test.name << ' ' << PassName(pass) << ' ' << algorithm.implementation << ' ' << accumulate);
        call.launch.algorithm = algorithm.algorithm;
        call.launch.workspace = algorithm.workspace;
        const Values got = Result(kernels, call, {a, b}, before);
        // Winograd's transforms lose about two digits (Lavin and Gray 2016, table 4).
        const bool winograd = algorithm.algorithm == AlgorithmByName(OpKind::kConvolution, pass, "winograd");
        CHECK(Difference(got, expected) < (winograd ? 1e-3 : 1e-5));
        CHECK(Result(kernels, call, {a, b}, before) == got);  // the same bits
      }
    }
  }
}

TEST_CASE("convolution: algorithms are told apart, and workspace is what they need") {
  CpuKernels kernels;
  OpCall call = Call(OpKind::kConvolution, Pass::kForward, Cases()[0].shape);
  const std::vector<CpuAlgorithm> algorithms = kernels.Algorithms(call);
  const auto names = AlgorithmNames(OpKind::kConvolution, Pass::kForward);
  std::set<std::string> found;
  for (std::size_t k = 0; k < algorithms.size(); ++k) {
    REQUIRE(algorithms[k].algorithm >= 1);
    REQUIRE(static_cast<std::size_t>(algorithms[k].algorithm) <= names.size());
    CHECK(found.insert(names[static_cast<std::size_t>(algorithms[k].algorithm - 1)]).second);
    call.launch.algorithm = algorithms[k].algorithm;
    call.launch.workspace = algorithms[k].workspace;
    CHECK(kernels.Prepare(call).workspace() == algorithms[k].workspace);
    CHECK(kernels.Prepare(call).implementation() == algorithms[k].implementation);
    if (algorithms[k].workspace == 0) continue;
    call.launch.workspace = algorithms[k].workspace - 1;
    CHECK_THROWS_WITH(kernels.Prepare(call), Catch::Contains("convolution forward 2x16x9x9 to 2x32x9x9"));
  }
}

// Unmeasured launches are granted what the cost models' forms say; less than the kernel wants would stop a run.
TEST_CASE("convolution: the forms of cost models never ask for less workspace than the kernels") {
  CpuKernels kernels;
  int compared = 0;
  for (const std::int64_t channels : {3, 16, 48, 64}) {
    for (const std::int64_t window : {1, 3, 5}) {
      for (const std::int64_t stride : {1, 2}) {
        const OpShape shape = Convolution({4, channels, 1, 12, 12}, 80, {1, window, window}, {1, stride, stride},
                                          {0, window / 2, window / 2});
        for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
          for (const bool accumulate : {false, true}) compared += CompareWorkspaces(kernels, shape, pass, accumulate);
        }
      }
    }
  }
  CHECK(compared > 200);
}

TEST_CASE("convolution: algorithm 0 is the first one that fits") {
  CpuKernels kernels;
  OpCall call = Call(OpKind::kConvolution, Pass::kForward, Cases()[0].shape);
  const std::vector<CpuAlgorithm> algorithms = kernels.Algorithms(call);
  CHECK(kernels.Prepare(call).implementation() == algorithms[0].implementation);
  for (const CpuAlgorithm& algorithm : algorithms) {
    call.launch.workspace = algorithm.workspace;
    const auto fits = [&](const CpuAlgorithm& a) { return a.workspace <= algorithm.workspace; };
    const auto first = std::find_if(algorithms.begin(), algorithms.end(), fits);
    CHECK(kernels.Prepare(call).implementation() == first->implementation);
  }
}

TEST_CASE("equal calls share a kernel") {
  CpuKernels kernels;
  const OpCall call = Call(OpKind::kConvolution, Pass::kForward, Cases()[1].shape);
  const CpuKernel& kernel = kernels.Prepare(call);
  CHECK(&kernels.Prepare(call) == &kernel);
  CHECK(&kernels.Prepare(Call(OpKind::kConvolution, Pass::kForward, Cases()[2].shape)) != &kernel);
  CHECK(&kernels.Prepare(call) == &kernel);
}

TEST_CASE("what cannot be computed is refused by name") {
  CpuKernels kernels;
  OpCall call = Call(OpKind::kConvolution, Pass::kForward, Cases()[0].shape);
  call.launch.shape.out.h = 4;  // not what window and stride make of 9
  CHECK_THROWS_WITH(kernels.Prepare(call), Catch::Contains("oneDNN refuses convolution forward 2x16x9x9 to 2x32x4x9"));
  call = Call(OpKind::kConvolution, Pass::kForward, Cases()[0].shape);
  call.launch.algorithm = 99;
  CHECK_THROWS_WITH(kernels.Prepare(call), Catch::Contains("by algorithm 99"));
  call = Call(OpKind::kRelu, Pass::kForward, {.in = {1, 2, 1, 3, 3}, .out = {1, 2, 1, 3, 3}});
  call.launch.type = DataType::kFp16;
  CHECK_THROWS_WITH(kernels.Prepare(call), Catch::Contains("fp32") && Catch::Contains("not fp16"));
  CHECK_THROWS_WITH(kernels.Prepare(Call(OpKind::kCast, Pass::kForward, {})), Catch::Contains("it has no casts"));
  CHECK_THROWS_WITH(CpuKernels(0), Catch::Contains("at least one thread"));
}

TEST_CASE("linear: every pass computes what loops compute") {
  CpuKernels kernels;
  const OpShape shape{.in = {3, 4, 1, 2, 5}, .out = {.n = 3, .c = 7}};
  // As a convolution: all 40 features are channels of a 1x1 image.
  const OpShape flat{.in = {.n = 3, .c = 40}, .out = shape.out};
  for (const Pass pass : kPasses) {
    const auto [first, second, result] = Sizes(flat, pass);
    const Values a = RandomValues(first, 1), b = RandomValues(second, 2), before = RandomValues(result, 3);
    for (const bool accumulate : {false, true}) {
      INFO(PassName(pass) << ' ' << accumulate);
      const OpCall call = Call(OpKind::kLinear, pass, shape, accumulate);
      const Values start = accumulate ? before : Values(result, 0.0f);
      CHECK(Difference(Result(kernels, call, {a, b}, before), ConvolutionReference(flat, pass, a, b, start)) < 1e-5);
    }
  }
}

TEST_CASE("two threads compute what one does") {
  CpuKernels one(1), two(2);
  const OpShape shape = Cases()[0].shape;
  for (const Pass pass : kPasses) {
    const auto [first, second, result] = Sizes(shape, pass);
    const OpCall call = Call(OpKind::kConvolution, pass, shape);
    const std::vector<Values> reads{RandomValues(first, 1), RandomValues(second, 2)};
    const Values zero(result, 0.0f);
    CHECK(Difference(Result(two, call, reads, zero), Result(one, call, reads, zero)) < 1e-4);
  }
}

}  // namespace spillway
