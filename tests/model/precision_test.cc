// Training in other types than fp32: what autocast narrows, what it casts, what it keeps.
#include "model/network/precision.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "hw/text/document.h"
#include "model/network/optimizer.h"
#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/model/step_lines.h"
#include "tests/saved_bytes.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

using Catch::Contains;

Network In(const char* precision, Network network) {
  ApplyPrecision(network, PrecisionByName(precision));
  return network;
}

TrainingStep StepIn(const char* precision, const Network& network) { return BuildTrainingStep(In(precision, network)); }

const Tensor& TensorCalled(const TrainingStep& step, const std::string& name) {
  for (const Tensor& tensor : step.tensors) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no tensor " << name);
  return step.tensors[0];
}

Network ReadNetworkText(const std::string& text) {
  const Document document = ParseDocument(text, "net.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, 2);
  diagnostics.ThrowIfAny();
  return network;
}

// What autocast of PyTorch's CPU keeps in bf16 and that of a GPU, as here, in fp32: statistics of norms, and what layer norm
// reads (the CPU's list of wide ops has no norms).
Bytes WideOnGpuAlone(const TrainingStep& step) {
  Bytes sum = 0;
  for (const TensorId t : SavedTensorsOf(step)) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
    const bool statistics = tensor.name.ends_with(":mean") || tensor.name.ends_with(":inverse_deviation");
    if (statistics || tensor.name.ends_with("norm.cast")) sum += tensor.bytes / 2;
  }
  return sum;
}

}  // namespace

TEST_CASE("autocast op by op: convolution and linear narrow, batch norm takes what comes, the loss is wide") {
  const TrainingStep step = StepIn("amp-bf16", NormChainNetwork());
  CHECK(OpLines(step, 0) ==
        StepLines{"conv.cast:forward: input -> conv.cast",
                  "conv:weight:cast: conv:weight -> conv:weight_narrow",
                  "conv:forward: conv.cast conv:weight_narrow -> conv",
                  "bn_conv:forward: conv bn_conv:scale bn_conv:shift -> bn_conv bn_conv:mean bn_conv:inverse_deviation",
                  "relu_conv:forward: bn_conv -> relu_conv",
                  "fc:weight:cast: fc:weight -> fc:weight_narrow",
                  "fc:bias:cast: fc:bias -> fc:bias_narrow",
                  "fc:forward: relu_conv fc:weight_narrow -> fc",
                  "fc:bias: fc fc:bias_narrow -> fc",
                  "loss.cast:forward: fc -> loss.cast",
                  "loss:forward: loss.cast -> loss",
                  "loss:backward: loss -> loss.cast:gradient",
                  "loss.cast:backward: loss.cast:gradient -> fc:gradient",
                  "fc:backward_bias: fc:gradient -> fc:bias:gradient_narrow",
                  "fc:backward_filter: relu_conv fc:gradient -> fc:weight:gradient_narrow",
                  "fc:backward_data: fc:weight_narrow fc:gradient -> relu_conv:gradient",
                  "fc:weight:gradient:cast: fc:weight:gradient_narrow -> fc:weight:gradient",
                  "fc:bias:gradient:cast: fc:bias:gradient_narrow -> fc:bias:gradient",
                  "relu_conv:backward: relu_conv relu_conv:gradient -> bn_conv:gradient",
                  "bn_conv:backward: conv bn_conv:gradient bn_conv:scale bn_conv:mean bn_conv:inverse_deviation -> "
                  "conv:gradient bn_conv:scale:gradient bn_conv:shift:gradient",
                  "conv:backward_filter: conv.cast conv:gradient -> conv:weight:gradient_narrow",
                  "conv:weight:gradient:cast: conv:weight:gradient_narrow -> conv:weight:gradient",
                  "conv:weight:update: conv:weight:gradient conv:weight conv:weight:momentum -> conv:weight "
                  "conv:weight:momentum",
                  "bn_conv:scale:update: bn_conv:scale:gradient bn_conv:scale bn_conv:scale:momentum -> bn_conv:scale "
                  "bn_conv:scale:momentum",
                  "bn_conv:shift:update: bn_conv:shift:gradient bn_conv:shift bn_conv:shift:momentum -> bn_conv:shift "
                  "bn_conv:shift:momentum",
                  "fc:weight:update: fc:weight:gradient fc:weight fc:weight:momentum -> fc:weight fc:weight:momentum",
                  "fc:bias:update: fc:bias:gradient fc:bias fc:bias:momentum -> fc:bias fc:bias:momentum"});
}

