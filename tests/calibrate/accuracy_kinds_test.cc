// Whether intervals hold by kind of layer, and whether a factor that other sources tell would mend them.
#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/accuracy/kinds.h"
#include "tests/calibrate/toy_forms.h"

using namespace spillway;

namespace {

constexpr double kReach = 1.2816;  // of an 80 % interval, in standard deviations

Sample Pointwise(std::int64_t channels, std::int64_t stride) {
  Sample s = toy::Convolution(8, channels);
  s.launch.shape.window = {1, 1, 1};
  s.launch.shape.pad = {0, 0, 0};
  s.launch.shape.stride = {1, stride, stride};
  return s;
}

struct Judged {
  std::vector<Sample> samples;
  FitResult fit;
  // By a fit that has not seen the source; `error`: of the logarithm, own error 0.1.
  void Add(Sample sample, const std::string& harness, double error) {
    sample.harness = harness;
    sample.microseconds = 100;
    HeldOut h;
    h.sample = static_cast<int>(samples.size());
    h.predicted_us = 100 * std::exp(error);
    h.own_error = 0.1;
    fit.held_out.push_back(h);
    fit.outside.push_back(h);
    samples.push_back(std::move(sample));
  }
};

}  // namespace

TEST_CASE("convolutions and products fall into kinds, other ops into none") {
  Launch launch = toy::Convolution(8, 64).launch;
  CHECK(LayerKindOf(launch) == "3x3");
  launch.shape.stride = {1, 2, 2};
  CHECK(LayerKindOf(launch) == "strided");
  launch.shape.in.c = 3;
  CHECK(LayerKindOf(launch) == "image");
  launch.shape.in.c = 64;
  launch.shape.groups = 64;
  CHECK(LayerKindOf(launch) == "grouped");
  CHECK(LayerKindOf(Pointwise(64, 1).launch) == "1x1");
  CHECK(LayerKindOf(Pointwise(64, 2).launch) == "1x1 strided");
  Launch large = toy::Convolution(8, 64).launch;
  large.shape.window = {1, 5, 5};
  CHECK(LayerKindOf(large) == "large");

  Launch product;
  product.kind = OpKind::kLinear;
  product.shape.in = {.n = 64, .c = 16, .h = 1, .w = 1};
  product.shape.out = {.n = 64, .c = 1000, .h = 1, .w = 1};
  // The result is 64 x 1000, then 64 x 16, then 16 x 1000.
  CHECK(LayerKindOf(product) == "wide");
  product.pass = Pass::kBackwardData;
  CHECK(LayerKindOf(product) == "narrow");
  product.pass = Pass::kBackwardFilter;
  CHECK(LayerKindOf(product) == "narrow");
  product.pass = Pass::kForward;
  product.shape.in.n = product.shape.out.n = 16;
  CHECK(LayerKindOf(product) == "narrow");
  product.kind = OpKind::kRelu;
  CHECK(LayerKindOf(product).empty());
}

TEST_CASE("a kind's factor is told by the other sources") {
  Judged judged;
  // Twenty layers each: one source is off by 0.2, the other by 0.25, both beyond 1.2816 x 0.1.
  for (int k = 0; k < 20; ++k) {
    judged.Add(Pointwise(8 + k, 1), "near", 0.2);
    judged.Add(Pointwise(8 + k, 1), "far", 0.25);
    judged.Add(toy::Convolution(8, 8 + k), "near", 0.1);  // a kind of its own
  }
  const std::vector<KindRow> rows = KindRows(judged.samples, judged.fit);
  REQUIRE(rows.size() == 2);
  const KindRow& pointwise = rows[0];
  CHECK(pointwise.operation == "convolution forward fp32");
  CHECK(pointwise.kind == "1x1");
  CHECK(pointwise.seen.samples == 40);
  CHECK(pointwise.seen.held == 0);
  CHECK(pointwise.outside.samples == 40);
  CHECK(pointwise.outside.layers == 40);
  CHECK(pointwise.outside.held == 0);
  // Told by 20 layers, and by four that say that there is no difference: "far" makes it 1.83 for "near", which
  // 0.2 lies within, and "near" 1.48 for "far", which 0.25 does not.
  CHECK(pointwise.split.held == 0.5);
  const double near_half = 0.1 * kReach * std::sqrt((20 * std::pow(2.5 / kReach, 2) + 4) / 24);
  const double far_half = 0.1 * kReach * std::sqrt((20 * std::pow(2.0 / kReach, 2) + 4) / 24);
  CHECK(pointwise.split.score == Approx((2 * near_half + 2 * far_half + 10 * (0.25 - far_half)) / 2));
  CHECK(pointwise.outside.score == Approx(2 * 0.1 * kReach + 10 * (0.225 - 0.1 * kReach)));
  // Nobody else tells of the other kind: as stated.
  CHECK(rows[1].kind == "3x3");
  CHECK(rows[1].split.held == 1);
  CHECK(rows[1].split.score == rows[1].outside.score);
}

TEST_CASE("copies of a layer count once, and the largest source like others") {
  Judged judged;
  judged.Add(Pointwise(8, 1), "asked", 0.3);
  // Of the 30 + 10 layers' voices that count, 80 % are quiet, however often one loud layer was measured.
  for (int k = 0; k < 300; ++k) judged.Add(Pointwise(16 + k, 1), "large", 0.01);
  for (int k = 0; k < 2; ++k) judged.Add(Pointwise(16 + k, 1), "small", 0.01);
  for (int k = 0; k < 8; ++k) judged.Add(Pointwise(32 + k, 1), "small", 0.4);
  for (int k = 0; k < 200; ++k) judged.Add(Pointwise(32, 1), "small", 0.4);
  const std::vector<KindRow> rows = KindRows(judged.samples, judged.fit);
  REQUIRE(rows.size() == 1);
  // The factor for "asked" is below 1, so that the score of its one time is worse than as stated; the loud source is
  // asked of the quiet one.
  CHECK(rows[0].split.score > rows[0].outside.score);
  CHECK(rows[0].outside.layers == 1 + 300 + 10);
}

TEST_CASE("the table gives means over kinds, and nothing where there are none") {
  Judged judged;
  Sample relu = toy::Convolution(8, 8);
  relu.launch.kind = OpKind::kRelu;
  judged.Add(relu, "near", 0.5);
  CHECK(KindsMarkdown(judged.samples, judged.fit).empty());
  for (int k = 0; k < 8; ++k) judged.Add(Pointwise(8 + k, 1), "near", 0.1);
  for (int k = 0; k < 2; ++k) judged.Add(Pointwise(16 + k, 1), "near", 0.2);
  const std::string text = KindsMarkdown(judged.samples, judged.fit);
  INFO(text);
  CHECK(text.find("| convolution forward fp32 | 1x1 | 10 | 80 | 10 | 80 | 80 |") != std::string::npos);
  // sqrt(2 x 0.8 x 0.2 / (pi x 10)) is 10.1 %.
  CHECK(text.find("means over 1 kinds: 0.0 points from 80 % as stated, 0.0 with a factor by kind, 10.1 by chance") !=
        std::string::npos);
}
