// What is said of a GPU from a recording of a CPU: by the calls that there are, with bytes of their tensors.
#include "model/recorded/gpu_differences.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

// An attention with dropout, a convolution, and an update without foreach; scores of 4000 bytes and a mask of 4096.
// `type`: of the mask; "": not said.
std::shared_ptr<const RecordedStep> Step(const char* device, const char* update = "aten.addcdiv_.default",
                                         const std::string& type = "") {
  const auto node = [](const char* id, const char* op, const char* pass, const Json& deps, const Json& results) {
    return Json{{"id", id}, {"op", op}, {"pass", pass}, {"ns", 100}, {"deps", deps}, {"results", results}};
  };
  Json nodes = {node("conv", "aten.convolution.default", "forward", {"x", "w"}, {{{"id", "q"}, {"bytes", 8000}}}),
                node("scores", "aten.bmm.default", "forward", {"q"}, {{{"id", "s"}, {"bytes", 4000}}}),
                node("softmax", "aten._softmax.default", "forward", {"s"}, {{{"id", "p"}, {"bytes", 4000}}}),
                node("empty", "aten.empty_like.default", "forward", {"p"}, {{{"id", "m0"}, {"bytes", 4096}}}),
                node("draw", "aten.bernoulli_.float", "forward", {"m0"}, {{{"id", "m"}, {"in_place", "m0"}}}),
                node("drop", "aten.mul.Tensor", "forward", {"p", "m"}, {{{"id", "d"}, {"bytes", 4000}}}),
                node("back", "aten.mul.Tensor", "backward", {"d", "m", "p"}, {{{"id", "g"}, {"bytes", 1000}}}),
                node("conv:back", "aten.convolution_backward.default", "backward", {"g", "q", "w"},
                     {{{"id", "w.g"}, {"bytes", 1024}}}),
                node("update", update, "update", {"w.g", "w"}, Json::array())};
  if (!type.empty()) nodes[4]["outputs"] = {{{"shape", {64}}, {"stride", {1}}, {"type", type}}};
  const Json step = {{"format", "spillway-step"},
                     {"version", 2},
                     {"graph", "g"},
                     {"samples", 1},
                     {"source", {{"assumed", "test"}}},
                     {"error", 0.1},
                     {"device", {{"type", device}, {"name", "d"}}},
                     {"values", {{{"id", "x"}, {"bytes", 512}, {"class", "batch"}}, {{"id", "w"}, {"bytes", 1024}}}},
                     {"nodes", nodes}};
  return ReadRecordedStep(ParseDocument(step.dump(), "step.json"));
}

const GpuDifference* Find(const std::vector<GpuDifference>& all, const char* part) {
  for (const GpuDifference& difference : all) {
    if (Contains(difference.what, part)) return &difference;
  }
  return nullptr;
}

TEST_CASE("a recording of a CPU: each difference has its bytes and its source") {
  const std::vector<GpuDifference> all = DifferencesOnGpu(*Step("cpu"));
  for (const GpuDifference& difference : all) CHECK_FALSE(difference.source.empty());
  REQUIRE(Find(all, "matrix products") != nullptr);
  CHECK(Find(all, "matrix products")->whole_step == 32 * kMiB);
  REQUIRE(Find(all, "convolutions") != nullptr);
  CHECK(Find(all, "convolutions")->maybe == 1000 + 8000 + 1024 + 1024);  // backward's operands are more than forward's
  REQUIRE(Find(all, "attention") != nullptr);
  CHECK(Find(all, "attention")->less == 4000);
  REQUIRE(Find(all, "dropout") != nullptr);
  CHECK(Find(all, "dropout")->less == 3072);
  REQUIRE(Find(all, "foreach") != nullptr);
  CHECK(Find(all, "foreach")->update == 1024);
  CHECK(Find(all, "recurrent") == nullptr);
  CHECK(Find(all, "batch norm") == nullptr);
}

TEST_CASE("masks of dropout lose what their type has beyond one byte an element") {
  const auto less = [](const char* type) {
    const std::vector<GpuDifference> all = DifferencesOnGpu(*Step("cpu", "aten.addcdiv_.default", type));
    const GpuDifference* found = Find(all, "dropout");
    return found == nullptr ? Bytes{0} : found->less;
  };
  CHECK(less("float32") == 3072);
  CHECK(less("bfloat16") == 2048);
  CHECK(less("float64") == 3584);
  CHECK(less("bool") == 0);
  CHECK(less("of its own") == 3072);
}

TEST_CASE("the peak there lies between the least and the most that they make of the recorded one") {
  const auto step = Step("cpu");
  const Footprint footprint = FootprintOf(*step);
  const GpuPeak peak = PeakOnGpu(*step, footprint);
  CHECK(peak.low == footprint.PeakBytes() - 4000 - 3072);
  CHECK(peak.high == footprint.PeakBytes() + 32 * kMiB + 11048);
}

TEST_CASE("an optimizer that was told foreach=False has no lists on a GPU either") {
  RecordedStep step = *Step("cpu");
  step.about.notes = {"gradients that were there were set aside: the step begins without"};
  CHECK(Find(DifferencesOnGpu(step), "foreach") != nullptr);
  step.about.notes.emplace_back("optimizer without foreach: AdamW (foreach=False)");
  CHECK(Find(DifferencesOnGpu(step), "foreach") == nullptr);
}

TEST_CASE("an optimizer that is foreach already, and a recording of a GPU, differ in nothing of that") {
  CHECK(Find(DifferencesOnGpu(*Step("cpu", "aten._foreach_addcdiv_.ScalarList")), "foreach") == nullptr);
  const auto gpu = Step("cuda");
  CHECK(DifferencesOnGpu(*gpu).empty());
  const Footprint footprint = FootprintOf(*gpu);
  const GpuPeak peak = PeakOnGpu(*gpu, footprint);
  CHECK(peak.low == footprint.PeakBytes());
  CHECK(peak.high == footprint.PeakBytes());
}

}  // namespace
}  // namespace spillway
