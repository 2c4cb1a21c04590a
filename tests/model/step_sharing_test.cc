// Tensors that several ops share: gradients at forks, adds and concats, and what works in place.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "tests/model/step_lines.h"

namespace spillway {

TEST_CASE("residual block with identity: the shared gradient is added to in place") {
  NetworkBuilder b("identity", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.ConvolutionNormRelu("b", x, Square(4, 1), false);
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.AddUp("sum", {y, x})));
  // bn_b has read sum:gradient when b adds to it; so no copy.
  CHECK(OpLines(step, step.first_backward, "_b:backward") ==
        StepLines{"bn_b:backward: b sum:gradient bn_b:scale bn_b:mean bn_b:inverse_deviation -> b:gradient"
                  " bn_b:scale:gradient bn_b:shift:gradient"});
  CHECK(OpLines(step, step.first_backward, "b:backward_data") ==
        StepLines{"b:backward_data: b:weight b:gradient sum:gradient -> sum:gradient +"});
  CHECK(OpLines(step, step.first_backward, "relu_a:backward") ==
        StepLines{"relu_a:backward: relu_a sum:gradient -> bn_a:gradient"});
  CHECK_FALSE(HasOp(step, "relu_a:copy_gradient"));
}

TEST_CASE("residual block with projection: the second branch adds to what the first one wrote") {
  NetworkBuilder b("projection", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId main = b.Convolution("main", x, Square(8, 1));
  const LayerId side = b.Convolution("side", x, Square(8, 1));
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.AddUp("sum", {main, side})));
  CHECK(OpLines(step, step.first_backward, ":backward_data") ==
        StepLines{"fc:backward_data: fc:weight fc:gradient -> sum:gradient",
                  "side:backward_data: side:weight sum:gradient -> relu_a:gradient",
                  "main:backward_data: main:weight sum:gradient relu_a:gradient -> relu_a:gradient +"});
  CHECK(OpCalled(step, "main:backward_data").accumulate);
  // 8 x 4 weights, 2 x 8 x 16 out, 2 x 4 x 16 in, and the in once more
  CHECK(OpCalled(step, "main:backward_data").work.bytes == 4.0 * (32 + 256 + 128 + 128));
}

TEST_CASE("a shared gradient that others still need is copied before it is added to") {
  NetworkBuilder b("hazard", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", x, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.AddUp("sum", {y, x})));
  // b reads the gradient it would add to.
  CHECK(OpLines(step, step.first_backward, "b:backward_filter") ==
        StepLines{"b:backward_filter: relu_a sum:gradient -> b:weight:gradient"});
  CHECK(OpLines(step, step.first_backward, "relu_a:") ==
        StepLines{"relu_a:copy_gradient: sum:gradient -> relu_a:gradient",
                  "relu_a:backward: relu_a relu_a:gradient -> bn_a:gradient"});
  CHECK(OpLines(step, step.first_backward, "b:backward_data") ==
        StepLines{"b:backward_data: b:weight sum:gradient relu_a:gradient -> relu_a:gradient +"});
  CHECK(OpCalled(step, "relu_a:copy_gradient").kind == OpKind::kCopy);
}

TEST_CASE("an add of one tensor to itself doubles its gradient") {
  NetworkBuilder b("double", kSmallImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.AddUp("sum", {x, x})));
  CHECK(TensorNames(step, OpCalled(step, "sum:forward").reads) == StepLines{"a"});
  CHECK(OpCalled(step, "sum:forward").shape.operands == 2);
  CHECK(OpLines(step, step.first_backward, "a:add_gradient") ==
        StepLines{"a:add_gradient: sum:gradient -> a:gradient"});
}

