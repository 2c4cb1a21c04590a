// Rows of the journal, from items and times made up.
#include <catch2/catch.hpp>

#include "calibrate/measure/journal.h"
#include "calibrate/measure/run.h"
#include "model/kernels/kernel_form.h"
#include "tests/bench_samples.h"

namespace spillway {
namespace {

class MadeUpTarget : public BenchTarget {
 public:
  Sample Identity() const override { return MadeUpIdentity(); }
  std::vector<BenchVariant> Variants(const BenchItem&) override { return {{}}; }
  LoopResult Measure(const BenchItem&, const BenchVariant&, const LoopOptions&) override { return {}; }
};

BenchItem Convolution() {
  BenchItem item;
  item.launch.kind = OpKind::kConvolution;
  item.launch.pass = Pass::kForward;
  item.contention = "h2d";
  return item;
}

LoopResult TenTimings() {
  LoopResult result;
  result.median = 2000.4;
  result.p10 = 1000;
  result.p90 = 4000;
  result.timings = 5;
  result.runs = 2;
  return result;
}

}  // namespace

TEST_CASE("a launch's row says what ran, by which algorithm, beside what") {
  const std::int32_t gemm = AlgorithmByName(OpKind::kConvolution, Pass::kForward, "gemm");
  const Sample row = BareRow(MadeUpTarget(), Convolution(), {.algorithm = gemm});
  CHECK(row.what == SampleKind::kKernel);
  CHECK(row.device == "made-up");
  CHECK(row.kind == "step");  // as the target's kernels
  CHECK(row.algorithm == "gemm");
  CHECK(row.launch.algorithm == gemm);
  CHECK(row.contention == "h2d");
  CHECK(BareRow(MadeUpTarget(), Convolution(), {}).algorithm == "");
  CHECK(row.microseconds == 0);
}

TEST_CASE("a copy's row has the target's kind of memory unless the item names one") {
  BenchItem item;
  item.kind = BenchItem::Kind::kCopy;
  item.bytes = 4096;
  item.direction = "d2h";
  const Sample row = BareRow(MadeUpTarget(), item, {});
  CHECK(row.what == SampleKind::kCopy);
  CHECK(row.kind == "pinned");
  CHECK(row.link == "local");
  CHECK(row.bytes == 4096);
  CHECK(row.direction == "d2h");
  item.memory = "pageable";
  CHECK(BareRow(MadeUpTarget(), item, {}).kind == "pageable");
}

TEST_CASE("a host call's row is overhead under the call's name") {
  BenchItem item;
  item.kind = BenchItem::Kind::kHost;
  item.call = "event_record";
  const Sample row = BareRow(MadeUpTarget(), item, {});
  CHECK(row.op == "overhead");
  CHECK(row.algorithm == "event_record");
  CHECK(row.kind == "");
}

TEST_CASE("times are in microseconds of whole nanoseconds, around the median") {
  BenchItem item = Convolution();
  item.round = 3;
  Sample row = BareRow(MadeUpTarget(), item, {});
  FillRow(item, {.workspace = 100, .deterministic = 1, .rank = 2}, TenTimings(), 0.5, &row);
  CHECK(row.microseconds == 2);
  CHECK(row.p10 == 1);
  CHECK(row.p90 == 4);
  CHECK(row.spread == 1.5);
  CHECK(row.repetitions == 10);
  CHECK(row.workspace == 100);
  CHECK(row.deterministic == 1);
  CHECK(row.heuristic_rank == 2);
  CHECK(RoundOf(row) == 3);
  CHECK(row.load == 0.5);
  LoopResult odd = TenTimings();  // a median outside of its quantiles
  odd.p10 = 3000;
  odd.p90 = 1000;
  FillRow(item, {}, odd, 0, &row);
  CHECK(row.p10 == 2);
  CHECK(row.p90 == 2);
}

TEST_CASE("only a host call may take nothing") {
  BenchItem item = Convolution();
  Sample row = BareRow(MadeUpTarget(), item, {});
  FillRow(item, {}, LoopResult{}, 0, &row);
  CHECK(row.microseconds == 0.001);
  item.kind = BenchItem::Kind::kHost;
  row = BareRow(MadeUpTarget(), item, {});
  FillRow(item, {}, LoopResult{}, 0, &row);
  CHECK(row.microseconds == 0);
}

TEST_CASE("flags are the row's own; what was cut short is not noisy besides") {
  const BenchItem item = Convolution();
  LoopResult result = TenTimings();
  result.noisy = result.own_time = result.throttled = result.unheld = true;
  result.limited = "power cap";
  Sample row = BareRow(MadeUpTarget(), item, {});
  FillRow(item, {}, result, 0, &row);
  for (const char* flag : {kNoisyNote, "own time", kThrottledNote, kUnheldNote, "power cap"}) {
    INFO(flag);
    CHECK(HasFlag(row, flag));
  }
  CHECK_FALSE(HasFlag(row, kCutShortNote));
  result.cut_short = true;
  FillRow(item, {}, result, 0, &row);
  CHECK(HasFlag(row, kCutShortNote));
  CHECK_FALSE(HasFlag(row, kNoisyNote));
}

}  // namespace spillway
