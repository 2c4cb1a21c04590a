// Steps of small networks, op by op. What gradients add up to is checked in step_gradients_test.cc.
#include "model/step/training_step.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/network/network_builder.h"

namespace spillway {
namespace {

constexpr Shape kImage{.n = 2, .c = 4, .h = 4, .w = 4};

std::vector<std::string> Names(const TrainingStep& step, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (const TensorId id : ids) names.push_back(step.tensors[static_cast<std::size_t>(id)].name);
  return names;
}

// "name: reads -> writes" of the ops from `first` on whose name contains `part`.
std::vector<std::string> Ops(const TrainingStep& step, OpId first, const std::string& part = "") {
  std::vector<std::string> lines;
  for (std::size_t i = static_cast<std::size_t>(first); i < step.ops.size(); ++i) {
    const Op& op = step.ops[i];
    if (op.name.find(part) == std::string::npos) continue;
    std::string line = op.name + ":";
    for (const std::string& name : Names(step, op.reads)) line += " " + name;
    line += " ->";
    for (const std::string& name : Names(step, op.writes)) line += " " + name;
    lines.push_back(line + (op.accumulate ? " +" : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

const Op& Find(const TrainingStep& step, const std::string& name) {
  for (const Op& op : step.ops) {
    if (op.name == name) return op;
  }
  FAIL("no op " << name);
  return step.ops[0];
}

bool Has(const TrainingStep& step, const std::string& name) {
  return std::any_of(step.ops.begin(), step.ops.end(), [&](const Op& op) { return op.name == name; });
}

Network End(NetworkBuilder& b, LayerId from) { return b.Loss(b.Linear("fc", from, 3)); }

StepOptions Options(bool StepOptions::*flag, bool value = true) {
  StepOptions options;
  options.*flag = value;
  return options;
}

// conv -> bn -> relu -> fc
Network NormChain() {
  NetworkBuilder b("chain", kImage);
  return End(b, b.ConvolutionNormRelu("conv", kNetworkInput, Square(4, 1)));
}

}  // namespace

TEST_CASE("a step as text") {
  NetworkBuilder b("small", {.n = 2, .c = 1, .h = 2, .w = 2});
  const LayerId conv = b.ConvolutionRelu("conv", kNetworkInput, Square(1, 1));
  LayerAttributes features;
  features.out_channels = 3;
  const TrainingStep step = BuildTrainingStep(b.Loss(b.Add("fc", "linear", {conv}, features)));
  // Images of 4 pixels, 2 of them: 8 elements, 32 bytes; fc: 3 x 4 weights.
  CHECK(DumpStep(step) ==
        "step small batch 2\n"
        "tensors 17\n"
        "0 input input 2x1x2x2 fp32 nchw 32\n"
        "1 conv:weight parameter 1x1x1x1 fp32 nchw 4\n"
        "2 conv:weight:momentum optimizer_state 1x1x1x1 fp32 nchw 4\n"
        "3 conv:bias parameter 1x1x1x1 fp32 nchw 4\n"
        "4 conv:bias:momentum optimizer_state 1x1x1x1 fp32 nchw 4\n"
        "5 conv transient 2x1x2x2 fp32 nchw 32\n"
        "6 relu_conv feature_map 2x1x2x2 fp32 nchw 32\n"
        "7 fc:weight parameter 3x4x1x1 fp32 nchw 48\n"
        "8 fc:weight:momentum optimizer_state 3x4x1x1 fp32 nchw 48\n"
        "9 fc transient 2x3x1x1 fp32 nchw 24\n"
        "10 loss auxiliary 2x3x1x1 fp32 nchw 24\n"
        "11 fc:gradient gradient 2x3x1x1 fp32 nchw 24\n"
        "12 fc:weight:gradient parameter_gradient 3x4x1x1 fp32 nchw 48\n"
        "13 relu_conv:gradient gradient 2x1x2x2 fp32 nchw 32\n"
        "14 conv:gradient gradient 2x1x2x2 fp32 nchw 32\n"
        "15 conv:bias:gradient parameter_gradient 1x1x1x1 fp32 nchw 4\n"
        "16 conv:weight:gradient parameter_gradient 1x1x1x1 fp32 nchw 4\n"
        "ops 14 first_backward 5 first_update 11\n"
        "0 conv:forward [convolution forward] reads input conv:weight writes conv flops 16 bytes 68\n"
        "1 conv:bias [bias forward] reads conv conv:bias writes conv flops 8 bytes 68\n"
        "2 relu_conv:forward [relu forward] reads conv writes relu_conv flops 8 bytes 64\n"
        "3 fc:forward [linear forward] reads relu_conv fc:weight writes fc flops 48 bytes 104\n"
        "4 loss:forward [softmax_loss forward] reads fc writes loss flops 24 bytes 48\n"
        "5 loss:backward [softmax_loss backward] reads loss writes fc:gradient flops 12 bytes 48\n"
        "6 fc:backward_filter [linear backward_filter] reads relu_conv fc:gradient writes fc:weight:gradient"
        " flops 48 bytes 104\n"
        "7 fc:backward_data [linear backward_data] reads fc:weight fc:gradient writes relu_conv:gradient"
        " flops 48 bytes 104\n"
        "8 relu_conv:backward [relu backward] reads relu_conv relu_conv:gradient writes conv:gradient"
        " flops 8 bytes 96\n"
        "9 conv:backward_bias [bias backward_bias] reads conv:gradient writes conv:bias:gradient flops 8 bytes 36\n"
        "10 conv:backward_filter [convolution backward_filter] reads input conv:gradient writes conv:weight:gradient"
        " flops 16 bytes 68\n"
        "11 conv:weight:update [update update] reads conv:weight:gradient conv:weight conv:weight:momentum"
        " writes conv:weight conv:weight:momentum flops 4 bytes 20\n"
        "12 conv:bias:update [update update] reads conv:bias:gradient conv:bias conv:bias:momentum"
        " writes conv:bias conv:bias:momentum flops 4 bytes 20\n"
        "13 fc:weight:update [update update] reads fc:weight:gradient fc:weight fc:weight:momentum"
        " writes fc:weight fc:weight:momentum flops 48 bytes 240\n"
        "maps 2 bytes 64: input relu_conv\n");
}

TEST_CASE("maps come by first writer, the input first") {
  const TrainingStep step = BuildTrainingStep(NormChain());
  CHECK(Names(step, step.maps) == Lines{"input", "conv", "relu_conv"});
  // input, conv and relu_conv: 2 x 4 x 4 x 4 elements of 4 bytes each
  CHECK(step.MapBytes() == 3 * 512);
  CHECK(step.BytesOf(TensorClass::kFeatureMap) == 2 * 512);
  CHECK(step.BytesOf(TensorClass::kTransient) == 512 + 24);  // bn_conv, fc
  // weight 16, scale and shift 8, fc 3 x 64 + 3: 219 elements
  CHECK(step.BytesOf(TensorClass::kParameter) == 4 * 219);
  CHECK(step.BytesOf(TensorClass::kParameterGradient) == 4 * 219);
  CHECK(step.BytesOf(TensorClass::kOptimizerState) == 4 * 219);
}

TEST_CASE("an image that backward does not read is no map") {
  NetworkBuilder b("pooled", kImage);
  const TrainingStep step = BuildTrainingStep(End(b, b.AveragePool("pool", kNetworkInput, Square(0, 2, 2))));
  CHECK(Names(step, step.maps) == Lines{"pool"});
  // Nothing before fc has parameters, so no gradient goes further.
  CHECK(Ops(step, step.first_backward, ":backward") ==
        Lines{"loss:backward: loss -> fc:gradient", "fc:backward_bias: fc:gradient -> fc:bias:gradient",
              "fc:backward_filter: pool fc:gradient -> fc:weight:gradient"});
}

TEST_CASE("batch norm right on the images computes its own gradients only") {
  NetworkBuilder b("norm first", kImage);
  const TrainingStep step = BuildTrainingStep(End(b, b.BatchNorm("bn", kNetworkInput)));
  CHECK(Names(step, Find(step, "bn:backward").writes) == Lines{"bn:scale:gradient", "bn:shift:gradient"});
}

TEST_CASE("ops with a memory are marked") {
  NetworkBuilder b("memory", kImage);
  const LayerId x = b.ConvolutionNormRelu("conv", kNetworkInput, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(End(b, b.Dropout("drop", x, 0.5)));
  Lines marked;
  for (const Op& op : step.ops) {
    if (op.side_effect) marked.push_back(op.name);
  }
  CHECK(marked == Lines{"bn_conv:forward", "drop:forward"});
}

TEST_CASE("residual block with identity: the shared gradient is added to in place") {
  NetworkBuilder b("identity", kImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.ConvolutionNormRelu("b", x, Square(4, 1), false);
  const TrainingStep step = BuildTrainingStep(End(b, b.AddUp("sum", {y, x})));
  // bn_b has read sum:gradient when b adds to it; so no copy.
  CHECK(Ops(step, step.first_backward, "_b:backward") ==
        Lines{"bn_b:backward: b sum:gradient bn_b:scale bn_b:mean bn_b:inverse_deviation -> b:gradient"
              " bn_b:scale:gradient bn_b:shift:gradient"});
  CHECK(Ops(step, step.first_backward, "b:backward_data") ==
        Lines{"b:backward_data: b:weight b:gradient sum:gradient -> sum:gradient +"});
  CHECK(Ops(step, step.first_backward, "relu_a:backward") ==
        Lines{"relu_a:backward: relu_a sum:gradient -> bn_a:gradient"});
  CHECK_FALSE(Has(step, "relu_a:copy_gradient"));
}

TEST_CASE("residual block with projection: the second branch adds to what the first one wrote") {
  NetworkBuilder b("projection", kImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId main = b.Convolution("main", x, Square(8, 1));
  const LayerId side = b.Convolution("side", x, Square(8, 1));
  const TrainingStep step = BuildTrainingStep(End(b, b.AddUp("sum", {main, side})));
  CHECK(Ops(step, step.first_backward, ":backward_data") ==
        Lines{"fc:backward_data: fc:weight fc:gradient -> sum:gradient",
              "side:backward_data: side:weight sum:gradient -> relu_a:gradient",
              "main:backward_data: main:weight sum:gradient relu_a:gradient -> relu_a:gradient +"});
  CHECK(Find(step, "main:backward_data").accumulate);
  // 8 x 4 weights, 2 x 8 x 16 out, 2 x 4 x 16 in, and the in once more
  CHECK(Find(step, "main:backward_data").work.bytes == 4.0 * (32 + 256 + 128 + 128));
}

TEST_CASE("a shared gradient that others still need is copied before it is added to") {
  NetworkBuilder b("hazard", kImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", x, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(End(b, b.AddUp("sum", {y, x})));
  // b reads the gradient it would add to.
  CHECK(Ops(step, step.first_backward, "b:backward_filter") ==
        Lines{"b:backward_filter: relu_a sum:gradient -> b:weight:gradient"});
  CHECK(Ops(step, step.first_backward, "relu_a:") == Lines{"relu_a:copy_gradient: sum:gradient -> relu_a:gradient",
                                                           "relu_a:backward: relu_a relu_a:gradient -> bn_a:gradient"});
  CHECK(Ops(step, step.first_backward, "b:backward_data") ==
        Lines{"b:backward_data: b:weight sum:gradient relu_a:gradient -> relu_a:gradient +"});
  CHECK(Find(step, "relu_a:copy_gradient").kind == OpKind::kCopy);
}

TEST_CASE("an add of one tensor to itself doubles its gradient") {
  NetworkBuilder b("double", kImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(End(b, b.AddUp("sum", {x, x})));
  CHECK(Names(step, Find(step, "sum:forward").reads) == Lines{"a"});
  CHECK(Find(step, "sum:forward").shape.operands == 2);
  CHECK(Ops(step, step.first_backward, "a:add_gradient") == Lines{"a:add_gradient: sum:gradient -> a:gradient"});
}

TEST_CASE("forks with additions of their own") {
  NetworkBuilder b("separate", kImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", x, Square(4, 1));
  const Network network = End(b, b.AddUp("sum", {y, x}));
  const TrainingStep step = BuildTrainingStep(network, Options(&StepOptions::separate_accumulation));
  CHECK(Ops(step, step.first_backward, "b:backward_data") ==
        Lines{"b:backward_data: b:weight sum:gradient -> relu_a:gradient"});
  CHECK(Ops(step, step.first_backward, "add_gradient") ==
        Lines{"relu_a:add_gradient: sum:gradient relu_a:gradient -> relu_a:gradient2"});
  CHECK(Find(step, "relu_a:add_gradient").work.bytes == 3 * 512.0);  // two read, one written
  for (const Op& op : step.ops) CHECK_FALSE(op.accumulate);
}

TEST_CASE("concat hands out slices, one op for all that come first") {
  NetworkBuilder b("concat", kImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", x, Square(6, 1));
  const TrainingStep plain = BuildTrainingStep(End(b, b.Concat("cat", {y, x})));
  CHECK(Ops(plain, plain.first_backward, "cat:") == Lines{"cat:backward: cat:gradient -> b:gradient a:gradient"});
  CHECK(Find(plain, "cat:backward").shape.out.c == 10);
  CHECK(Find(plain, "cat:backward").shape.operands == 2);
}

TEST_CASE("a slice of concat for a gradient that is there already is added") {
  NetworkBuilder b("concat", kImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", kNetworkInput, Square(6, 1));
  const LayerId cat = b.Concat("cat", {y, x});
  const LayerId pooled = b.GlobalAveragePool("pooled", cat);
  // `late` is listed after cat, so its backward comes first.
  const LayerId late = b.GlobalAveragePool("pool_late", b.Convolution("late", x, Square(10, 1)));
  const TrainingStep step = BuildTrainingStep(End(b, b.AddUp("sum", {pooled, late})));
  CHECK(Ops(step, step.first_backward, "cat:backward") ==
        Lines{"cat:backward: cat:gradient -> b:gradient", "cat:backward1: cat:gradient a:gradient -> a:gradient +"});
  CHECK(Find(step, "cat:backward").work.bytes == 4.0 * 2 * 2 * 6 * 16);   // 6 channels read and written
  CHECK(Find(step, "cat:backward1").work.bytes == 4.0 * 3 * 2 * 4 * 16);  // 4 channels, and the destination read
}

TEST_CASE("in-place ReLU shares the tensor of a batch norm") {
  const TrainingStep step = BuildTrainingStep(NormChain(), Options(&StepOptions::inplace_relu));
  CHECK(Names(step, Find(step, "relu_conv:forward").writes) == Lines{"bn_conv"});
  CHECK(Names(step, Find(step, "relu_conv:backward").reads) == Lines{"bn_conv", "relu_conv:gradient"});
  CHECK(Names(step, step.maps) == Lines{"input", "conv", "bn_conv"});
  CHECK(step.BytesOf(TensorClass::kTransient) == 24);  // fc alone: one tensor less than out of place
}

TEST_CASE("ReLU keeps its hands off what others need") {
  const StepOptions inplace = Options(&StepOptions::inplace_relu);
  const auto writes = [&](NetworkBuilder& b, LayerId last) {
    const TrainingStep step = BuildTrainingStep(End(b, last), inplace);
    return Names(step, Find(step, "relu:forward").writes);
  };
  SECTION("max pooling reads its result in backward") {
    NetworkBuilder b("pool", kImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    CHECK(writes(b, b.Relu("relu", b.MaxPool("pool", x, Square(0, 2, 2)))) == Lines{"relu"});
  }
  SECTION("another layer reads the same input") {
    NetworkBuilder b("fork", kImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    CHECK(writes(b, b.AddUp("sum", {b.Relu("relu", x), x})) == Lines{"relu"});
  }
  SECTION("the images are the next epoch's too") {
    NetworkBuilder b("first", kImage);
    CHECK(writes(b, b.Convolution("a", b.Relu("relu", kNetworkInput), Square(4, 1))) == Lines{"relu"});
  }
  SECTION("average pooling needs nothing") {
    NetworkBuilder b("average", kImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    CHECK(writes(b, b.Relu("relu", b.AveragePool("pool", x, Square(0, 2, 2)))) == Lines{"pool"});
  }
}

TEST_CASE("add, ReLU and dropout in a row") {
  NetworkBuilder b("row", kImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId sum = b.AddUp("sum", {b.ConvolutionNormRelu("b", x, Square(4, 1), false), x});
  const Network network = End(b, b.Dropout("drop", b.Relu("relu", sum), 0.5));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch"));
  // The batch norm's tensor is written by bn_b, sum and relu; dropout must not spoil what relu's backward reads.
  CHECK(Names(step, Find(step, "sum:forward").writes) == Lines{"bn_b"});
  CHECK(Names(step, Find(step, "relu:forward").writes) == Lines{"bn_b"});
  CHECK(Names(step, Find(step, "drop:forward").writes) == Lines{"drop", "drop:mask"});
}

TEST_CASE("the gradient through a ReLU may overwrite the incoming one") {
  const TrainingStep step = BuildTrainingStep(NormChain(), Options(&StepOptions::inplace_gradient));
  CHECK(Ops(step, step.first_backward, "relu_conv:backward") ==
        Lines{"relu_conv:backward: relu_conv relu_conv:gradient -> relu_conv:gradient"});
  CHECK(Names(step, Find(step, "bn_conv:backward").reads)[1] == "relu_conv:gradient");
}

TEST_CASE("a gradient that is shared is not overwritten") {
  NetworkBuilder b("shared", kImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", kNetworkInput, Square(4, 1));
  const Network network = End(b, b.AddUp("sum", {x, b.Relu("relu", y)}));
  const TrainingStep step = BuildTrainingStep(network, Options(&StepOptions::inplace_gradient));
  CHECK(Ops(step, step.first_backward, "relu:backward") == Lines{"relu:backward: relu sum:gradient -> b:gradient"});
}

TEST_CASE("both orders within a convolution's backward") {
  const auto order = [](const StepOptions& options) {
    NetworkBuilder b("two", kImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    const TrainingStep step = BuildTrainingStep(End(b, b.Convolution("b", x, WithBias(Square(4, 1)))), options);
    Lines passes;
    for (const Op& op : step.ops) {
      if (op.layer == 1 && op.pass != Pass::kForward && op.pass != Pass::kUpdate)
        passes.emplace_back(PassName(op.pass));
    }
    return passes;
  };
  CHECK(order({}) == Lines{"backward_bias", "backward_filter", "backward_data"});
  CHECK(order(StepOptionsByName("chainer")) == Lines{"backward_data", "backward_filter", "backward_bias"});
}

TEST_CASE("updates at the end or at once") {
  const TrainingStep end = BuildTrainingStep(NormChain());
  CHECK(end.ops[static_cast<std::size_t>(end.first_update)].name == "conv:weight:update");
  for (std::size_t i = static_cast<std::size_t>(end.first_update); i < end.ops.size(); ++i) {
    CHECK(end.ops[i].kind == OpKind::kUpdate);
  }
  const TrainingStep once = BuildTrainingStep(NormChain(), Options(&StepOptions::update_at_once));
  CHECK(once.first_update == static_cast<OpId>(once.ops.size()));
  CHECK(once.ops.size() == end.ops.size());
  // fc: all its backward ops read the weights before they change.
  Lines fc;
  for (std::size_t i = static_cast<std::size_t>(once.first_backward); i < once.ops.size(); ++i) {
    if (once.ops[i].name.compare(0, 3, "fc:") == 0) fc.push_back(once.ops[i].name);
  }
  CHECK(fc ==
        Lines{"fc:backward_bias", "fc:backward_filter", "fc:backward_data", "fc:weight:update", "fc:bias:update"});
}

TEST_CASE("SGD without momentum keeps no state") {
  const TrainingStep step = BuildTrainingStep(NormChain(), Options(&StepOptions::momentum, false));
  CHECK(step.BytesOf(TensorClass::kOptimizerState) == 0);
  CHECK(Ops(step, step.first_update, "conv:weight") ==
        Lines{"conv:weight:update: conv:weight:gradient conv:weight -> conv:weight"});
}

TEST_CASE("inference is the forward half, with nothing saved") {
  NetworkBuilder b("inference", kImage);
  const LayerId x = b.ConvolutionNormRelu("conv", kNetworkInput, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(End(b, b.Dropout("drop", x, 0.5)), Options(&StepOptions::inference));
  CHECK(step.inference);
  CHECK(step.maps.empty());
  CHECK(step.first_backward == static_cast<OpId>(step.ops.size()));
  CHECK(step.first_update == static_cast<OpId>(step.ops.size()));
  // Dropout is the identity; batch norm reads its input once, writes no statistics and changes nothing.
  CHECK(Ops(step, 0) == Lines{"conv:forward: input conv:weight -> conv",
                              "bn_conv:forward: conv bn_conv:scale bn_conv:shift -> bn_conv",
                              "relu_conv:forward: bn_conv -> relu_conv", "fc:forward: relu_conv fc:weight -> fc",
                              "fc:bias: fc fc:bias -> fc", "loss:forward: fc -> loss"});
  CHECK(Find(step, "bn_conv:forward").work.bytes == 2 * 512.0 + 4 * 16);
  CHECK_FALSE(Find(step, "bn_conv:forward").side_effect);
  for (const TensorClass use : {TensorClass::kGradient, TensorClass::kParameterGradient, TensorClass::kOptimizerState,
                                TensorClass::kFeatureMap}) {
    CHECK(step.BytesOf(use) == 0);
  }
}

TEST_CASE("types and layouts reach tensors and ops") {
  Network network = NormChain();
  network.type = DataType::kFp16;
  network.layout = Layout::kNhwc;
  network.math = MathMode::kFp16;
  const TrainingStep step = BuildTrainingStep(network);
  CHECK(step.tensors[0].bytes == 256);  // 128 elements of 2 bytes
  for (const Op& op : step.ops) {
    CHECK((op.type == DataType::kFp16 && op.layout == Layout::kNhwc && op.math == MathMode::kFp16));
  }
  // Statistics stay in single precision.
  for (const Tensor& t : step.tensors) {
    if (t.name == "bn_conv:mean") CHECK((t.type == DataType::kFp32 && t.bytes == 16));
  }
}

TEST_CASE("option sets by name") {
  CHECK(StepOptionTable().size() == 3);
  CHECK(std::string(StepOptionsByName("plain").name) == "plain");
  CHECK_FALSE(StepOptionsByName("chainer").inplace_relu);
  CHECK(StepOptionsByName("torch").inplace_relu);
  CHECK_THROWS_WITH(StepOptionsByName("chianer"), "unknown step options 'chianer'; did you mean 'chainer'?");
}

TEST_CASE("names of ops and passes are the ones cost laws use") {
  CHECK(std::string(OpKindName(OpKind::kBatchNorm)) == "batch_norm");
  CHECK(std::string(OpKindName(OpKind::kAveragePool)) == "average_pool");
  CHECK(std::string(OpKindName(OpKind::kSoftmaxLoss)) == "softmax_loss");
  CHECK(std::string(PassName(Pass::kBackwardFilter)) == "backward_filter");
  CHECK(std::string(PassName(Pass::kUpdate)) == "update");
}

TEST_CASE("ResNet-50 in the two frameworks") {
  const Network network = BuildZooNetwork("resnet50", {});
  const TrainingStep chainer = BuildTrainingStep(network, StepOptionsByName("chainer"));
  const TrainingStep torch = BuildTrainingStep(network, StepOptionsByName("torch"));
  CHECK(chainer.maps.size() == 105);
  CHECK(torch.maps.size() == 105);
  CHECK(chainer.MapBytes() == torch.MapBytes());
  // All but the batch norms of the four projections and fc are overwritten by what follows: left are
  // 256 x 56 x 56 + 512 x 28 x 28 + 1024 x 14 x 14 + 2048 x 7 x 7 + 1000 elements.
  CHECK(torch.BytesOf(TensorClass::kTransient) == 4 * (802816 + 401408 + 200704 + 100352 + 1000));
  CHECK(chainer.BytesOf(TensorClass::kTransient) > 40000000);
}

}  // namespace spillway