// The image has 2 x 64 elements, the weight of the linear layer 192.
TEST_CASE("types and bytes under autocast") {
  const TrainingStep step = StepIn("amp-fp16", NormChainNetwork());
  CHECK(TensorCalled(step, "input").bytes == 512);
  CHECK(TensorCalled(step, "conv.cast").bytes == 256);
  CHECK(TensorCalled(step, "bn_conv").bytes == 256);
  CHECK(TensorCalled(step, "bn_conv:mean").bytes == 16);
  CHECK(TensorCalled(step, "fc:weight").bytes == 768);
  CHECK(TensorCalled(step, "fc:weight_narrow").bytes == 384);
  CHECK(TensorCalled(step, "fc:weight:gradient_narrow").bytes == 384);
  CHECK(TensorCalled(step, "fc:weight:gradient").bytes == 768);
  CHECK(TensorCalled(step, "fc:weight:momentum").type == DataType::kFp32);
  CHECK(TensorCalled(step, "fc:gradient").type == DataType::kFp16);
  CHECK(TensorCalled(step, "loss.cast:gradient").type == DataType::kFp32);
  CHECK(OpCalled(step, "conv:forward").math == MathMode::kFp16);
  CHECK(OpCalled(step, "bn_conv:forward").type == DataType::kFp16);
  CHECK(OpCalled(step, "loss:forward").type == DataType::kFp32);
  CHECK(OpCalled(step, "loss:forward").math == MathMode::kFp32);
  CHECK(OpCalled(step, "fc:weight:update").type == DataType::kFp32);
  // A cast reads 4 bytes an element and writes 2, or the other way round.
  CHECK(OpCalled(step, "conv.cast:forward").work.bytes == 6 * 128.0);
  CHECK(OpCalled(step, "fc:weight:gradient:cast").work.bytes == 6 * 192.0);
}

// 219 parameters.
TEST_CASE("only a scaled loss has a pass over the gradients") {
  CHECK_FALSE(HasOp(StepIn("amp-bf16", NormChainNetwork()), "gradients:unscale"));
  const TrainingStep step = StepIn("amp-fp16", NormChainNetwork());
  const Op& op = OpCalled(step, "gradients:unscale");
  CHECK(op.reads == op.writes);
  CHECK(op.reads.size() == 5);
  CHECK(op.work.bytes == 2 * 4 * 219.0);
  // Once for all parts of a batch.
  CHECK(OpLines(Accumulated(step, 2).step, 0, "gradients:unscale").size() == 1);
}

TEST_CASE("fp32 is the step as it is, tf32 differs in arithmetic, bf16 halves every float") {
  const Network network = BuildZooNetwork("resnet18", {.batch = 2});
  const TrainingStep plain = BuildTrainingStep(network);
  CHECK(DumpStep(StepIn("fp32", network)) == DumpStep(plain));
  const TrainingStep tf32 = StepIn("tf32", network), bf16 = StepIn("bf16", network);
  REQUIRE(tf32.tensors.size() == plain.tensors.size());
  REQUIRE(bf16.tensors.size() == plain.tensors.size());
  for (std::size_t t = 0; t < plain.tensors.size(); ++t) {
    CHECK(tf32.tensors[t].bytes == plain.tensors[t].bytes);
    const bool statistics = plain.tensors[t].use == TensorClass::kAuxiliary && bf16.tensors[t].type == DataType::kFp32;
    CHECK(bf16.tensors[t].bytes * (statistics ? 1 : 2) == plain.tensors[t].bytes);
  }
  for (const Op& op : tf32.ops) CHECK(op.math == MathMode::kTf32);
}

// Of a sum of a narrow and a wide operand the narrow one is cast.
TEST_CASE("the widest of several inputs decides") {
  const Network network = ReadNetworkText(
      "name: n\ninput: {channels: 4, image: 8}\nlayers:\n"
      "  - {name: conv, kind: convolution, out: 4, window: 1}\n"
      "  - {name: sum, kind: add, from: [conv, input]}\n"
      "  - {name: fc, kind: linear, out: 3}\n"
      "  - {name: loss, kind: softmax_loss}\n");
  const TrainingStep step = StepIn("amp-bf16", network);
  CHECK(TensorCalled(step, "sum.cast").type == DataType::kFp32);
  CHECK(TensorCalled(step, "sum").type == DataType::kFp32);
  CHECK(TensorCalled(step, "fc.cast").type == DataType::kBf16);
}

// A layer whose size alone is taken is not read: no cast, and no say in the type.
TEST_CASE("an input of which only the size is taken is not cast") {
  const Network network = ReadNetworkText(
      "name: n\ninput: {channels: 4, image: 8}\nlayers:\n"
      "  - {name: c1, kind: convolution, out: 4, window: 1}\n"
      "  - {name: n, kind: group_norm, groups: 2}\n"
      "  - {name: c2, kind: convolution, from: input, out: 4, window: 1}\n"
      "  - {name: r, kind: resize, from: [n, c2]}\n"
      "  - {name: d, kind: resize, from: [c2, input]}\n"
      "  - {name: s, kind: add, from: [r, c2, d]}\n"
      "  - {name: fc, kind: linear, out: 3}\n"
      "  - {name: loss, kind: softmax_loss}\n");
  const TrainingStep step = StepIn("amp-fp16", network);
  CHECK_FALSE(HasOp(step, "r.cast:forward"));
  CHECK(TensorCalled(step, "r").type == DataType::kFp32);
  CHECK(TensorCalled(step, "d").type == DataType::kFp16);
}

