// Shapes and launches as text and back.
#include "model/profile/launch_text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/network/network.h"
#include "model/profile/profile_text.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

OpShape Convolution() {
  return {.in = {.n = 32, .c = 16, .h = 8, .w = 8},
          .out = {.n = 32, .c = 64, .h = 4, .w = 4},
          .window = {1, 3, 3},
          .stride = {1, 2, 2},
          .pad = {0, 1, 1}};
}

std::string Refusal(const MeasuredOp& op) {
  try {
    LaunchOf(op);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a shape is written with what is not usual") {
  OpShape shape = Convolution();
  CHECK(OpShapeText(shape) == "32x16x8x8 -> 32x64x4x4 window 3x3 stride 2x2 pad 1x1");
  shape.groups = 4;
  shape.window = {1, 1, 7};
  shape.stride = {1, 1, 1};
  shape.pad = {0, 0, 3};
  CHECK(OpShapeText(shape) == "32x16x8x8 -> 32x64x4x4 window 1x7 pad 0x3 groups 4");
  shape.out = shape.in;
  shape.groups = 1;
  shape.window = {1, 1, 1};
  shape.pad = {0, 0, 0};
  CHECK(OpShapeText(shape) == "32x16x8x8");
  shape.dilation = {1, 2, 3};
  CHECK(OpShapeText(shape) == "32x16x8x8 dilation 2x3");
  CHECK(OpShapeByText(OpShapeText(shape)) == std::optional(shape));
  shape.dilation = {1, 1, 1};
  shape.operands = 0;
  CHECK(OpShapeText(shape) == "32x16x8x8 operands 0");
  shape.in.d = 5;
  shape.window = {3, 1, 1};  // of depth only
  shape.pad = {1, 0, 0};
  shape.operands = 1;
  CHECK(OpShapeText(shape) == "32x16x5x8x8 -> 32x16x8x8 window 3x1x1 pad 1x0x0");
}

TEST_CASE("shapes of every op of networks come back from their text, no two alike") {
  std::set<std::string> texts;
  std::size_t different = 0;
  for (const char* name : {"googlenet", "resnext101-3d", "alexnet", "densenet121"}) {
    const Network network = BuildZooNetwork(name, {.batch = 2});
    const TrainingStep step = BuildTrainingStep(network);
    std::vector<Launch> seen;
    for (const Op& op : step.ops) {
      const Launch launch = LaunchOf(op);
      const MeasuredOp text = MeasuredOpOf(launch);
      REQUIRE(OpShapeByText(text.shape) == std::optional(launch.shape));
      REQUIRE(LaunchOf(text) == launch);
      texts.insert(MeasuredKey(text));
    }
    for (const Op& op : step.ops) {
      const Launch launch = LaunchOf(op);
      if (std::find(seen.begin(), seen.end(), launch) == seen.end()) seen.push_back(launch);
    }
    different += seen.size();
  }
  CHECK(texts.size() <= different);
  CHECK(texts.size() > 100);
}

TEST_CASE("numbers that no algorithm has are told as numbers") {
  const auto most = static_cast<std::int32_t>(AlgorithmNames(OpKind::kConvolution, Pass::kForward).size());
  for (const std::int32_t algorithm : {-1, 0, most + 1}) {
    CHECK(AlgorithmName(OpKind::kConvolution, Pass::kForward, algorithm) == std::string());
    CHECK(AlgorithmText(OpKind::kConvolution, Pass::kForward, algorithm) == "algorithm " + std::to_string(algorithm));
  }
  CHECK(AlgorithmName(OpKind::kRelu, Pass::kForward, 1) == std::string());
  CHECK(AlgorithmText(OpKind::kConvolution, Pass::kForward, most) == "reference");
}

TEST_CASE("algorithm, formats and accumulation come back") {
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    for (const char* const name : AlgorithmNames(OpKind::kConvolution, pass)) {
      Launch launch{.kind = OpKind::kConvolution, .pass = pass, .shape = Convolution()};
      launch.algorithm = AlgorithmByName(launch.kind, pass, name);
      CHECK(AlgorithmName(launch.kind, pass, launch.algorithm) == std::string(name));
      launch.type = DataType::kBf16;
      launch.layout = Layout::kNhwc;
      launch.math = MathMode::kTf32;
      launch.accumulate = true;
      const MeasuredOp op = MeasuredOpOf(launch);
      CHECK(op.algorithm == name);
      CHECK(LaunchOf(op) == launch);
    }
  }
}

TEST_CASE("other ways of writing a shape are refused: one launch has one text") {
  for (const char* text : {"",
                           "32",
                           "32x16",
                           "32x16x8",
                           "32x16x8x8x8x8",
                           "32x16x8x",
                           "x32x16x8x8",
                           "32x16x8x8 ",
                           " 32x16x8x8",
                           "32x16x1x8x8",
                           "32x16x8x8 -> 32x16x8x8",
                           "32x16x8x8 window 1x1",
                           "32x16x8x8 window 1x3x3",
                           "32x16x8x8 window 3",
                           "32x16x8x8 pad 1x1 window 3x3",
                           "32x16x8x8 windows 3x3",
                           "32x16x8x8 window",
                           "32x16x8x8 groups 2x2",
                           "032x16x8x8",
                           "32x16x-8x8",
                           "32x16x8x99999999999999999999",
                           "32x16x8x8 groups 1",
                           "32x16x8x8 ->"}) {
    INFO(text);
    CHECK_FALSE(OpShapeByText(text).has_value());
  }
}

TEST_CASE("what this program does not know of a measured launch is refused with the nearest name") {
  Launch launch{.kind = OpKind::kConvolution, .pass = Pass::kForward, .shape = Convolution()};
  const MeasuredOp good = MeasuredOpOf(launch);
  CHECK(Refusal(good) == "no error");
  const auto refused = [&](auto change) {
    MeasuredOp op = good;
    change(op);
    return Refusal(op);
  };
  using Catch::Contains;
  CHECK_THAT(refused([](MeasuredOp& op) { op.algorithm = "drect"; }),
             Contains("unknown algorithm 'drect' of convolution forward; did you mean 'direct'?"));
  CHECK_THAT(refused([](MeasuredOp& op) { op.math = "fp23"; }), Contains("unknown math 'fp23'"));
  CHECK_THAT(refused([](MeasuredOp& op) { op.precision = "int8"; }), Contains("unknown precision 'int8'"));
  CHECK_THAT(refused([](MeasuredOp& op) { op.layout = "nchv"; }), Contains("did you mean 'nchw'?"));
  CHECK_THAT(refused([](MeasuredOp& op) { op.shape = "32x16"; }), Contains("wrong shape '32x16'"));
}

TEST_CASE("messages name a type and a layout that are not the usual ones") {
  Launch launch;
  CHECK(FormatText(launch) == "");
  launch.math = MathMode::kTf32;
  CHECK(FormatText(launch) == "");
  launch.layout = Layout::kNhwc;
  CHECK(FormatText(launch) == " in fp32 nhwc");
  launch.type = DataType::kFp16;
  CHECK(FormatText(launch) == " in fp16 nhwc");
}

}  // namespace spillway