TEST_CASE("forks with additions of their own") {
  NetworkBuilder b("separate", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", x, Square(4, 1));
  const Network network = WithLoss(b, b.AddUp("sum", {y, x}));
  const TrainingStep step = BuildTrainingStep(network, OptionsWith(&StepOptions::separate_accumulation));
  CHECK(OpLines(step, step.first_backward, "b:backward_data") ==
        StepLines{"b:backward_data: b:weight sum:gradient -> relu_a:gradient"});
  CHECK(OpLines(step, step.first_backward, "add_gradient") ==
        StepLines{"relu_a:add_gradient: sum:gradient relu_a:gradient -> relu_a:gradient2"});
  CHECK(OpCalled(step, "relu_a:add_gradient").work.bytes == 3 * 512.0);  // two read, one written
  for (const Op& op : step.ops) CHECK_FALSE(op.accumulate);
}

TEST_CASE("concat hands out slices, one op for all that come first") {
  NetworkBuilder b("concat", kSmallImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", x, Square(6, 1));
  const TrainingStep plain = BuildTrainingStep(WithLoss(b, b.Concat("cat", {y, x})));
  CHECK(OpLines(plain, plain.first_backward, "cat:") ==
        StepLines{"cat:backward: cat:gradient -> b:gradient a:gradient"});
  CHECK(OpCalled(plain, "cat:backward").shape.out.c == 10);
  CHECK(OpCalled(plain, "cat:backward").shape.operands == 2);
}

TEST_CASE("a slice of concat for a gradient that is there already is added") {
  NetworkBuilder b("concat", kSmallImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", kNetworkInput, Square(6, 1));
  const LayerId cat = b.Concat("cat", {y, x});
  const LayerId pooled = b.GlobalAveragePool("pooled", cat);
  // `late` is listed after cat, so its backward comes first.
  const LayerId late = b.GlobalAveragePool("pool_late", b.Convolution("late", x, Square(10, 1)));
  const TrainingStep step = BuildTrainingStep(WithLoss(b, b.AddUp("sum", {pooled, late})));
  CHECK(
      OpLines(step, step.first_backward, "cat:backward") ==
      StepLines{"cat:backward: cat:gradient -> b:gradient", "cat:backward1: cat:gradient a:gradient -> a:gradient +"});
  CHECK(OpCalled(step, "cat:backward").work.bytes == 4.0 * 2 * 2 * 6 * 16);   // 6 channels read and written
  CHECK(OpCalled(step, "cat:backward1").work.bytes == 4.0 * 3 * 2 * 4 * 16);  // 4 channels, and the destination read
}

TEST_CASE("in-place ReLU shares the tensor of a batch norm") {
  const TrainingStep step = BuildTrainingStep(NormChainNetwork(), OptionsWith(&StepOptions::inplace_relu));
  CHECK(TensorNames(step, OpCalled(step, "relu_conv:forward").writes) == StepLines{"bn_conv"});
  CHECK(TensorNames(step, OpCalled(step, "relu_conv:backward").reads) == StepLines{"bn_conv", "relu_conv:gradient"});
  CHECK(TensorNames(step, step.maps) == StepLines{"input", "conv", "bn_conv"});
  CHECK(step.BytesOf(TensorClass::kTransient) == 24);  // fc alone: one tensor less than out of place
}

TEST_CASE("ReLU keeps its hands off what others need") {
  const StepOptions inplace = OptionsWith(&StepOptions::inplace_relu);
  const auto writes = [&](NetworkBuilder& b, LayerId last) {
    const TrainingStep step = BuildTrainingStep(WithLoss(b, last), inplace);
    return TensorNames(step, OpCalled(step, "relu:forward").writes);
  };
  SECTION("max pooling reads its result in backward") {
    NetworkBuilder b("pool", kSmallImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    CHECK(writes(b, b.Relu("relu", b.MaxPool("pool", x, Square(0, 2, 2)))) == StepLines{"relu"});
  }
  SECTION("another layer reads the same input") {
    NetworkBuilder b("fork", kSmallImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    CHECK(writes(b, b.AddUp("sum", {b.Relu("relu", x), x})) == StepLines{"relu"});
  }
  SECTION("the images are the next epoch's too") {
    NetworkBuilder b("first", kSmallImage);
    CHECK(writes(b, b.Convolution("a", b.Relu("relu", kNetworkInput), Square(4, 1))) == StepLines{"relu"});
  }
  SECTION("average pooling needs nothing") {
    NetworkBuilder b("average", kSmallImage);
    const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
    CHECK(writes(b, b.Relu("relu", b.AveragePool("pool", x, Square(0, 2, 2)))) == StepLines{"pool"});
  }
}

TEST_CASE("add, ReLU and dropout in a row") {
  NetworkBuilder b("row", kSmallImage);
  const LayerId x = b.ConvolutionNormRelu("a", kNetworkInput, Square(4, 1));
  const LayerId sum = b.AddUp("sum", {b.ConvolutionNormRelu("b", x, Square(4, 1), false), x});
  const Network network = WithLoss(b, b.Dropout("drop", b.Relu("relu", sum), 0.5));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch"));
  // The batch norm's tensor is written by bn_b, sum and relu; dropout must not spoil what relu's backward reads.
  CHECK(TensorNames(step, OpCalled(step, "sum:forward").writes) == StepLines{"bn_b"});
  CHECK(TensorNames(step, OpCalled(step, "relu:forward").writes) == StepLines{"bn_b"});
  CHECK(TensorNames(step, OpCalled(step, "drop:forward").writes) == StepLines{"drop", "drop:mask"});
}

TEST_CASE("the gradient through a ReLU may overwrite the incoming one") {
  const TrainingStep step = BuildTrainingStep(NormChainNetwork(), OptionsWith(&StepOptions::inplace_gradient));
  CHECK(OpLines(step, step.first_backward, "relu_conv:backward") ==
        StepLines{"relu_conv:backward: relu_conv relu_conv:gradient -> relu_conv:gradient"});
  CHECK(TensorNames(step, OpCalled(step, "bn_conv:backward").reads)[1] == "relu_conv:gradient");
}

TEST_CASE("a gradient that is shared is not overwritten") {
  NetworkBuilder b("shared", kSmallImage);
  const LayerId x = b.Convolution("a", kNetworkInput, Square(4, 1));
  const LayerId y = b.Convolution("b", kNetworkInput, Square(4, 1));
  const Network network = WithLoss(b, b.AddUp("sum", {x, b.Relu("relu", y)}));
  const TrainingStep step = BuildTrainingStep(network, OptionsWith(&StepOptions::inplace_gradient));
  CHECK(OpLines(step, step.first_backward, "relu:backward") ==
        StepLines{"relu:backward: relu sum:gradient -> b:gradient"});
}
}  // namespace spillway