// Each part casts its parameters and widens its own gradients; the sums are wide.
TEST_CASE("autocast in two parts adds wide gradients") {
  const TrainingStep two = Accumulated(StepIn("amp-bf16", NormChainNetwork()), 2).step;
  CHECK(OpLines(two, 0, "fc:weight:cast") == StepLines{"fc:weight:cast: fc:weight -> fc:weight_narrow",
                                                       "fc:weight:cast:part2: fc:weight -> fc:weight_narrow:part2"});
  CHECK(OpLines(two, 0, "fc:weight:gradient:cast:part2") ==
        StepLines{"fc:weight:gradient:cast:part2: fc:weight:gradient_narrow:part2 fc:weight:gradient -> "
                  "fc:weight:gradient +"});
  CHECK(OpLines(two, 0, "fc:backward_filter:part2") ==
        StepLines{"fc:backward_filter:part2: relu_conv:part2 fc:gradient:part2 -> fc:weight:gradient_narrow:part2"});
}

// Saved under autocast to bf16 by PyTorch 2.15 on a CPU, per image of two: what its hooks count, copies of weights among
// it. Up to 0.03 MB and two tensors are the loss, which a CPU computes in both types, and the first convolution's weight.
// saved_autocast_test has networks of which more is accounted for.
TEST_CASE("bytes saved under autocast") {
  struct Row {
    const char* network;
    double megabytes;
    std::size_t tensors;
  };
  for (const Row& row :
       {Row{"resnet50-v1.5", 69.32, 269}, Row{"convnext-t", 84.18, 243}, Row{"mobilenet-v2", 42.61, 301},
        Row{"mobilenet-v3-large", 27.54, 315}, Row{"efficientnet-b0", 49.38, 405}, Row{"regnety-3.2g", 69.29, 468},
        Row{"densenet121", 73.97, 614}}) {
    const Network network = In("amp-bf16", BuildZooNetwork(row.network, {.batch = 2}));
    const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
    INFO(row.network << " " << SavedTensorsOf(step).size());
    CHECK(static_cast<double>(SavedBytes(step) - WideOnGpuAlone(step)) / 2e6 ==
          Catch::Detail::Approx(row.megabytes).margin(0.03));
    CHECK(SavedTensorsOf(step).size() + 2 == row.tensors);
  }
}

// PyTorch gathers the table in fp32 and promotes the sum with narrow scores.
TEST_CASE("autocast leaves a table of distances wide, and its gradient") {
  const TrainingStep step = StepIn("amp-bf16", BuildZooNetwork("swin-t", {.batch = 1}));
  const auto named = [&](const std::string& name) {
    return std::find_if(step.ops.begin(), step.ops.end(), [&](const Op& op) { return op.name == name; });
  };
  const auto forward = named("stage1_1_attention:bias"), back = named("stage1_1_attention:backward_bias");
  REQUIRE((forward != step.ops.end() && back != step.ops.end()));
  const auto tensor = [&](TensorId t) { return step.tensors[static_cast<std::size_t>(t)]; };
  CHECK(tensor(forward->reads[0]).type == DataType::kBf16);
  CHECK(tensor(forward->reads[1]).name == "stage1_1_attention:relative");
  CHECK(tensor(forward->reads[1]).type == DataType::kFp32);
  CHECK(tensor(back->writes[0]).use == TensorClass::kParameterGradient);
  CHECK(tensor(back->writes[0]).type == DataType::kFp32);
  for (const Tensor& one : step.tensors) CHECK_FALSE(one.name.find("relative_narrow") != std::string::npos);
  CHECK(TensorCalled(step, "stage1_1_qkv:weight_narrow").type == DataType::kBf16);
}

TEST_CASE("a network file names its precision") {
  const std::string layers = "layers:\n  - {name: fc, kind: linear, out: 3}\n  - {name: loss, kind: softmax_loss}\n";
  const Network network = ReadNetworkText("name: n\ninput: {channels: 4, image: 8}\nprecision: amp-fp16\n" + layers);
  CHECK(network.precision == &PrecisionByName("amp-fp16"));
  CHECK(network.layers.size() == 4);  // two casts
  const auto wrong = [&] {
    ReadNetworkText("name: n\ninput: {channels: 4, image: 8}\nprecision: amp-fp61\n" + layers);
  };
  CHECK_THAT(ErrorOf(wrong), Contains("net.yaml:3:12: error: precision: unknown value 'amp-fp61'") &&
                                 Contains("did you mean 'amp-fp16'?"));
  const auto cast = [&] {
    ReadNetworkText("name: n\ninput: {channels: 4, image: 8}\nlayers:\n  - {name: c, kind: cast}\n");
  };
  CHECK_THAT(ErrorOf(cast), Contains("unknown layer kind 'cast'"));
}

}  // namespace spillway
