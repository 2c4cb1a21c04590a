// Every kind of layer: its shapes, its parameters and what its backward saves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "model/network/layer_kind.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"

namespace spillway {
namespace {

Shape Infer(const char* kind, const LayerAttributes& attributes, const std::vector<Shape>& inputs) {
  std::string problem;
  const Shape shape = LayerKindByName(kind).infer(attributes, inputs, problem);
  CHECK(problem.empty());
  return shape;
}

std::string Problem(const char* kind, const LayerAttributes& attributes, const std::vector<Shape>& inputs) {
  std::string problem;
  LayerKindByName(kind).infer(attributes, inputs, problem);
  return problem;
}

constexpr Shape kImage{.n = 2, .c = 4, .h = 8, .w = 8};

// before (convolution) -> layer -> pool (saves nothing) -> fc (saves pool) -> loss. `before` saves the input.
TrainingStep StepAround(const char* kind, LayerAttributes attributes) {
  NetworkBuilder b("around", kImage);
  const LayerId before = b.Convolution("before", kNetworkInput, Square(4, 1));
  const LayerId other = b.Convolution("other", kNetworkInput, Square(4, 1));
  std::vector<LayerId> inputs{before};
  if (LayerKindByName(kind).min_inputs == 2) inputs.push_back(other);
  const LayerId layer = b.Add("layer", kind, inputs, attributes);
  std::vector<LayerId> all{b.Linear("fc", b.GlobalAveragePool("pool", layer), 3)};
  const bool reads_both = inputs.size() == 2 && LayerKindByName(kind).data_inputs > 1;
  if (!reads_both) all.push_back(b.Linear("fc_other", b.GlobalAveragePool("pool_other", other), 3));
  return BuildTrainingStep(b.Loss(all.size() == 2 ? b.AddUp("sum", all) : all[0]));
}

bool IsMap(const TrainingStep& step, const std::string& name) {
  return std::any_of(step.maps.begin(), step.maps.end(),
                     [&](TensorId id) { return step.tensors[static_cast<std::size_t>(id)].name == name; });
}

std::set<std::string> AuxiliariesOfLayer(const TrainingStep& step) {
  std::set<std::string> names;
  for (const Tensor& t : step.tensors) {
    if (t.use == TensorClass::kAuxiliary && t.name.compare(0, 6, "layer:") == 0) names.insert(t.name);
  }
  return names;
}

struct SavedCase {
  const char* kind;
  LayerAttributes attributes;
  bool saves_input, saves_result;
  std::set<std::string> auxiliaries;
};

}  // namespace

TEST_CASE("what backward saves, kind by kind") {
  LayerAttributes features;
  features.out_channels = 4;
  const std::vector<SavedCase> cases{
      {"convolution", Square(4, 3, 1, 1), true, false, {}},
      {"linear", features, true, false, {}},
      {"batch_norm", {}, true, false, {"layer:mean", "layer:inverse_deviation"}},
      {"relu", {}, false, true, {}},
      {"max_pool", Square(0, 2, 2), true, true, {}},
      {"average_pool", Square(0, 2, 2), false, false, {}},
      {"lrn", {}, true, true, {}},
      {"dropout", {}, false, false, {"layer:mask"}},
      {"add", {}, false, false, {}},
      {"concat", {}, false, false, {}},
      {"instance_norm", {}, true, false, {"layer:mean", "layer:inverse_deviation"}},
      {"group_norm", {.norm_groups = 2}, true, false, {"layer:mean", "layer:inverse_deviation"}},
      {"layer_norm", {}, true, false, {"layer:mean", "layer:inverse_deviation"}},
      {"rms_norm", {}, true, false, {"layer:inverse_deviation"}},
      {"leaky_relu", {}, true, false, {}},
      {"prelu", {}, true, false, {}},
      {"relu6", {}, true, false, {}},
      {"sigmoid", {}, false, true, {}},
      {"hard_sigmoid", {}, true, false, {}},
      {"tanh", {}, false, true, {}},
      {"silu", {}, true, false, {}},
      {"hard_swish", {}, true, false, {}},
      {"gelu", {}, true, false, {}},
      {"gelu_tanh", {}, true, false, {}},
      {"elu", {}, true, false, {}},
      {"scale", {}, true, false, {}},
      {"multiply", {}, true, false, {}},
      {"depth_drop", {}, false, false, {"layer:mask"}},
      {"transposed_convolution", Square(4, 2, 2), true, false, {}},
      {"resize", {.scale = {1, 2, 2}}, false, false, {}},
      {"crop", {.image = {0, 4, 4}}, false, false, {}},
      {"position", {}, false, false, {}},
      {"class_token", {}, false, false, {}},
      {"rope", {.heads = 2}, false, false, {}},
      {"attention", {.heads = 2, .kv_heads = 1}, true, true, {"layer:log_sum"}},
      {"softmax", {}, false, true, {}},
      {"slice", {.end = 2}, false, false, {}},
      {"reshape", {.out_channels = 16, .image = {1, 4, 4}}, false, false, {}},
      {"permute", {.order = {2, 1, 0, 3}}, false, false, {}},
      {"roll", {.shift = {0, 1, 1}}, false, false, {}},
      {"pad", {.pad = {0, 1, 1}}, false, false, {}},
      {"windows", {.window = {1, 4, 4}}, false, false, {}},
      {"merge_windows", {.window = {1, 1, 8}}, false, false, {}},
      {"pixel_shuffle", {.scale = {1, 2, 2}}, false, false, {}},
      {"pixel_unshuffle", {.scale = {1, 2, 2}}, false, false, {}},
      {"channel_shuffle", {.groups = 2}, false, false, {}},
  };
  // All but the losses (softmax_loss follows, cpu_losses_test has the others), embedding (token_layers_test), and a further
  // input (moved_layers_test).
  CHECK(cases.size() + 6 == LayerKinds().size());
  for (const SavedCase& c : cases) {
    INFO(c.kind);
    const TrainingStep step = StepAround(c.kind, c.attributes);
    CHECK(IsMap(step, "input"));
    CHECK(IsMap(step, "before") == c.saves_input);
    CHECK(IsMap(step, "layer") == c.saves_result);
    CHECK(AuxiliariesOfLayer(step) == c.auxiliaries);
    CHECK_FALSE(IsMap(step, "loss"));
  }
}

TEST_CASE("groups of channels that do not divide, factors that do not fit") {
  CHECK(Problem("group_norm", {.norm_groups = 3}, {kImage}) == "3 groups do not divide 4 channels");
  CHECK(Infer("multiply", {}, {kImage, {.n = 2, .c = 4}}) == kImage);
  CHECK(Problem("multiply", {}, {kImage, {.n = 2, .c = 3}}) ==
        "the second factor's shape 2x3x1x1 is neither the first one's, 2x4x8x8, nor one number for each plane of it, "
        "2x4x1x1");
}

TEST_CASE("sizes of what is kept aside") {
  const auto bytes = [](const TrainingStep& step, const std::string& name) {
    for (const Tensor& t : step.tensors) {
      if (t.name == name) return t.bytes;
    }
    return Bytes{-1};
  };
  CHECK(bytes(StepAround("batch_norm", {}), "layer:mean") == 16);          // 4 channels of 4 bytes
  CHECK(bytes(StepAround("dropout", {}), "layer:mask") == 2 * 4 * 8 * 8);  // one byte an element
  CHECK(bytes(StepAround("relu", {}), "loss") == 2 * 3 * 4);               // a probability per class
}

TEST_CASE("the loss is no map and saves itself only") {
  NetworkBuilder b("loss only", kImage);
  const TrainingStep step = BuildTrainingStep(b.Loss(b.Linear("fc", kNetworkInput, 3)));
  REQUIRE(step.maps.size() == 1);
  CHECK(step.tensors[static_cast<std::size_t>(step.maps[0])].name == "input");
}

TEST_CASE("convolution shapes") {
  CHECK(Infer("convolution", Square(96, 11, 4), {{.n = 1, .c = 3, .h = 227, .w = 227}}) ==
        Shape{.n = 1, .c = 96, .h = 55, .w = 55});  // (227 - 11) / 4 + 1
  // Rounds down: (224 + 6 - 7) / 2 + 1 = 112.5
  CHECK(Infer("convolution", Square(64, 7, 2, 3), {{.n = 1, .c = 3, .h = 224, .w = 224}}).h == 112);
  const LayerAttributes video{.out_channels = 64, .window = {7, 7, 7}, .stride = {1, 2, 2}, .pad = {3, 3, 3}};
  CHECK(Infer("convolution", video, {{.n = 1, .c = 3, .d = 16, .h = 112, .w = 112}}) ==
        Shape{.n = 1, .c = 64, .d = 16, .h = 56, .w = 56});
  const LayerAttributes flat{.out_channels = 8, .window = {1, 1, 7}, .pad = {0, 0, 3}};
  CHECK(Infer("convolution", flat, {kImage}) == Shape{.n = 2, .c = 8, .h = 8, .w = 8});
}

TEST_CASE("convolution parameters, grouped and with bias") {
  LayerAttributes a = Square(64, 3);
  a.groups = 32;
  a.bias = true;
  const auto parameters = LayerKindByName("convolution").parameters(a, {.n = 1, .c = 128, .h = 9, .w = 9});
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].shape == Shape{.n = 64, .c = 4, .h = 3, .w = 3});  // 128 / 32 input channels each
  CHECK(parameters[1].shape.Elements() == 64);
}

