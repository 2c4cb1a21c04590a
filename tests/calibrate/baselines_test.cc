#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/accuracy/cells.h"
#include "model/step/launch.h"

using namespace spillway;

namespace {

// Linear layers of `rows` samples, 256 inputs and outputs on a chip of 1 flop and 1 byte per ns, taking `time`.
FitGroup Group(double (*time)(const Work&)) {
  FitGroup group;
  group.kind = OpKind::kLinear;
  for (std::int64_t rows = 1; rows <= 4096; rows *= 2) {
    FitRow row;
    row.launch.kind = OpKind::kLinear;
    row.launch.shape.in = {.n = rows, .c = 256};
    row.launch.shape.out = {.n = rows, .c = 256};
    row.log_time = std::log(time(CountWork(row.launch)));
    group.rows.push_back(row);
  }
  return group;
}

// All but one are trained on, that one is predicted: nanoseconds over the true ones.
double Ratio(Baseline baseline, const FitGroup& group, int tested) {
  Split split;
  for (int i = 0; i < static_cast<int>(group.rows.size()); ++i) {
    if (i != tested) split.train.push_back(i);
  }
  split.test = {tested};
  const std::vector<double> predicted = PredictBaseline(baseline, group, split);
  REQUIRE(predicted.size() == 1);
  return std::exp(predicted[0] - group.rows[static_cast<std::size_t>(tested)].log_time);
}

}  // namespace

TEST_CASE("the line finds a line") {
  const FitGroup line = Group([](const Work& w) { return 5000 + std::max(w.flops, w.bytes) / 0.25; });
  CHECK(Ratio(Baseline::kLine, line, 12) == Approx(1).epsilon(0.01));
}

TEST_CASE("the roofline finds a roof with two slopes, which a line does not") {
  // 131,072 n flops / 0.8 = 163,840 n ns against (262,144 + 2,048 n) bytes / 0.1 = 2,621,440 + 20,480 n ns: they cross
  // at n = 18. The fifth row, n = 16, is just below: 2.9 ms, where the flops alone would add 2.6 to the floor of 2.6.
  const FitGroup roof = Group([](const Work& w) { return 2000 + std::max(w.flops / 0.8, w.bytes / 0.1); });
  CHECK(Ratio(Baseline::kRoofline, roof, 4) == Approx(1).epsilon(0.02));
  CHECK(Ratio(Baseline::kLine, roof, 4) > 1.3);
}
