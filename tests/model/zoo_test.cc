#include "model/zoo/zoo.h"

#include <catch2/catch.hpp>
#include <set>

#include "model/network/layer_kind.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"

namespace spillway {
namespace {

std::int64_t Parameters(const std::string& name) { return CountParameters(BuildZooNetwork(name, {})); }

const Layer& Named(const Network& network, const std::string& name) {
  for (const Layer& layer : network.layers) {
    if (layer.name == name) return layer;
  }
  FAIL("no layer " << name);
  return network.layers[0];
}

std::int64_t CountKind(const Network& network, const std::string& kind) {
  std::int64_t count = 0;
  for (const Layer& layer : network.layers) count += layer.kind->name == kind ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("parameter counts are the published ones") {
  CHECK(Parameters("vgg16") == 138357544);
  CHECK(Parameters("resnet18") == 11689512);
  CHECK(Parameters("resnet34") == 21797672);
  CHECK(Parameters("resnet50") == 25557032);
  CHECK(Parameters("resnet101") == 44549160);
  CHECK(Parameters("resnet152") == 60192808);
  CHECK(Parameters("densenet121") == 7978856);
  CHECK(Parameters("densenet161") == 28681000);
  CHECK(Parameters("densenet169") == 14149480);
  CHECK(Parameters("densenet201") == 20013928);
  CHECK(Parameters("densenet264") == 33337704);
  CHECK(Parameters("squeezenet1-0") == 1248424);
  CHECK(Parameters("squeezenet1-1") == 1235496);
  CHECK(Parameters("darknet53") == 41609928);
  CHECK(Parameters("fcn-resnet50") == 35322218);
  CHECK(Parameters("unet-2d") == 31030658);
  CHECK(Parameters("nnunet-3d") == 31196399);
  CHECK(Parameters("inception-v4") == 42679816);
  CHECK(Parameters("googlenet") == 6998552);
  CHECK(Parameters("overfeat") == 145920872);  // "145 million" in the paper's table 3
}

TEST_CASE("parameter counts made by hand") {
  // conv1 96 x 363 + 96 = 34944, conv2 256 x 2400 + 256 = 614656, conv3 384 x 2304 + 384 = 885120,
  // conv4 384 x 3456 + 384 = 1327488, conv5 256 x 3456 + 256 = 884992, fc6 4096 x 9216 + 4096 = 37752832,
  // fc7 4096 x 4096 + 4096 = 16781312, fc8 1000 x 4096 + 1000 = 4097000
  CHECK(Parameters("alexnet") == 34944 + 614656 + 885120 + 1327488 + 884992 + 37752832 + 16781312 + 4097000);
  // BN-Inception is published with 11295240: it has a bias on each convolution, and a 1x1 convolution of 64 channels
  // before conv2 (64 x 64 weights, 64 biases, 128 of its batch norm) that Chainer's definition leaves out.
  const Network bn = BuildZooNetwork("googlenet-bn", {});
  std::int64_t channels = 0;
  for (const Layer& layer : bn.layers) channels += std::string(layer.kind->name) == "convolution" ? layer.shape.c : 0;
  CHECK(CountParameters(bn) + channels + 4096 + 64 + 128 == 11295240);
  // Every extra convolution of VGG-116 has 9 c c + c: 20 x (36928 + 147584 + 590080 + 2 x 2359808)
  CHECK(Parameters("vgg116") == 138357544 + 20 * (36928 + 147584 + 590080 + 2 * 2359808));
  CHECK(Parameters("vgg416") == 138357544 + 80 * (36928 + 147584 + 590080 + 2 * 2359808));
  // 269722 (He et al.: 0.27 M) and two projections: 16 x 32 + 64 and 32 x 64 + 128
  CHECK(Parameters("cifar-resnet20") == 269722 + 576 + 2176);
}

TEST_CASE("U-Nets have the published sizes") {
  const Network flat = BuildZooNetwork("unet-2d", {});
  CHECK(Named(flat, "encoder4_2").shape == Shape{.n = 1, .c = 1024, .h = 28, .w = 28});
  CHECK(Named(flat, "crop3").shape == Shape{.n = 1, .c = 512, .h = 56, .w = 56});
  CHECK(Named(flat, "decoder0_1").shape.h == 390);
  CHECK(Named(flat, "head").shape == Shape{.n = 1, .c = 2, .h = 388, .w = 388});
  const Network cube = BuildZooNetwork("nnunet-3d", {.batch = 2});
  CHECK(Named(cube, "encoder5_2").shape == Shape{.n = 2, .c = 320, .d = 4, .h = 4, .w = 4});
  CHECK(Named(cube, "head0").shape == Shape{.n = 2, .c = 3, .d = 128, .h = 128, .w = 128});
  // Weights 1, 1/2, 1/4, 1/8 and 0 of the five losses, in sum 1.
  for (int k = 0; k < 4; ++k) {
    CHECK(Named(cube, "loss" + std::to_string(k)).attributes.weight == Approx(1 / 1.875 / (1 << k)));
  }
  CHECK(Named(cube, "loss4").attributes.weight == 0);
  // The five heads' 32, 64, 128, 256 and 320 channels to 3 classes.
  std::int64_t heads = 0;
  for (const Layer& layer : cube.layers) {
    if (layer.name.starts_with("head")) {
      for (const ParameterShape& p : LayerParameters(cube, layer)) heads += p.shape.Elements();
    }
  }
  CHECK(heads == 2415);
  const Network five = BuildZooNetwork("nnunet-3d-5", {.image = 64});
  CHECK(Named(five, "encoder4_2").shape == Shape{.n = 1, .c = 320, .d = 4, .h = 4, .w = 4});
  CHECK(CountKind(five, "softmax_loss") == 4);
}

TEST_CASE("a dilated ResNet keeps an eighth of the image's side") {
  const Network network = BuildZooNetwork("fcn-resnet50", {});
  CHECK(Named(network, "res5_3_relu").shape == Shape{.n = 1, .c = 2048, .h = 65, .w = 65});
  CHECK(Named(network, "head_resized").shape == Shape{.n = 1, .c = 21, .h = 520, .w = 520});
  CHECK(Named(network, "res4_1_2").attributes.dilation[1] == 1);
  CHECK(Named(network, "res5_1_2").attributes.dilation[1] == 2);
  CHECK(Named(network, "res5_3_2").attributes.dilation[1] == 4);
}

TEST_CASE("depth counts convolutions and linear layers") {
  for (const int depth : {16, 116, 416}) {
    const Network network = BuildZooNetwork("vgg" + std::to_string(depth), {});
    CHECK(CountKind(network, "convolution") + CountKind(network, "linear") == depth);
  }
  for (const int depth : {50, 101, 152, 200, 1001}) {
    // Four projections are not counted.
    const Network network = BuildZooNetwork("resnet" + std::to_string(depth), {});
    CHECK(CountKind(network, "convolution") + CountKind(network, "linear") - 4 == depth);
  }
  CHECK(CountKind(BuildZooNetwork("densenet121", {}), "concat") == 58);
  CHECK(CountKind(BuildZooNetwork("googlenet", {}), "concat") == 9);
}

TEST_CASE("arbitrary ResNets agree with the table") {
  // Built by the rule for any depth, 50 blocks are 3 + 8 + 36 + 3.
  const Network network = BuildZooNetwork("resnet152", {});
  CHECK(Named(network, "res3h").shape == Shape{.n = 1, .c = 512, .h = 28, .w = 28});
  CHECK(Named(network, "res4_35").shape == Shape{.n = 1, .c = 1024, .h = 14, .w = 14});
  CHECK(Named(network, "res5c").shape == Shape{.n = 1, .c = 2048, .h = 7, .w = 7});
}

TEST_CASE("image sizes along the networks") {
  const auto height = [](const char* network, const char* layer) {
    return Named(BuildZooNetwork(network, {}), layer).shape.h;
  };
  CHECK(height("alexnet", "conv1") == 55);
  CHECK(height("alexnet", "pool5") == 6);
  CHECK(height("overfeat", "conv2") == 24);
  CHECK(height("googlenet", "pool1") == 56);
  CHECK(height("googlenet", "inception_5b") == 7);
  CHECK(height("googlenet-bn", "inception_4e") == 7);
  CHECK(height("inception-v4", "mixed_5a") == 35);
  CHECK(height("inception-v4", "reduction_a") == 17);
  CHECK(height("inception-v4", "reduction_b") == 8);
  CHECK(height("densenet121", "conv5_16") == 7);
  // The stride of a stage is in the first 1x1 convolution.
  CHECK(height("resnet50", "res3a_branch2a") == 28);
}

TEST_CASE("the sizes that are known from the literature") {
  const auto step = [](const char* name, const ZooOptions& options) {
    return BuildTrainingStep(BuildZooNetwork(name, options));
  };
  const auto gigabytes = [](Bytes bytes) { return static_cast<double>(bytes) / 1e9; };
  const TrainingStep resnet = step("resnet50", {.batch = 640});
  CHECK(resnet.maps.size() == 105);
  CHECK(gigabytes(resnet.MapBytes()) == Approx(51.26).margin(0.005));
  CHECK(gigabytes(step("resnet50", {}).MapBytes()) == Approx(0.08009).margin(0.000005));

  const TrainingStep video = step("resnext101-3d", {});
  CHECK(video.maps.size() == 405);
  CHECK(gigabytes(video.MapBytes()) == Approx(10.5).margin(0.05));
  const ZooOptions large{.image = 448, .width = 224, .frames = 256};
  CHECK(gigabytes(step("resnext101-3d", large).MapBytes()) == Approx(42.0).margin(0.05));
}

TEST_CASE("what VGG-16 stores at batch 1024, in two accountings") {
  // Layer results with bias and ReLU in place, fc layers included, without images:
  // convolutions 13547520 elements, poolings 1530368, fc 9192: 15087080 x 4 x 1024 = 61.797 GB
  const Network network = BuildZooNetwork("vgg16", {.batch = 1024});
  Bytes results = 0;
  for (const Layer& layer : network.layers) {
    const std::string kind = layer.kind->name;
    if (kind == "convolution" || kind == "max_pool" || kind == "linear") results += layer.shape.Elements() * 4;
  }
  CHECK(results == 15087080LL * 4 * 1024);
  // The maps: images (150528), the 13 rectified results, 5 poolings, of fc6 and fc7 the rectified and dropped-out ones.
  CHECK(BuildTrainingStep(network).MapBytes() == (150528LL + 13547520 + 1530368 + 4 * 4096) * 4 * 1024);
}

TEST_CASE("forward multiply-adds are the published ones") {
  const auto billions = [](const char* name) {
    double flops = 0;
    for (const Op& op : BuildTrainingStep(BuildZooNetwork(name, {}), {.inference = true}).ops) {
      if (op.kind == OpKind::kConvolution || op.kind == OpKind::kLinear) flops += op.work.flops;
    }
    return flops / 2e9;
  };
  // He et al. 2016, table 1.
  CHECK(billions("resnet18") == Approx(1.8).epsilon(0.03));
  CHECK(billions("resnet34") == Approx(3.6).epsilon(0.03));
  CHECK(billions("resnet50") == Approx(3.8).epsilon(0.03));
  CHECK(billions("resnet101") == Approx(7.6).epsilon(0.03));
  CHECK(billions("resnet152") == Approx(11.3).epsilon(0.03));
  // Szegedy et al. 2015, section 5: "1.5 billion" as the budget; the others by public counters.
  CHECK(billions("googlenet") == Approx(1.5).epsilon(0.07));
  CHECK(billions("vgg16") == Approx(15.47).epsilon(0.01));
  CHECK(billions("densenet121") == Approx(2.87).epsilon(0.02));
  CHECK(billions("inception-v4") == Approx(12.3).epsilon(0.01));
}

TEST_CASE("backward computes twice what forward does") {
  // Two products for each convolution and linear layer, but one for the first convolution.
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("vgg16", {}));
  double forward = 0, backward = 0, first = 0;
  for (const Op& op : step.ops) {
    if (op.kind != OpKind::kConvolution && op.kind != OpKind::kLinear) continue;
    (op.pass == Pass::kForward ? forward : backward) += op.work.flops;
    if (op.name == "conv1_1:forward") first = op.work.flops;
  }
  CHECK(first > 0);
  CHECK(backward == 2 * forward - first);
}

TEST_CASE("options reach the network") {
  const Network network = BuildZooNetwork("resnet18", {.batch = 3, .image = 64, .width = 96, .classes = 7});
  CHECK(network.input == Shape{.n = 3, .c = 3, .h = 64, .w = 96});
  CHECK(network.layers.back().shape == Shape{.n = 3, .c = 7});
  const Network video = BuildZooNetwork("resnext101-3d-usual", {.frames = 32});
  CHECK(video.input == Shape{.n = 1, .c = 3, .d = 32, .h = 112, .w = 112});
}

TEST_CASE("the table is sound") {
  std::set<std::string> names;
  for (const ZooEntry& entry : Zoo()) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK(std::string(entry.source).size() > 10);
    CHECK(entry.build({.batch = 2}).name == entry.name);
    CHECK(entry.build({.batch = 2}).input.n == 2);
  }
}

TEST_CASE("wrong names and sizes are refused") {
  CHECK_THROWS_WITH(BuildZooNetwork("resnet5O", {}), Catch::Contains("did you mean 'resnet50'?"));
  CHECK_THROWS_AS(BuildZooNetwork("resnet51", {}), UserError);  // 49 is no multiple of 3
  CHECK_THROWS_AS(BuildZooNetwork("resnet14", {}), UserError);
  CHECK_THROWS_AS(BuildZooNetwork("vgg17", {}), UserError);
  CHECK_THROWS_AS(BuildZooNetwork("vgg99999999999999999999", {}), UserError);
  CHECK_THROWS_WITH(BuildZooNetwork("resnet50", {.batch = -4}), "batch -4 is not between 1 and 1000000");
  // 8x8 images do not survive AlexNet's first window.
  CHECK_THROWS_WITH(BuildZooNetwork("alexnet", {.image = 8}),
                    Catch::Contains("layer 'conv1'") && Catch::Contains("exceeds"));
}

}  // namespace spillway