TEST_CASE("what does not fit is explained") {
  CHECK(Problem("convolution", Square(8, 9), {kImage}) == "the window's width 9 exceeds the padded input's 8");
  CHECK(Problem("max_pool", Square(0, 2, 2, 2), {kImage}) == "padding 2 must be less than the window's width 2");
  LayerAttributes grouped = Square(8, 1);
  grouped.groups = 3;
  CHECK(Problem("convolution", grouped, {kImage}) == "3 groups do not divide 4 input and 8 output channels");
  CHECK(Problem("add", {}, {kImage, {.n = 2, .c = 4, .h = 4, .w = 8}}) ==
        "inputs to be added differ in shape: 2x4x8x8 and 2x4x4x8");
  CHECK(Problem("concat", {}, {kImage, {.n = 2, .c = 9, .h = 4, .w = 8}}) ==
        "inputs to be concatenated differ in more than channels: 2x4x8x8 and 2x9x4x8; crop or resize one of them");
}

TEST_CASE("a convolution pads by as much as it likes, pooling by less than its window") {
  // SqueezeNet's last window of 1 with padding 1: 13 + 2; FCN's first of 3 with padding 100: 375 + 200 - 2.
  CHECK(Infer("convolution", Square(1000, 1, 1, 1), {{.n = 32, .c = 512, .h = 13, .w = 13}}) ==
        Shape{.n = 32, .c = 1000, .h = 15, .w = 15});
  CHECK(Infer("convolution", Square(64, 3, 1, 100), {{.n = 1, .c = 3, .h = 375, .w = 500}}) ==
        Shape{.n = 1, .c = 64, .h = 573, .w = 698});
  CHECK(Infer("convolution", Square(8, 2, 3, 2), {{.n = 1, .c = 3, .h = 1, .w = 5}}).h == 2);  // (1 + 4 - 2) / 3 + 1
  CHECK(Problem("average_pool", Square(0, 3, 2, 3), {kImage}) == "padding 3 must be less than the window's width 3");
}

