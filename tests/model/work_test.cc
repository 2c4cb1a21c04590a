// Flops and bytes of single calls against counts made by hand; a multiply-add is 2 flops, fp32 has 4 bytes.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

Launch Call(OpKind kind, Pass pass, const OpShape& shape) { return {.kind = kind, .pass = pass, .shape = shape}; }

Work Count(OpKind kind, Pass pass, const OpShape& shape) { return CountWork(Call(kind, pass, shape)); }

OpShape Same(const Shape& shape, std::int64_t operands = 1) {
  return {.in = shape, .out = shape, .operands = operands};
}

constexpr Shape kHundred{.n = 1, .c = 4, .h = 5, .w = 5};  // 100 elements, 400 bytes, 4 channels

}  // namespace

TEST_CASE("first convolution of AlexNet") {
  const OpShape shape{.in = {.n = 1, .c = 3, .h = 227, .w = 227},
                      .out = {.n = 1, .c = 96, .h = 55, .w = 55},
                      .window = {1, 11, 11},
                      .stride = {1, 4, 4}};
  // 96 filters x (3 x 121 = 363 weights) = 34848, used at 55 x 55 = 3025 places: 2 x 34848 x 3025 = 210830400
  // elements: in 3 x 227 x 227 = 154587, weights 34848, out 96 x 3025 = 290400: 479835 x 4 = 1919340 bytes
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    CHECK(Count(OpKind::kConvolution, pass, shape).flops == 210830400.0);
    CHECK(Count(OpKind::kConvolution, pass, shape).bytes == 1919340.0);
  }
}

TEST_CASE("a 3x3 convolution of ResNet-50, batch 2") {
  const Shape image{.n = 2, .c = 64, .h = 56, .w = 56};
  const OpShape shape{.in = image, .out = image, .window = {1, 3, 3}, .pad = {0, 1, 1}};
  // weights 64 x 64 x 9 = 36864; places 2 x 3136 = 6272; 2 x 36864 x 6272 = 462422016
  // elements 36864 + 2 x 401408 = 839680
  const Work work = Count(OpKind::kConvolution, Pass::kForward, shape);
  CHECK(work.flops == 462422016.0);
  CHECK(work.bytes == 3358720.0);
  Launch half = Call(OpKind::kConvolution, Pass::kForward, shape);
  half.type = DataType::kFp16;
  CHECK(CountWork(half).flops == 462422016.0);
  CHECK(CountWork(half).bytes == 1679360.0);
}

TEST_CASE("a transposed convolution does the work of the convolution that computes it") {
  const Shape small{.n = 2, .c = 64, .h = 8, .w = 8}, large{.n = 2, .c = 32, .h = 16, .w = 16};
  const OpShape up{.in = small, .out = large, .window = {1, 2, 2}, .stride = {1, 2, 2}};
  const OpShape down{.in = large, .out = small, .window = {1, 2, 2}, .stride = {1, 2, 2}};
  // weights 64 x 32 x 4 = 8192, each used at 2 x 64 places of the small image
  CHECK(Count(OpKind::kTransposedConvolution, Pass::kForward, up).flops == 2.0 * 8192 * 128);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    for (const bool accumulate : {false, true}) {
      Launch launch = Call(OpKind::kTransposedConvolution, pass, up);
      launch.accumulate = accumulate;
      Launch same = Call(OpKind::kConvolution, ExchangedPass(pass), down);
      same.accumulate = accumulate;
      CHECK(AsConvolution(launch) == same);
      CHECK(CountWork(launch).flops == CountWork(same).flops);
      CHECK(CountWork(launch).bytes == CountWork(same).bytes);
    }
  }
}

TEST_CASE("dilation changes no work; an image that changes its size is read once and written once") {
  OpShape shape{.in = kHundred, .out = kHundred, .window = {1, 3, 3}, .pad = {0, 2, 2}};
  const Work plain = Count(OpKind::kConvolution, Pass::kForward, shape);
  shape.dilation = {1, 2, 2};
  CHECK(Count(OpKind::kConvolution, Pass::kForward, shape).flops == plain.flops);
  const OpShape resized{.in = kHundred, .out = {.n = 1, .c = 4, .h = 10, .w = 10}};
  CHECK(Count(OpKind::kResize, Pass::kForward, resized).bytes == 400 + 1600);
  CHECK(Count(OpKind::kResize, Pass::kBackward, resized).bytes == 400 + 1600);
  const OpShape cut{.in = kHundred, .out = {.n = 1, .c = 4, .h = 3, .w = 3}};
  CHECK(Count(OpKind::kSlice, Pass::kForward, cut).bytes == 2 * 144);
  CHECK(Count(OpKind::kSlice, Pass::kBackward, cut).bytes == 400 + 144);
}

