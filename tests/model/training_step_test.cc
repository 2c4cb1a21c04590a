// Steps of small networks, op by op. Gradients at forks and what overwrites what: step_sharing_test.cc; what gradients
// add up to: step_gradients_test.cc.
#include "model/step/training_step.h"

#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"
#include "tests/model/step_lines.h"

namespace spillway {

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
  const TrainingStep step = BuildTrainingStep(NormChainNetwork());
  CHECK(TensorNames(step, step.maps) == StepLines{"input", "conv", "relu_conv"});
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
  NetworkBuilder b("pooled", kSmallImage);
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.AveragePool("pool", kNetworkInput, Square(0, 2, 2))));
  CHECK(TensorNames(step, step.maps) == StepLines{"pool"});
  // Nothing before fc has parameters, so no gradient goes further.
  CHECK(OpLines(step, step.first_backward, ":backward") ==
        StepLines{"loss:backward: loss -> fc:gradient", "fc:backward_bias: fc:gradient -> fc:bias:gradient",
                  "fc:backward_filter: pool fc:gradient -> fc:weight:gradient"});
}

TEST_CASE("batch norm right on the images computes its own gradients only") {
  NetworkBuilder b("norm first", kSmallImage);
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.BatchNorm("bn", kNetworkInput)));
  CHECK(TensorNames(step, OpCalled(step, "bn:backward").writes) == StepLines{"bn:scale:gradient", "bn:shift:gradient"});
}

TEST_CASE("ops with a memory are marked") {
  NetworkBuilder b("memory", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("conv", kNetworkInput, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.Dropout("drop", x, 0.5)));
  StepLines marked;
  for (const Op& op : step.ops) {
    if (op.side_effect) marked.push_back(op.name);
  }
  CHECK(marked == StepLines{"bn_conv:forward", "drop:forward"});
}

