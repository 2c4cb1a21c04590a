// The CUDA plugin's convolutions on halves, over a fake of the C libraries (cuda_fake_c/) that goes by the descriptors it
// is given, and what the plugin refuses of other types, layouts and arithmetic.
#include <string>
#include <vector>

#include "model/cost/kernel_form.h"
#include "tests/cuda/cuda_half.h"
#include "tests/cuda/cuda_plugin_fake.h"

namespace spillway {
namespace {

using Catch::Contains;
using cuda_fake::TheState;

const OpShape& Plain() { return FusedShapes()[0].shape; }

std::vector<std::int32_t> Numbers(const std::vector<CudaAlgorithm>& algorithms) {
  std::vector<std::int32_t> numbers;
  for (const CudaAlgorithm& algorithm : algorithms) numbers.push_back(algorithm.algorithm);
  return numbers;
}

std::int32_t Special(Pass pass) {
  return AlgorithmByName(OpKind::kConvolution, pass, pass == Pass::kForward ? "winograd" : "winograd_nonfused");
}

}  // namespace

TEST_CASE("convolutions on halves: all passes in both layouts come to what the reference says") {
  const FusedShape& test = GENERATE(from_range(FusedShapes()));
  const PluginOverFake fake;
  CudaStream* const stream = fake.calls->MakeStream(false);
  for (const Pass pass : kConvolutionPasses) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      INFO(test.name << ' ' << PassName(pass) << ' ' << LayoutName(layout));
      const auto [first, second, result] = ConvolutionOperands(test.shape, pass);
      const Values a = RandomHalves(first, 1), b = RandomHalves(second, 2), before = RandomHalves(result, 3);
      const Values got = HalfResult(*fake.calls, HalfCall(pass, test.shape, layout), a, b, {}, stream);
      const Values sums = ConvolutionReference(test.shape, pass, a, b, Values(Count(result)));
      CHECK(Difference(got, sums) < 5e-4);  // a half's own rounding
      CHECK(TheState().calls.back().ends_with(layout == Layout::kNhwc ? " 1 tensor cores half nhwc"
                                                                      : " 1 tensor cores half"));
      const Values added = HalfResult(*fake.calls, HalfCall(pass, test.shape, layout, true), a, b, before, stream);
      CHECK(Difference(added, ConvolutionReference(test.shape, pass, a, b, before)) < 5e-4);
      CHECK(Difference(got, added) > 1e-2);
    }
  }
  fake.calls->Destroy(stream);
}

TEST_CASE("convolutions on halves say in what they compute") {
  const PluginOverFake fake;
  CHECK(fake.calls->Prepare(HalfCall(Pass::kForward, Plain(), Layout::kNchw))->implementation() ==
        "implicit_precomp_gemm, fp16");
  CHECK(fake.calls->Prepare(HalfCall(Pass::kBackwardData, Plain(), Layout::kNhwc))->implementation() ==
        "algo_1, fp16, nhwc");
}

TEST_CASE("of halves the algorithms on tensor cores count, in the library's order, with what it says of them") {
  const PluginOverFake fake;
  for (const Pass pass : kConvolutionPasses) {
    INFO(PassName(pass));
    const std::vector<CudaAlgorithm> found = fake.calls->Algorithms(HalfCall(pass, Plain(), Layout::kNchw));
    // Number 1 is listed too, but without tensor cores.
    REQUIRE(Numbers(found) == std::vector<std::int32_t>{2, Special(pass)});
    CHECK(found[0].rank == 0);
    CHECK(found[0].deterministic);
    CHECK(found[0].workspace == Plain().out.Elements() * 4);
    CHECK(found[1].rank == 2);
    CHECK(found[1].deterministic == (pass == Pass::kForward));  // without tensor cores it would be
    CHECK(Numbers(fake.calls->Algorithms(HalfCall(pass, Plain(), Layout::kNhwc))) == std::vector<std::int32_t>{2});
  }
}

TEST_CASE("a library that lists none on tensor cores does not tell them apart") {
  const PluginOverFake fake;
  TheState().lists_tensor_cores = false;
  CHECK(Numbers(fake.calls->Algorithms(HalfCall(Pass::kForward, Plain(), Layout::kNhwc))) ==
        std::vector<std::int32_t>{1, 2});
}

TEST_CASE("an algorithm that is not offered for halves is refused by name") {
  const PluginOverFake fake;
  OpCall call = HalfCall(Pass::kForward, Plain(), Layout::kNhwc);
  call.launch.algorithm = 1;
  const DeviceError error = ErrorOf([&] { fake.calls->Prepare(call); });
  CHECK(error.fault() == Fault::kRefused);
  CHECK_THAT(error.what(), Contains("by implicit_gemm; cuDNN offers implicit_precomp_gemm (720 bytes)"));
}

TEST_CASE("nothing but convolutions computes on halves, and they in half arithmetic only") {
  const PluginOverFake fake;
  const OpCall half = HalfCall(Pass::kForward, Plain(), Layout::kNhwc);
  std::vector<OpCall> refused(6, half);
  refused[0].launch.kind = OpKind::kRelu;
  refused[1].launch.math = MathMode::kFp32;
  refused[2].launch.type = DataType::kFp32;
  refused[3].launch.type = DataType::kBf16;
  refused[3].launch.math = MathMode::kBf16;
  refused[4].launch.type = DataType::kFp32;
  refused[4].launch.math = MathMode::kTf32;  // in NHWC
  refused[5].launch.kind = OpKind::kLinear;
  for (std::size_t k = 0; k < refused.size(); ++k) {
    INFO(k);
    const DeviceError error = ErrorOf([&] { fake.calls->Prepare(refused[k]); });
    CHECK(error.fault() == Fault::kRefused);
    CHECK_THAT(error.what(), Contains("computes on fp32 NCHW tensors, in fp32 or TF32 arithmetic; only convolutions "
                                      "are measured in fp16"));
    CHECK(ErrorOf([&] { fake.calls->Algorithms(refused[k]); }).fault() == Fault::kRefused);
  }
  CHECK(fake.calls->Algorithms(half).size() == 1);
}

}  // namespace spillway
