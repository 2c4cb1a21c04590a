// What recorded calls are in our kinds of ops: of each row of the table the launches that our own step has for the same
// layer, drawn at random; whatever else is recorded has none.
#include "model/recorded/call_launches.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "model/cost/cost_model.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/network_builder.h"
#include "tests/deep.h"
#include "tests/recorded_calls.h"
#include "tests/step_of_layer.h"

namespace spillway {
namespace {

std::uint64_t SeedOf(int n) { return static_cast<std::uint64_t>(n) + 1; }

// In any order: a call makes its gradients in the order of the library.
void Equal(const RecordedArguments& call, std::vector<Launch> expected) {
  INFO(call.op);
  const auto launches = LaunchesOfCall(call);
  REQUIRE(launches.has_value());
  REQUIRE(launches->size() == expected.size());
  for (const Launch& launch : *launches) {
    const auto found = std::find(expected.begin(), expected.end(), launch);
    CHECK(found != expected.end());
    if (found != expected.end()) expected.erase(found);
  }
}

bool Unmatched(const RecordedArguments& call) { return !LaunchesOfCall(call).has_value(); }

struct DrawnLayer {
  Shape image;
  LayerAttributes window;
  bool volume = false;
};
bool OneIn(Random& random, std::uint32_t of) { return random.Below(of) == 0; }

DrawnLayer Draw(Random& random) {
  DrawnLayer drawn;
  drawn.volume = OneIn(random, 3);
  drawn.image = {
      .n = random.Between(1, 4), .c = 2 * random.Between(1, 4), .h = random.Between(6, 12), .w = random.Between(6, 12)};
  if (drawn.volume) drawn.image.d = random.Between(5, 7);
  LayerAttributes& a = drawn.window;
  for (std::size_t k = drawn.volume ? 0 : 1; k < 3; ++k) {
    a.window[k] = random.Between(1, 4);
    a.stride[k] = random.Between(1, 3);
    a.pad[k] = random.Between(0, static_cast<std::int32_t>(a.window[k] / 2));
  }
  return drawn;
}

RecordedArguments PoolCall(const char* name, bool volume, Pass pass) {
  const std::string dimensions = volume ? "3d" : "2d";
  const bool max = std::string(name) == "max_pool";
  return {.op = "aten." + std::string(name) + dimensions + (max ? "_with_indices" : "") +
                (pass == Pass::kBackward ? "_backward" : "") + ".default",
          .pass = pass};
}

}  // namespace

TEST_CASE("recorded convolutions are those of our own step, each gradient a pass") {
  for (int n = 0; n < Cases(40, 400); ++n) {
    Random random(SeedOf(n));
    DrawnLayer drawn = Draw(random);
    LayerAttributes& a = drawn.window;
    a.groups = OneIn(random, 3) ? 2 : 1;
    a.out_channels = 2 * random.Between(1, 5);
    a.bias = OneIn(random, 2);
    const StepOfLayer of = Around(drawn.image, "convolution", a);
    Equal(ConvolutionForward(a, of.in, of.out, drawn.volume), of.forward);
    const RecordedArguments back = ConvolutionBackward(a, of.in, of.out, drawn.volume, true);
    Equal(back, of.backward);
    std::vector<Launch> first = of.backward;  // of a network's first layer nobody wants the gradient of the data
    std::erase_if(first, [](const Launch& launch) { return launch.pass == Pass::kBackwardData; });
    Equal(ConvolutionBackward(a, of.in, of.out, drawn.volume, false), first);
  }
}

TEST_CASE("a convolution of other numbers or of integers has no launches") {
  LayerAttributes a = Square(8, 3, 1, 1);
  const Shape in{.n = 2, .c = 4, .h = 8, .w = 8}, out{.n = 2, .c = 8, .h = 8, .w = 8};
  const RecordedArguments call = ConvolutionForward(a, in, out, false);
  REQUIRE_FALSE(Unmatched(call));
  const auto changed = [&](std::size_t at, const char* to) {
    RecordedArguments other = call;
    other.scalars[at] = to;
    return other;
  };
  CHECK(Unmatched(changed(5, "2")));     // dilation that gives another result
  CHECK(Unmatched(changed(7, "true")));  // transposed, with a weight of other channels
  CHECK(Unmatched(changed(10, "3")));    // groups
  CHECK(Unmatched(changed(1, "2")));     // strides that give another result
  RecordedArguments whole = call;
  whole.inputs[0].type = "int64";
  CHECK(Unmatched(whole));
  whole.inputs[0].type = "bfloat16";
  CHECK(LaunchesOfCall(whole)->front().type == DataType::kBf16);
  CHECK(LaunchesOfCall(whole)->front().math == MathMode::kBf16);
  whole.inputs[0].type = "float16";
  CHECK(LaunchesOfCall(whole)->front().math == MathMode::kFp16);
  whole = call;
  whole.precision = "tf32";
  CHECK(LaunchesOfCall(whole)->front().math == MathMode::kTf32);
  whole.inputs[0].strides = {256, 1, 32, 4};
  CHECK(LaunchesOfCall(whole)->front().layout == Layout::kNhwc);
}

TEST_CASE("recorded matrix products are the passes of a linear layer, by what lies along the depth") {
  for (int n = 0; n < Cases(20, 200); ++n) {
    Random random(SeedOf(n));
    const Shape in{.n = random.Between(2, 9), .c = random.Between(2, 9)};
    LayerAttributes a;
    a.out_channels = random.Between(2, 9);
    a.bias = true;
    const StepOfLayer of = Around(in, "linear", a);
    const std::int64_t out = a.out_channels;
    const RecordedOperand x = Operand({in.n, in.c}), dy = Operand({in.n, out}), weight = Operand({out, in.c});
    const RecordedOperand bias = Operand({out}), turned = Transposed({out, in.c});
    Equal({.op = "aten.addmm.default", .inputs = {bias, x, turned}, .outputs = {dy}}, of.forward);
    Equal({.op = "aten.linear.default", .inputs = {x, weight, bias}, .outputs = {dy}}, of.forward);
    Equal({.op = "aten.mm.default", .inputs = {x, turned}, .outputs = {dy}}, {of.forward[0]});
    const auto pass = [&](Pass which) {
      return *std::find_if(of.backward.begin(), of.backward.end(),
                           [which](const Launch& l) { return l.pass == which; });
    };
    Equal({.op = "aten.mm.default", .pass = Pass::kBackward, .inputs = {dy, weight}, .outputs = {x}},
          {pass(Pass::kBackwardData)});
    Equal(
        {.op = "aten.mm.default", .pass = Pass::kBackward, .inputs = {Transposed({in.n, out}), x}, .outputs = {weight}},
        {pass(Pass::kBackwardFilter)});
    Equal({.op = "aten.sum.dim_IntList", .pass = Pass::kBackward, .inputs = {dy}, .scalars = {"0", "true"}},
          {pass(Pass::kBackwardBias)});
  }
  Equal({.op = "aten.linear.default", .inputs = {Operand({2, 3, 4}), Operand({5, 4})}},
        {{.kind = OpKind::kLinear, .shape = {.in = {.n = 6, .c = 4}, .out = {.n = 6, .c = 5}}}});
  const RecordedArguments added{.op = "aten.addmm.default",
                                .inputs = {Operand({3, 5}), Operand({3, 4}), Operand({4, 5})}};
  CHECK(LaunchesOfCall(added)->front().accumulate);
  CHECK(Unmatched({.op = "aten.mm.default", .inputs = {Operand({3, 4}), Operand({5, 4})}}));
  CHECK(Unmatched({.op = "aten.bmm.default", .inputs = {Operand({2, 3, 4}), Operand({2, 5, 3})}}));
}

TEST_CASE("recorded pooling is that of our own step, with its strides or without") {
  for (int n = 0; n < Cases(40, 400); ++n) {
    Random random(SeedOf(n));
    DrawnLayer drawn = Draw(random);
    LayerAttributes& a = drawn.window;
    a.ceil_mode = OneIn(random, 2);
    if (OneIn(random, 4)) a.stride = a.window;
    const bool max = OneIn(random, 2);
    const char* const name = max ? "max_pool" : "avg_pool";
    const StepOfLayer of = Around(drawn.image, max ? "max_pool" : "average_pool", a);
    RecordedArguments call = PoolCall(name, drawn.volume, Pass::kForward);
    call.inputs = {MapOperand(of.in, drawn.volume)};
    call.outputs = {MapOperand(of.out, drawn.volume)};
    call.scalars = Axes(a.window, drawn.volume);
    if (a.stride != a.window || OneIn(random, 2)) Append(call.scalars, Axes(a.stride, drawn.volume));
    Append(call.scalars, Axes(a.pad, drawn.volume));
    if (max) Append(call.scalars, Axes({1, 1, 1}, drawn.volume));
    call.scalars.emplace_back(a.ceil_mode ? "true" : "false");
    Equal(call, of.forward);
    RecordedArguments back = PoolCall(name, drawn.volume, Pass::kBackward);
    back.inputs = {call.outputs[0], call.inputs[0]};
    back.scalars = call.scalars;
    Equal(back, of.backward);
  }
}

TEST_CASE("a mean over all places is a pooling, and so is the gradient that it expands") {
  for (int n = 0; n < Cases(10, 100); ++n) {
    Random random(SeedOf(n));
    const Shape image{
        .n = random.Between(1, 4), .c = random.Between(2, 9), .h = random.Between(2, 9), .w = random.Between(2, 9)};
    LayerAttributes a;
    a.global = true;
    const StepOfLayer of = Around(image, "average_pool", a);
    const RecordedOperand in = ImageOperand(image), out = Operand({image.n, image.c, 1, 1});
    Equal({.op = "aten.mean.dim", .inputs = {in}, .outputs = {out}, .scalars = {"-1", "-2", "true"}}, of.forward);
    Equal({.op = "aten._adaptive_avg_pool2d.default", .inputs = {in}, .outputs = {out}, .scalars = {"1", "1"}},
          of.forward);
    RecordedOperand expanded = in;
    expanded.strides = {image.c, 1, 0, 0};
    Equal({.op = "aten.div.Scalar", .pass = Pass::kBackward, .inputs = {expanded}, .outputs = {in}, .scalars = {"9"}},
          of.backward);
    Equal({.op = "aten._adaptive_avg_pool2d_backward.default", .pass = Pass::kBackward, .inputs = {out, in}},
          of.backward);
    CHECK(Unmatched({.op = "aten.mean.dim", .inputs = {in, in}, .outputs = {out}, .scalars = {"1"}}));
  }
}

TEST_CASE("recorded norms, activations, sums and concatenations are those of our own step") {
  for (int n = 0; n < Cases(30, 300); ++n) {
    Random random(SeedOf(n));
    const DrawnLayer drawn = Draw(random);
    const RecordedOperand map = MapOperand(drawn.image, drawn.volume), vector = Operand({drawn.image.c});
    const auto call = [&](const char* op, Pass pass, std::vector<RecordedOperand> inputs,
                          std::vector<std::string> scalars = {}) {
      return RecordedArguments{
          .op = op, .pass = pass, .inputs = std::move(inputs), .outputs = {map}, .scalars = std::move(scalars)};
    };
    const StepOfLayer norm = Around(drawn.image, "batch_norm", {});
    Equal(call("aten.native_batch_norm.default", Pass::kForward, {map, vector, vector, vector, vector},
               {"true", "0.1", "1e-05"}),
          norm.forward);
    Equal(call("aten.cudnn_batch_norm.default", Pass::kForward, {map, vector, vector},
               {"null", "null", "true", "0.1", "1"}),
          norm.forward);
    Equal(call("aten.native_batch_norm_backward.default", Pass::kBackward, {map, map, vector, vector, vector},
               {"null", "null", "true", "1e-05", "true", "true", "true"}),
          norm.backward);
    const auto given = LaunchesOfCall(call("aten.native_batch_norm.default", Pass::kForward,
                                           {map, vector, vector, vector, vector}, {"false", "0.1", "1e-05"}));
    CHECK(given->front().shape.operands == 0);
    const StepOfLayer relu = Around(drawn.image, "relu", {});
    Equal(call("aten.relu_.default", Pass::kForward, {map}), relu.forward);
    Equal(call("aten.threshold_backward.default", Pass::kBackward, {map, map}, {"0"}), relu.backward);
    const StepOfLayer dropout = Around(drawn.image, "dropout", {});
    Equal(call("aten.native_dropout.default", Pass::kForward, {map}, {"0.5", "true"}), dropout.forward);
    Equal(call("aten.native_dropout_backward.default", Pass::kBackward, {map, map}, {"2.0"}), dropout.backward);
    const StepOfLayer sum = Around(drawn.image, "add", {}, 2);
    Equal(call("aten.add_.Tensor", Pass::kForward, {map, map}), sum.forward);
    const StepOfLayer joined = Around(drawn.image, "concat", {}, 3);
    RecordedArguments cat = call("aten.cat.default", Pass::kForward, {map, map, map}, {"1"});
    cat.outputs = {MapOperand(joined.out, drawn.volume)};
    Equal(cat, joined.forward);
  }
}

TEST_CASE("a recorded softmax with its loss is the loss of our own step") {
  const Shape scores{.n = 6, .c = 10};
  NetworkBuilder b("loss", scores);
  const TrainingStep step = BuildTrainingStep(b.Loss(b.Linear("fc", kNetworkInput, 10)));
  std::vector<Launch> loss;
  for (const Op& op : step.ops) {
    if (op.kind == OpKind::kSoftmaxLoss) loss.push_back(LaunchOf(op));
  }
  REQUIRE(loss.size() == 2);
  const RecordedOperand map = Operand({6, 10});
  Equal({.op = "aten._log_softmax.default", .inputs = {map}, .outputs = {map}, .scalars = {"1", "false"}}, {loss[0]});
  Equal({.op = "aten._log_softmax_backward_data.default",
         .pass = Pass::kBackward,
         .inputs = {map, map},
         .outputs = {map},
         .scalars = {"1", "torch.float32"}},
        {loss[1]});
  CHECK(Unmatched({.op = "aten._softmax_backward_data.default", .inputs = {map}, .scalars = {"1"}}));
}

TEST_CASE("copies, lists of an optimizer and calls without a kernel") {
  const auto one = [](const RecordedArguments& call) {
    const auto launches = LaunchesOfCall(call);
    REQUIRE(launches.has_value());
    REQUIRE(launches->size() == 1);
    return launches->front();
  };
  const RecordedOperand a = Operand({3, 4}), b = Operand({5});
  CHECK(one({.op = "aten.clone.default", .inputs = {a}}).kind == OpKind::kCopy);
  CHECK(one({.op = "aten.mul_.Tensor", .pass = Pass::kUpdate, .inputs = {a}, .scalars = {"0.9"}}).kind ==
        OpKind::kCopy);
  const Launch lists = one({.op = "aten._foreach_add_.List", .pass = Pass::kUpdate, .inputs = {a, b, a, b}});
  CHECK(lists.kind == OpKind::kAdd);
  CHECK(lists.shape.in.Elements() == 17);
  CHECK(one({.op = "aten._foreach_mul_.Scalar", .pass = Pass::kUpdate, .inputs = {a, b}}).shape.in.Elements() == 17);
  CHECK(Unmatched({.op = "aten._foreach_add_.List", .inputs = {a, b, b, a}}));
  CHECK(Unmatched({.op = "aten.add.Tensor", .inputs = {a, b}}));
  CHECK(Unmatched({.op = "aten.swirl.default", .inputs = {a}}));
  CHECK(LaunchesOfCall({.op = "aten.empty_like.default", .inputs = {a}})->empty());
  CHECK(LaunchesOfCall({.op = "aten.detach.default"})->empty());
}

namespace {

std::vector<RecordedArguments> OneOfEach() {
  const Shape in{.n = 2, .c = 4, .h = 8, .w = 8}, out{.n = 2, .c = 8, .h = 8, .w = 8};
  LayerAttributes a = WithBias(Square(8, 3, 1, 1));
  const RecordedOperand map = ImageOperand(in), matrix = Operand({4, 4}), vector = Operand({4});
  return {
      ConvolutionForward(a, in, out, false),
      ConvolutionBackward(a, in, out, false, true),
      {.op = "aten.addmm.default", .inputs = {vector, matrix, matrix}},
      {.op = "aten.linear.default", .inputs = {matrix, matrix, vector}},
      {.op = "aten.sum.dim_IntList", .pass = Pass::kBackward, .inputs = {map}, .scalars = {"0", "2", "3", "true"}},
      {.op = "aten.native_batch_norm.default", .inputs = {map, vector}, .scalars = {"true", "0.1", "1"}},
      {.op = "aten.max_pool2d_with_indices.default",
       .inputs = {map},
       .outputs = {Operand({2, 4, 4, 4})},
       .scalars = {"2", "2", "2", "2", "0", "0"}},
      {.op = "aten.mean.dim", .inputs = {map}, .scalars = {"-1", "-2"}},
      {.op = "aten.div.Scalar", .pass = Pass::kBackward, .inputs = {map}},
      {.op = "aten.threshold_backward.default", .pass = Pass::kBackward, .inputs = {map, map}},
      {.op = "aten.cat.default", .inputs = {map, map}, .outputs = {Operand({2, 8, 8, 8})}, .scalars = {"1"}},
      {.op = "aten._softmax.default", .inputs = {map}, .scalars = {"-1", "false"}},
      {.op = "aten._adaptive_avg_pool2d.default", .inputs = {map}, .outputs = {Operand({2, 4, 2, 2})}},
      {.op = "aten._foreach_add_.List", .pass = Pass::kUpdate, .inputs = {matrix, vector, matrix, vector}},
      {.op = "aten.add.Tensor", .inputs = {map, map}},
      {.op = "aten.native_layer_norm.default", .inputs = {matrix, vector, vector}, .scalars = {"4", "1e-05"}},
      {.op = "aten.native_group_norm.default", .inputs = {map}, .scalars = {"null", "null", "2", "4", "64", "2"}},
      {.op = "aten.bmm.default", .inputs = {Operand({2, 3, 4}), Operand({2, 4, 5})}},
      {.op = "aten._scaled_dot_product_flash_attention.default", .inputs = {map, map, map}, .scalars = {"0.1", "true"}},
      {.op = "aten.embedding.default", .inputs = {matrix, Operand({3}, "int64")}, .outputs = {Operand({3, 4})}},
      {.op = "aten.upsample_nearest2d.default", .inputs = {map}, .outputs = {Operand({2, 4, 16, 16})}},
      {.op = "aten._to_copy.default", .inputs = {map}, .outputs = {Operand({2, 4, 8, 8}, "bfloat16")}},
      {.op = "aten._fused_adamw_.default", .pass = Pass::kUpdate, .inputs = {matrix, matrix, matrix, matrix, vector}},
      {.op = "aten.zeros.default", .outputs = {map}}};
}

// A size, an operand or a scalar becomes another one, or none.
void Mutate(RecordedArguments& call, Random& random) {
  constexpr std::int64_t kSizes[] = {0, 1, 3, 1000, 1'000'000'000, 900'000'000'000'000};
  const std::int64_t size = kSizes[random.Below(6)];
  auto& operands = !call.outputs.empty() && OneIn(random, 4) ? call.outputs : call.inputs;
  RecordedOperand* const operand =
      operands.empty() ? nullptr : &operands[random.Below(static_cast<std::uint32_t>(operands.size()))];
  const auto at = [&](auto& list) { return list.begin() + random.Below(static_cast<std::uint32_t>(list.size())); };
  switch (random.Below(7)) {
    case 0:
      if (operand != nullptr && !operand->shape.empty()) *at(operand->shape) = size;
      return;
    case 1:
      if (operand != nullptr && !operand->shape.empty()) operand->shape.erase(at(operand->shape));
      return;
    case 2:
      if (operand != nullptr) operand->shape.push_back(size);
      return;
    case 3:
      if (!operands.empty()) operands.erase(at(operands));
      return;
    case 4:
      if (!call.scalars.empty()) *at(call.scalars) = OneIn(random, 2) ? std::to_string(size) : "-3";
      return;
    case 5:
      if (!call.scalars.empty()) call.scalars.erase(at(call.scalars));
      return;
    default:
      if (operand != nullptr) operand->type = OneIn(random, 2) ? "bool" : "";
  }
}

}  // namespace

TEST_CASE("calls with other shapes and scalars have no launches, or launches that a law can time") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  int matched = 0, unmatched = 0;
  for (int n = 0; n < Cases(600, 20'000); ++n) {
    Random random(SeedOf(n));
    const std::vector<RecordedArguments> all = OneOfEach();
    RecordedArguments call = all[static_cast<std::size_t>(n) % all.size()];
    REQUIRE(LaunchesOfCall(call).has_value());
    for (std::uint32_t k = 0; k <= random.Below(3); ++k) Mutate(call, random);
    const auto launches = LaunchesOfCall(call);
    (launches ? matched : unmatched) += 1;
    if (!launches) continue;
    INFO(call.op << ", " << n);
    for (const Launch& launch : *launches) {
      CHECK(HasPass(launch.kind, launch.pass));
      CHECK(launch.shape.in.Elements() >= 1);
      CHECK(std::isfinite(CountWork(launch).bytes));
      CHECK(costs.Kernel(launch).time >= 0);  // by bytes alone a few of them take less than a nanosecond
    }
  }
  CHECK(matched > 20);
  CHECK(unmatched > 20);
}

}  // namespace spillway