TEST_CASE("both orders within a convolution's backward") {
  const auto order = [](const StepOptions& options) {
    NetworkBuilder b("two", kSmallImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    const TrainingStep step = BuildTrainingStep(WithLoss(b, b.Convolution("b", x, WithBias(Square(4, 1)))), options);
    StepLines passes;
    for (const Op& op : step.ops) {
      if (op.layer == 1 && op.pass != Pass::kForward && op.pass != Pass::kUpdate)
        passes.emplace_back(PassName(op.pass));
    }
    return passes;
  };
  CHECK(order({}) == StepLines{"backward_bias", "backward_filter", "backward_data"});
  CHECK(order(StepOptionsByName("chainer")) == StepLines{"backward_data", "backward_filter", "backward_bias"});
}

TEST_CASE("updates at the end or at once") {
  const TrainingStep end = BuildTrainingStep(NormChainNetwork());
  CHECK(end.ops[static_cast<std::size_t>(end.first_update)].name == "conv:weight:update");
  for (std::size_t i = static_cast<std::size_t>(end.first_update); i < end.ops.size(); ++i) {
    CHECK(end.ops[i].kind == OpKind::kUpdate);
  }
  const TrainingStep once = BuildTrainingStep(NormChainNetwork(), OptionsWith(&StepOptions::update_at_once));
  CHECK(once.first_update == static_cast<OpId>(once.ops.size()));
  CHECK(once.ops.size() == end.ops.size());
  // fc: all its backward ops read the weights before they change.
  StepLines fc;
  for (std::size_t i = static_cast<std::size_t>(once.first_backward); i < once.ops.size(); ++i) {
    if (once.ops[i].name.compare(0, 3, "fc:") == 0) fc.push_back(once.ops[i].name);
  }
  CHECK(fc ==
        StepLines{"fc:backward_bias", "fc:backward_filter", "fc:backward_data", "fc:weight:update", "fc:bias:update"});
}

TEST_CASE("SGD without momentum keeps no state") {
  StepOptions options;
  options.optimizer = &kSgd;
  const TrainingStep step = BuildTrainingStep(NormChainNetwork(), options);
  CHECK(step.BytesOf(TensorClass::kOptimizerState) == 0);
  CHECK(OpLines(step, step.first_update, "conv:weight") ==
        StepLines{"conv:weight:update: conv:weight:gradient conv:weight -> conv:weight"});
}

TEST_CASE("inference is the forward half, with nothing saved") {
  NetworkBuilder b("inference", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("conv", kNetworkInput, Square(4, 1));
  const TrainingStep step =
      BuildTrainingStep(WithLoss(b, b.Dropout("drop", x, 0.5)), OptionsWith(&StepOptions::inference));
  CHECK(step.inference);
  CHECK(step.maps.empty());
  CHECK(step.first_backward == static_cast<OpId>(step.ops.size()));
  CHECK(step.first_update == static_cast<OpId>(step.ops.size()));
  // Dropout is the identity; batch norm reads its input once, writes no statistics and changes nothing.
  CHECK(OpLines(step, 0) == StepLines{"conv:forward: input conv:weight -> conv",
                                      "bn_conv:forward: conv bn_conv:scale bn_conv:shift -> bn_conv",
                                      "relu_conv:forward: bn_conv -> relu_conv",
                                      "fc:forward: relu_conv fc:weight -> fc", "fc:bias: fc fc:bias -> fc",
                                      "loss:forward: fc -> loss"});
  CHECK(OpCalled(step, "bn_conv:forward").work.bytes == 2 * 512.0 + 4 * 16);
  CHECK_FALSE(OpCalled(step, "bn_conv:forward").side_effect);
  for (const TensorClass use : {TensorClass::kGradient, TensorClass::kParameterGradient, TensorClass::kOptimizerState,
                                TensorClass::kFeatureMap}) {
    CHECK(step.BytesOf(use) == 0);
  }
}

TEST_CASE("types and layouts reach tensors and ops") {
  Network network = NormChainNetwork();
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
  CHECK(StepOptionTable().size() == 9);
  for (const StepOptions& options : StepOptionTable()) {
    // What waits has a host's time, and what is assumed of it is said.
    if (options.waits_for_calls) CHECK((options.framework_time > 0 && *options.assumed_of_host != '\0'));
  }
  CHECK(std::string(StepOptionsByName("plain").name) == "plain");
  CHECK_FALSE(StepOptionsByName("chainer").inplace_relu);
  CHECK(StepOptionsByName("torch").inplace_relu);
  CHECK(StepOptionsByName("inference").inference);
  CHECK_THROWS_WITH(StepOptionsByName("chianer"), "unknown step options 'chianer'; did you mean 'chainer'?");
}

// At the backward pass of conv1_2's ReLU vDNN has one gradient of 64 x 224 x 224 a sample less than Torch.
TEST_CASE("gradients through ReLU are in place in vDNN, and weights have no momentum") {
  const Network network = BuildZooNetwork("vgg16", {.batch = 4});
  const TrainingStep torch = BuildTrainingStep(network, StepOptionsByName("torch"));
  const TrainingStep vdnn = BuildTrainingStep(network, StepOptionsByName("vdnn"));
  CHECK(vdnn.MapBytes() == torch.MapBytes());
  CHECK(vdnn.BytesOf(TensorClass::kOptimizerState) == 0);
  CHECK(torch.BytesOf(TensorClass::kOptimizerState) == torch.BytesOf(TensorClass::kParameter));
  Bytes in_place = 0;
  for (const Op& op : vdnn.ops) {
    if ((op.kind != OpKind::kRelu && op.kind != OpKind::kDropout) || op.pass != Pass::kBackward) continue;
    REQUIRE(op.writes.size() == 1);
    CHECK(std::count(op.reads.begin(), op.reads.end(), op.writes[0]) == 1);
    in_place += vdnn.tensors[static_cast<std::size_t>(op.writes[0])].bytes;
  }
  CHECK(in_place > 4 * 2 * Bytes{4} * 64 * 224 * 224);
  CHECK(vdnn.BytesOf(TensorClass::kGradient) + in_place == torch.BytesOf(TensorClass::kGradient));
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
