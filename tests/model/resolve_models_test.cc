// Bad kernel models of a profile: every mistake at once, each with its place in the file and the nearest name.
#include <algorithm>
#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "tests/kernel_models.h"
#include "tests/profile_text.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// From line 12 on.
const std::string kBadModels = R"(    models:
      - form: elementwize
        op: rely
        pass: forward
        parameters: {latency: 1, bandwidth_fraction: 0.5, cache_gain: 0.4}
        source: {assumed: x}
      - pass: foward
        op: relu
        form: elementwise
        math: fp23
        parameters: {latncy: 1, bandwidth_fraction: 0, cache_gain: 0.4}
        source: {assumed: x}
      - {form: winograd_nonfused, op: convolution, pass: forward, algorithm: winograd, parameters: {},
         source: {assumed: x}}
)";

template <typename Load>
std::vector<std::string> Mistakes(const Load& load) {
  try {
    load();
  } catch (const UserError& error) {
    return error.messages();
  }
  return {};
}

// Of the line that begins with `place`; "" without one.
std::string At(const std::vector<std::string>& mistakes, const std::string& place) {
  for (const std::string& mistake : mistakes) {
    if (mistake.starts_with(place + ": error: machine 'small', device 'gpu': ")) return mistake;
  }
  return "";
}

TEST_CASE("all mistakes of all models come at once, in the order of the file") {
  const std::vector<std::string> mistakes = Mistakes([] { ParseMachine(ProfileText(kBadModels), "m.yaml"); });
  using Catch::Contains;
  CHECK_THAT(At(mistakes, "m.yaml:13:15"), Contains("form 'elementwize'; did you mean 'elementwise'?"));
  CHECK_THAT(At(mistakes, "m.yaml:14:13"), Contains("op 'rely'; did you mean 'relu'?"));
  CHECK_THAT(At(mistakes, "m.yaml:18:15"), Contains("pass 'foward'; did you mean 'forward'?"));
  CHECK_THAT(At(mistakes, "m.yaml:21:15"), Contains("math 'fp23'; did you mean 'fp32'?"));
  CHECK_THAT(At(mistakes, "m.yaml:22:21"), Contains("lacks the parameter 'latency'"));
  CHECK_THAT(At(mistakes, "m.yaml:22:22"), Contains("no parameter 'latncy'; did you mean 'latency'?"));
  CHECK_THAT(At(mistakes, "m.yaml:22:33"), Contains("'bandwidth_fraction'") && Contains("must be more than zero"));
  CHECK_THAT(At(mistakes, "m.yaml:24:78"), Contains("for convolution forward; did you mean 'winograd_nonfused'?"));
  CHECK_THAT(At(mistakes, "m.yaml:24:100"), Contains("lacks the parameter 'efficiency'"));
  CHECK(mistakes.size() == 8 + FindKernelForm("winograd_nonfused")->parameters.size());
}

TEST_CASE("models of another profile are refused where that one has them") {
  const TemporaryFolder folder("resolve-models");
  folder.Write("teacher.yaml", ProfileText(kBadModels));
  folder.Write("student.yaml", ProfileText("    models_from: teacher\n", "student"));
  const std::vector<std::string> mistakes = Mistakes([&] { LoadMachine(folder.Path("student.yaml")); });
  REQUIRE(!mistakes.empty());
  CHECK_THAT(mistakes[0], Catch::Contains("teacher.yaml:13:15: error: machine 'small'"));
}

std::string Refusal(const KernelModel& model) {
  Machine machine = UnitWith({ReluModel(), model});
  try {
    const CostModel costs(machine);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("equal parameters of different algorithms are different models") {
  const Machine machine =
      FastWith({Model("implicit_precomp_gemm", OpKind::kConvolution, Pass::kBackwardFilter, "algo_1", {}),
                Model("implicit_precomp_gemm", OpKind::kConvolution, Pass::kBackwardFilter, "algo_3", {})});
  const std::vector<ResolvedModel> models = ResolveModels(machine.devices[0], machine.name);
  REQUIRE(models.size() == 2);
  CHECK(models[0].group != models[1].group);
  CHECK(models[0].algorithm != models[1].algorithm);
}

TEST_CASE("what this program does not know of a model is refused with machine, device and nearest name") {
  const auto refused = [](auto change) {
    KernelModel model = ReluModel();
    change(model);
    return Refusal(model);
  };
  const auto at = Catch::Contains("machine 'unit', device 'gpu0': ");
  CHECK_THAT(refused([](KernelModel& m) { m.form = "elementwize"; }),
             at && Catch::Contains("unknown kernel form 'elementwize'; did you mean 'elementwise'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.math = "fp23"; }),
             at && Catch::Contains("unknown math 'fp23'; did you mean 'fp32'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.parameters.erase(m.parameters.begin()); }),
             at && Catch::Contains("lacks the parameter 'latency' (nanoseconds"));
  CHECK_THAT(refused([](KernelModel& m) {
               m.parameters.push_back({"latncy", 1});
             }),
             at && Catch::Contains("no parameter 'latncy'; did you mean 'latency'?"));
  CHECK_THAT(refused([](KernelModel& m) { m.parameters[1].value = 0; }),
             at && Catch::Contains("'bandwidth_fraction'") && Catch::Contains("must be more than zero"));
  CHECK_THAT(refused([](KernelModel& m) { m.parameters[1].value = -0.5; }), Catch::Contains("more than zero"));
  CHECK_THAT(refused([](KernelModel& m) { m.op = OpKind::kConvolution; }),
             at && Catch::Contains("the form has no algorithm '' for convolution forward"));
  CHECK(refused([](KernelModel&) {}) == "no error");
  KernelModel convolution = ConvolutionModel("winograd_nonfused", 1e6);
  convolution.algorithm = "winograd_nonfusd";
  CHECK_THAT(Refusal(convolution), at && Catch::Contains("did you mean 'winograd_nonfused'?"));
}

}  // namespace
}  // namespace spillway