TEST_CASE("pooling pads one side alone where asked, by less than its window") {
  LayerAttributes a = Square(0, 3, 2);
  a.pad_after = {-1, 1, 1};
  for (const char* kind : {"max_pool", "average_pool"}) {
    CHECK(Infer(kind, a, {{.h = 6, .w = 8}}) == Shape{.h = 3, .w = 4});
  }
  a.pad_after = {-1, 1, 3};
  CHECK(Problem("max_pool", a, {{.h = 6, .w = 8}}) == "padding 3 must be less than the window's width 3");
}

TEST_CASE("pooling rounds down, or up where asked") {
  const Shape input{.n = 1, .c = 1, .h = 112, .w = 6};
  // (112 - 3) / 2 = 54.5, (6 - 3) / 2 = 1.5
  CHECK(Infer("max_pool", Square(0, 3, 2), {input}) == Shape{.h = 55, .w = 2});
  CHECK(Infer("max_pool", WithCeil(Square(0, 3, 2)), {input}) == Shape{.h = 56, .w = 3});
  // 2 wide, padded by 1, window 2, stride 2: exactly 2 positions either way.
  CHECK(Infer("max_pool", WithCeil(Square(0, 2, 2, 1)), {{.h = 2, .w = 2}}).h == 2);
  // 3 wide, padded by 1: (5 - 2) / 2 = 1.5, but a third window would start at 4, where the right padding begins.
  CHECK(Infer("max_pool", WithCeil(Square(0, 2, 2, 1)), {{.h = 3, .w = 3}}).h == 2);
}

TEST_CASE("global pooling takes images of any size") {
  LayerAttributes global;
  global.global = true;
  CHECK(Infer("average_pool", global, {{.n = 2, .c = 5, .d = 3, .h = 7, .w = 9}}) == Shape{.n = 2, .c = 5});
}

TEST_CASE("concat adds channels and batch norm has two vectors") {
  CHECK(Infer("concat", {}, {kImage, {.n = 2, .c = 6, .h = 8, .w = 8}}).c == 10);
  const auto parameters = LayerKindByName("batch_norm").parameters({}, kImage);
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].shape.Elements() + parameters[1].shape.Elements() == 8);
}

}  // namespace spillway