TEST_CASE("3-D and grouped convolution") {
  const OpShape video{.in = {.n = 1, .c = 3, .d = 16, .h = 112, .w = 112},
                      .out = {.n = 1, .c = 64, .d = 16, .h = 56, .w = 56},
                      .window = {7, 7, 7}};
  // weights 64 x 3 x 343 = 65856; places 16 x 56 x 56 = 50176; twice the product
  CHECK(Count(OpKind::kConvolution, Pass::kForward, video).flops == 6608781312.0);
  const Shape image{.n = 1, .c = 128, .h = 10, .w = 10};
  const OpShape grouped{.in = image, .out = image, .window = {1, 3, 3}, .groups = 32};
  // every filter sees 128 / 32 = 4 channels: weights 128 x 4 x 9 = 4608, at 100 places
  CHECK(Count(OpKind::kConvolution, Pass::kBackwardData, grouped).flops == 921600.0);
  CHECK(Count(OpKind::kConvolution, Pass::kBackwardData, grouped).bytes == 4.0 * (4608 + 12800 + 12800));
}

TEST_CASE("linear as a matrix product") {
  const OpShape shape{.in = {.n = 8, .c = 2, .h = 3, .w = 5}, .out = {.n = 8, .c = 10}};
  // 30 features to 10: 300 weights, 8 samples; elements 300 + 240 + 80
  const Work work = Count(OpKind::kLinear, Pass::kBackwardFilter, shape);
  CHECK(work.flops == 4800.0);
  CHECK(work.bytes == 2480.0);
}

TEST_CASE("passes over memory") {
  struct Case {
    OpKind kind;
    Pass pass;
    double bytes;
  };
  const std::vector<Case> cases{
      {OpKind::kBias, Pass::kForward, 2 * 400 + 16},  // in place, and 4 biases
      {OpKind::kBias, Pass::kBackwardBias, 400 + 16},
      {OpKind::kBatchNorm, Pass::kForward, 3 * 400 + 4 * 16},   // scale, shift, mean, inverse deviation
      {OpKind::kBatchNorm, Pass::kBackward, 5 * 400 + 5 * 16},  // these but shift, and two gradients
      {OpKind::kRelu, Pass::kForward, 2 * 400},
      {OpKind::kRelu, Pass::kBackward, 3 * 400},
      {OpKind::kLrn, Pass::kForward, 2 * 400},
      {OpKind::kLrn, Pass::kBackward, 4 * 400},
      {OpKind::kDropout, Pass::kForward, 2 * 400 + 100},
      {OpKind::kDropout, Pass::kBackward, 2 * 400 + 100},
      {OpKind::kConcat, Pass::kForward, 2 * 400},
      {OpKind::kConcat, Pass::kBackward, 2 * 400},
      {OpKind::kSoftmaxLoss, Pass::kForward, 2 * 400},
      {OpKind::kSoftmaxLoss, Pass::kBackward, 2 * 400},
      {OpKind::kCopy, Pass::kBackward, 2 * 400},
      {OpKind::kActivation, Pass::kForward, 2 * 400},
      {OpKind::kActivation, Pass::kBackward, 3 * 400},
      {OpKind::kPrelu, Pass::kForward, 2 * 400 + 16},
      {OpKind::kPrelu, Pass::kBackward, 3 * 400 + 16},
      {OpKind::kScale, Pass::kForward, 2 * 400 + 16},
      {OpKind::kScale, Pass::kBackwardBias, 2 * 400 + 16},
      {OpKind::kGroupNorm, Pass::kForward, 3 * 400 + 2 * 16},
      {OpKind::kGroupNorm, Pass::kBackward, 5 * 400 + 3 * 16},
      {OpKind::kLayerNorm, Pass::kForward, 2 * 400 + 2 * 16},
      {OpKind::kLayerNorm, Pass::kBackward, 3 * 400 + 3 * 16},
  };
  for (const Case& c : cases) {
    INFO(OpKindName(c.kind) << " " << PassName(c.pass));
    CHECK(Count(c.kind, c.pass, Same(kHundred)).bytes == c.bytes);
  }
  OpShape with_log_gradient = Same(kHundred);
  with_log_gradient.operands = 2;
  CHECK(Count(OpKind::kSoftmaxLoss, Pass::kBackward, with_log_gradient).bytes == 3 * 400);
}

