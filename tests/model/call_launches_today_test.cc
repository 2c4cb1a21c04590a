// Recorded calls of networks of today cost what our own step's ops of the same layer cost: of each the kind, the pass, the
// flops and the bytes, whatever the axes are called.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/step/heads.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "tests/recorded_calls.h"
#include "tests/step_of_layer.h"

namespace spillway {
namespace {

std::vector<Launch> OfLayer(const Shape& image, const char* kind, const LayerAttributes& attributes, Pass pass,
                            std::size_t inputs = 1) {
  const StepOfLayer of = Around(image, kind, attributes, inputs);
  return pass == Pass::kForward ? of.forward : of.backward;
}

void Alike(const RecordedArguments& call, std::vector<Launch> expected) {
  INFO(call.op);
  const auto launches = LaunchesOfCall(call);
  REQUIRE(launches.has_value());
  REQUIRE(launches->size() == expected.size());
  for (const Launch& launch : *launches) {
    const Work work = CountWork(launch);
    const auto found = std::find_if(expected.begin(), expected.end(), [&](const Launch& other) {
      const Work own = CountWork(other);
      return other.kind == launch.kind && other.pass == launch.pass && other.type == launch.type &&
             other.math == launch.math && own.bytes == Approx(work.bytes) && own.flops == Approx(work.flops);
    });
    CHECK(found != expected.end());
    if (found != expected.end()) expected.erase(found);
  }
}

Launch OnlyOf(const RecordedArguments& call) {
  const auto launches = LaunchesOfCall(call);
  REQUIRE(launches.has_value());
  REQUIRE(launches->size() == 1);
  return launches->front();
}

RecordedArguments Call(const std::string& op, std::vector<RecordedOperand> inputs, std::vector<RecordedOperand> outputs,
                       std::vector<std::string> scalars = {}) {
  return {.op = "aten." + op + ".default",
          .pass = op.find("backward") == op.npos ? Pass::kForward : Pass::kBackward,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .scalars = std::move(scalars)};
}

constexpr Shape kImage{.n = 2, .c = 12, .h = 6, .w = 5};
const RecordedOperand kMap = ImageOperand(kImage), kVector = Operand({12});

}  // namespace

TEST_CASE("recorded activations are those of our own step") {
  const std::pair<const char*, const char*> kinds[] = {{"gelu", "gelu"},
                                                       {"silu", "silu"},
                                                       {"sigmoid", "sigmoid"},
                                                       {"tanh", "tanh"},
                                                       {"elu", "elu"},
                                                       {"hardtanh_", "relu6"},
                                                       {"hardswish", "hard_swish"},
                                                       {"hardsigmoid", "hard_sigmoid"},
                                                       {"gelu", "gelu_tanh"},
                                                       {"leaky_relu_", "leaky_relu"}};
  for (const auto& [call, kind] : kinds) {
    Alike(Call(call, {kMap}, {kMap}), OfLayer(kImage, kind, {}, Pass::kForward));
    std::string back = call;
    if (back.ends_with('_')) back.pop_back();
    Alike(Call(back + "_backward", {kMap, kMap}, {kMap}), OfLayer(kImage, kind, {}, Pass::kBackward));
  }
}

TEST_CASE("recorded norms of positions and groups are those of our own step") {
  const RecordedOperand tokens = Operand({2, 30, 12}), row = Operand({2, 30, 1});
  Alike(Call("native_layer_norm", {tokens, kVector, kVector}, {tokens, row, row}, {"12", "1e-05"}),
        OfLayer(kImage, "layer_norm", {}, Pass::kForward));
  Alike(Call("native_layer_norm_backward", {tokens, tokens, row, row, kVector, kVector}, {tokens, kVector, kVector},
             {"12", "true", "true", "true"}),
        OfLayer(kImage, "layer_norm", {}, Pass::kBackward));
  Alike(Call("_fused_rms_norm", {tokens, kVector}, {tokens, row}, {"12", "1e-05"}),
        OfLayer(kImage, "rms_norm", {}, Pass::kForward));
  LayerAttributes groups;
  groups.norm_groups = 3;
  Alike(Call("native_group_norm", {kMap, kVector, kVector}, {kMap}, {"2", "12", "30", "3", "1e-05"}),
        OfLayer(kImage, "group_norm", groups, Pass::kForward));
  Alike(Call("native_group_norm_backward", {kMap, kMap, kVector, kVector, kVector}, {kMap, kVector, kVector},
             {"2", "12", "30", "3", "true", "true", "true"}),
        OfLayer(kImage, "group_norm", groups, Pass::kBackward));
  CHECK_FALSE(LaunchesOfCall(Call("native_group_norm", {kMap}, {kMap}, {"2", "12", "31", "3", "1e-05"})));
  CHECK_FALSE(LaunchesOfCall(Call("native_layer_norm", {tokens}, {tokens}, {"13", "1e-05"})));
}

// 4 heads of 3 channels over 30 positions.
TEST_CASE("recorded attention is that of our own step, fused or written out") {
  LayerAttributes a;
  a.heads = 4;
  const RecordedOperand heads = Operand({2, 4, 30, 3}), sums = Operand({2, 4, 30});
  const auto forward = OfLayer(kImage, "attention", a, Pass::kForward, 3);
  const auto backward = OfLayer(kImage, "attention", a, Pass::kBackward, 3);
  for (const char* kernel : {"flash_attention", "flash_attention_for_cpu", "cudnn_attention", "efficient_attention"}) {
    const std::string name = "_scaled_dot_product_" + std::string(kernel);
    Alike(Call(name, {heads, heads, heads}, {heads, sums}), forward);
    Alike(Call(name + "_backward", {heads, heads, heads, heads, heads, sums}, {heads, heads, heads}, {"0.0", "false"}),
          backward);
  }
  a.causal = true;
  Alike(Call("_scaled_dot_product_flash_attention", {heads, heads, heads}, {heads, sums}, {"0.0", "true"}),
        OfLayer(kImage, "attention", a, Pass::kForward, 3));
  const RecordedArguments efficient =
      Call("_scaled_dot_product_efficient_attention_backward", {heads, heads, heads, heads, heads, sums}, {heads},
           {"null", "0.1", "true", "false", "false", "false", "true"});
  CHECK(OnlyOf(efficient).shape.operands == AttentionOperands(true, true));
  CHECK_FALSE(LaunchesOfCall(Call("_scaled_dot_product_flash_attention", {heads, heads, sums}, {heads})));
  a.causal = a.fused = false;
  const RecordedOperand scores = Operand({8, 30, 30}), tokens = Operand({8, 30, 3}), turned = Operand({8, 3, 30});
  std::vector<Launch> written = OfLayer(kImage, "attention", a, Pass::kForward, 3);
  REQUIRE(written.size() == 3);
  Alike(Call("bmm", {tokens, turned}, {scores}), {written[0]});
  Alike(Call("_softmax", {Operand({2, 4, 30, 30})}, {scores}, {"-1", "false"}), {written[1]});
  Alike(Call("bmm", {scores, tokens}, {tokens}), {written[2]});
  written = OfLayer(kImage, "attention", a, Pass::kBackward, 3);
  Alike(Call("_softmax_backward_data", {scores, scores}, {scores}, {"-1", "torch.float32"}), {written[2]});
  CHECK(OnlyOf(Call("baddbmm", {scores, tokens, turned}, {scores})).accumulate);
  CHECK_FALSE(OnlyOf(Call("baddbmm", {Operand({30}), tokens, turned}, {scores})).accumulate);
}

TEST_CASE("the type of a call decides its arithmetic") {
  const RecordedOperand half = Operand({8, 30, 3}, "bfloat16"), turned = Operand({8, 3, 30}, "bfloat16");
  const Launch product = OnlyOf(Call("bmm", {half, turned}, {Operand({8, 30, 30}, "bfloat16")}));
  CHECK(product.type == DataType::kBf16);
  CHECK(product.math == MathMode::kBf16);
  const RecordedOperand heads = Operand({2, 4, 30, 3}, "float16");
  CHECK(OnlyOf(Call("_scaled_dot_product_flash_attention", {heads, heads, heads}, {heads})).math == MathMode::kFp16);
  RecordedArguments tf32 = Call("bmm", {Operand({8, 30, 3}), Operand({8, 3, 30})}, {});
  tf32.precision = "tf32";
  CHECK(OnlyOf(tf32).math == MathMode::kTf32);
  CHECK(OnlyOf(Call("gelu", {half}, {half})).type == DataType::kBf16);
}

TEST_CASE("recorded images of another size and transposed convolutions are those of our own step") {
  LayerAttributes twice;
  twice.scale = {1, 2, 2};
  const RecordedOperand large = Operand({2, 12, 12, 10});
  for (const char* name : {"upsample_nearest2d", "upsample_bilinear2d"}) {
    Alike(Call(name, {kMap}, {large}, {"12", "10"}), OfLayer(kImage, "resize", twice, Pass::kForward));
    Alike(Call(name + std::string("_backward"), {large}, {kMap}, {"12", "10"}),
          OfLayer(kImage, "resize", twice, Pass::kBackward));
  }
  LayerAttributes a = Square(8, 3, 2, 1);
  a.bias = true;
  const RecordedOperand weight = Operand({12, 8, 3, 3}), result = Operand({2, 8, 11, 9}), bias = Operand({8});
  const std::vector<std::string> window{"2", "2", "1", "1", "1", "1", "true", "0", "0", "1"};
  Alike(Call("convolution", {kMap, weight, bias}, {result}, window),
        OfLayer(kImage, "transposed_convolution", a, Pass::kForward));
  std::vector<std::string> back = window;
  back.insert(back.begin(), "8");
  for (int k = 0; k < 3; ++k) back.emplace_back("true");
  Alike(Call("convolution_backward", {result, kMap, weight}, {kMap, weight, bias}, back),
        OfLayer(kImage, "transposed_convolution", a, Pass::kBackward));
  LayerAttributes dilated = Square(8, 3, 1, 2);
  dilated.dilation = {1, 2, 2};
  Alike(Call("convolution", {kMap, Operand({8, 12, 3, 3})}, {Operand({2, 8, 6, 5})},
             {"null", "1", "1", "2", "2", "2", "2", "false", "0", "0", "1"}),
        OfLayer(kImage, "convolution", dilated, Pass::kForward));
}

TEST_CASE("recorded products of activations, casts and embeddings") {
  Alike(Call("mul", {kMap, kMap}, {kMap}), OfLayer(kImage, "multiply", {}, Pass::kForward, 2));
  CHECK(OnlyOf(Call("mul", {kMap, Operand({2, 12, 1, 1})}, {kMap})).shape.operands == 1);
  CHECK(OnlyOf(Call("add", {Operand({5}), kMap}, {kMap})).shape.in.Elements() == 720);
  const Launch cast = OnlyOf(Call("_to_copy", {kMap}, {ImageOperand(kImage)}));
  CHECK(cast.kind == OpKind::kCopy);
  const RecordedOperand narrow = Operand({2, 12, 6, 5}, "bfloat16");
  const Launch narrowed = OnlyOf(Call("_to_copy", {kMap}, {narrow})),
               widened = OnlyOf(Call("copy_", {kMap, narrow}, {kMap}));
  CHECK(narrowed.kind == OpKind::kCast);
  CHECK(CountWork(narrowed).bytes == 720 * 6);
  CHECK(CountWork(widened).bytes == 720 * 6);
  const RecordedOperand table = Operand({100, 12}), words = Operand({2, 30}, "int64"), rows = Operand({2, 30, 12});
  const Launch embedding = OnlyOf(Call("embedding", {table, words}, {rows}));
  CHECK(CountWork(embedding).bytes == 720 * 8 + 60 * 8);
  const Launch gradient = OnlyOf(Call("embedding_dense_backward", {rows, words}, {table}, {"100", "-1", "false"}));
  CHECK(CountWork(gradient).bytes == 720 * 12 + 60 * 8 + 1200 * 4);
  CHECK(gradient.pass == Pass::kBackwardBias);
}

TEST_CASE("calls that pass over bytes, of any type, and calls that only write") {
  const auto bytes = [](const RecordedArguments& call) { return CountWork(OnlyOf(call)).bytes; };
  const RecordedOperand mask = Operand({720}, "bool"), numbers = Operand({100}, "int64");
  CHECK(bytes(Call("where", {mask, kMap, kMap}, {kMap})) == 720 * 13);
  CHECK(bytes(Call("zeros", {}, {kMap})) == 720 * 4);
  CHECK(bytes(Call("bernoulli_", {kMap}, {kMap}, {"0.9"})) == 720 * 4);
  CHECK(bytes(Call("add_", {numbers}, {numbers}, {"1"})) == 1600);
  CHECK(bytes(Call("nll_loss_backward", {Operand({}), kMap, numbers}, {kMap})) == 720 * 4);
  CHECK(bytes(Call("nll_loss_forward", {kMap, numbers}, {Operand({})})) == 1600);
}

TEST_CASE("calls that take some elements read the indices and what they take") {
  const auto bytes = [](const RecordedArguments& call) { return CountWork(OnlyOf(call)).bytes; };
  const RecordedOperand large = Operand({100000, 12}), places = Operand({60}, "int64"), rows = Operand({60, 12});
  const double expected = 60 * 8 + 2 * 720 * 4;
  CHECK(bytes(Call("index", {large, places}, {rows})) == expected);
  CHECK(bytes(Call("index_select", {large, places}, {rows}, {"0"})) == expected);
  CHECK(bytes(Call("index", {large, places, places}, {Operand({60})})) == 2 * 60 * 8 + 2 * 60 * 4);
  for (const char* call : {"gather", "take"}) {
    CHECK(bytes(Call(call, {large, Operand({60, 12}, "int64")}, {rows})) == 720 * 8 + 2 * 720 * 4);
  }
  // How much of the source a mask takes is seen when all of it is read.
  const RecordedOperand mask = Operand({100000}, "bool");
  CHECK(bytes(Call("index", {large, mask}, {rows})) == 100000 * 49 + 720 * 4);
}

TEST_CASE("a copy writes its destination once, of any type") {
  const auto bytes = [](const RecordedArguments& call) { return CountWork(OnlyOf(call)).bytes; };
  const RecordedOperand numbers = Operand({100}, "int64"), small = Operand({100}, "int32"), map = Operand({100});
  CHECK(bytes(Call("copy_", {numbers, numbers}, {numbers})) == 1600);
  CHECK(bytes(Call("copy_", {numbers, small}, {numbers})) == 1200);
  CHECK(bytes(Call("copy_", {map, numbers}, {map})) == 1200);
  CHECK(bytes(Call("_to_copy", {numbers}, {map})) == 1200);
}

TEST_CASE("an optimizer's passes over lists, and in one kernel") {
  const RecordedOperand a = Operand({3, 4}), b = Operand({5}), one = Operand({});
  const auto update = [](const char* op, std::vector<RecordedOperand> inputs) {
    return OnlyOf({.op = "aten." + std::string(op), .pass = Pass::kUpdate, .inputs = std::move(inputs)});
  };
  const auto tensors = [&](const Launch& launch) { return CountWork(launch).bytes / (4 * 17); };
  CHECK(tensors(update("_fused_adamw_.default", {a, b, a, b, a, b, a, b, one, one})) == 7);
  CHECK(tensors(update("_fused_adam_.default", {a, b, a, b, a, b, a, b, a, b, one, one})) == 9);
  CHECK(tensors(update("_fused_sgd_.default", {a, b, a, b, a, b})) == 5);
  CHECK(tensors(update("_foreach_lerp_.Scalar", {a, b, a, b})) == 3);
  CHECK(tensors(update("_foreach_addcdiv_.ScalarList", {a, b, a, b, a, b})) == 4);
  CHECK(tensors(update("_foreach_sqrt.default", {a, b})) == 2);
  CHECK(tensors(update("_foreach_div_.ScalarList", {a, b})) == 2);
  CHECK(tensors(update("_foreach_mul_.Tensor", {a, b, one})) == 2);
  CHECK(tensors(update("_foreach_add_.Scalar", {a, b})) == 2);
  CHECK_FALSE(LaunchesOfCall({.op = "aten._fused_adamw_.default", .pass = Pass::kUpdate, .inputs = {a, b, a, b}}));
}

}  // namespace spillway