TEST_CASE("pooling counts both sizes") {
  const OpShape shape{
      .in = {.n = 1, .c = 1, .h = 20, .w = 20}, .out = {.n = 1, .c = 1, .h = 10, .w = 10}, .window = {1, 2, 2}};
  CHECK(Count(OpKind::kMaxPool, Pass::kForward, shape).bytes == 4.0 * (400 + 100));
  CHECK(Count(OpKind::kMaxPool, Pass::kForward, shape).flops == 400.0);  // 4 comparisons for each of 100
  CHECK(Count(OpKind::kMaxPool, Pass::kBackward, shape).bytes == 4.0 * (2 * 400 + 2 * 100));  // x, dx and y, dy
  CHECK(Count(OpKind::kAveragePool, Pass::kBackward, shape).bytes == 4.0 * (400 + 100));
}

TEST_CASE("operands of add and update, given statistics of batch norm") {
  CHECK(Count(OpKind::kAdd, Pass::kForward, Same(kHundred, 3)).bytes == 4 * 400.0);
  CHECK(Count(OpKind::kAdd, Pass::kForward, Same(kHundred, 3)).flops == 200.0);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackward}) {
    CHECK(Count(OpKind::kMultiply, pass, Same(kHundred, 2)).bytes == 3 * 400.0);  // two factors
    CHECK(Count(OpKind::kMultiply, pass, Same(kHundred, 1)).bytes == 2 * 400.0);  // and one number per plane
  }
  CHECK(Count(OpKind::kUpdate, Pass::kUpdate, Same(kHundred, 3)).bytes == 5 * 400.0);  // w v g read, w v written
  CHECK(Count(OpKind::kUpdate, Pass::kUpdate, Same(kHundred, 2)).bytes == 3 * 400.0);  // w g read, w written
  CHECK(Count(OpKind::kBatchNorm, Pass::kForward, Same(kHundred, 0)).bytes == 2 * 400.0 + 4 * 16);
}

TEST_CASE("accumulating reads the destination once more") {
  const Shape image{.n = 1, .c = 2, .h = 10, .w = 10};  // 200 elements
  const OpShape shape{.in = image, .out = kHundred, .window = {1, 1, 1}};
  const auto extra = [](Launch launch) {
    const double before = CountWork(launch).bytes;
    launch.accumulate = true;
    return CountWork(launch).bytes - before;
  };
  CHECK(extra(Call(OpKind::kConvolution, Pass::kForward, shape)) == 400.0);
  CHECK(extra(Call(OpKind::kConvolution, Pass::kBackwardData, shape)) == 800.0);
  CHECK(extra(Call(OpKind::kConvolution, Pass::kBackwardFilter, shape)) == 4.0 * 8);  // 4 x 2 weights
  CHECK(extra(Call(OpKind::kMaxPool, Pass::kBackward, shape)) == 800.0);
  // The gradient of a number per plane; and of a table of 3 x 5 distances, of 2 heads.
  CHECK(extra(Call(OpKind::kPlaneAdd, Pass::kBackward, Same(image))) == 4.0 * 2);
  CHECK(extra(Call(OpKind::kMultiply, Pass::kBackward, Same(image))) == 4.0 * 2);
  CHECK(extra(Call(OpKind::kMultiply, Pass::kBackwardData, Same(image))) == 800.0);
  CHECK(extra(Call(OpKind::kMultiply, Pass::kBackward, {.in = image, .out = image, .operands = 2})) == 800.0);
  const OpShape table{.in = image, .out = image, .window = {1, 2, 3}};
  CHECK(extra(Call(OpKind::kScoreBias, Pass::kBackwardBias, table)) == 4.0 * 3 * 5 * 2);
  // G += T: reads T and G, writes G.
  Launch add = Call(OpKind::kAdd, Pass::kBackward, Same(kHundred));
  add.accumulate = true;
  CHECK(CountWork(add).bytes == 3 * 400.0);
}

TEST_CASE("the launch of an op is its cost key") {
  Op op;
  op.kind = OpKind::kLrn;
  op.pass = Pass::kBackward;
  op.shape = Same(kHundred);
  op.type = DataType::kBf16;
  op.math = MathMode::kBf16;
  op.layout = Layout::kNhwc;
  op.accumulate = true;
  const Launch launch = LaunchOf(op);
  CHECK(launch == Launch{.kind = OpKind::kLrn,
                         .pass = Pass::kBackward,
                         .shape = Same(kHundred),
                         .type = DataType::kBf16,
                         .layout = Layout::kNhwc,
                         .math = MathMode::kBf16,
                         .accumulate = true});
}

}  // namespace spillway
