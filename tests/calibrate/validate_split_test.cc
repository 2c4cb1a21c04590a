// Where an error comes from, on timelines that can be drawn.
#include <catch2/catch.hpp>

#include "calibrate/validate/split.h"
#include "model/profile/launch_text.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

//   compute  |--k1--|        |--k2--|
//   in       |-copy-----|
// k2 waits for the copy.
struct Drawn {
  Drawn() {
    ProgramBuilder p;
    const BufferId x = p.Device(100), y = p.Device(200), host = p.Host(200);
    p.Kernel({Wr(x)});                                // 0
    p.Copy(kIn, host, y);                             // 1
    p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);  // 2, 3
    p.Kernel({Rd(y), Up(x)});                         // 4
    program = p.Build();
    program.launches[0].kind = OpKind::kRelu;
    program.launches[0].shape.in = program.launches[0].shape.out = Shape{1, 10, 1, 1, 1};  // 80 bytes: 80 ns
  }
  Timeline Measured(Nanos second_start) const {
    Timeline timeline;
    timeline.spans = {{0, 0, 100}, {1, 0, 250}, {4, second_start, second_start + 100}};
    timeline.makespan = second_start + 100;
    return timeline;
  }
  Machine machine = LoadMachine("unit");
  Program program;
};

TEST_CASE("sums of kernels and copies, by where their prediction comes from") {
  Drawn d;
  const Nanos kernel = CostModel(d.machine).Kernel(d.program.launches[0]).time;
  SplitSums sums = SumUp(d.program, CostModel(d.machine), d.Measured(250));
  CHECK(sums.kernels.predicted == 2 * kernel);
  CHECK(sums.kernels.measured == 200);
  CHECK(sums.modelled.measured == 200);
  CHECK(sums.seen.measured == 0);
  CHECK(sums.seen.Ratio() == 0);
  CHECK(sums.copies.predicted == 200);  // a byte takes a nanosecond
  CHECK(sums.copies.measured == 250);
  CHECK(sums.copies.Ratio() == 0.8);
  MeasuredOp relu = MeasuredOpOf(d.program.launches[0]);
  relu.time = 90;
  d.machine.devices[0].measured = {relu};
  const CostModel costs(d.machine);
  REQUIRE(std::string(costs.Kernel(d.program.launches[0]).how) == "measured");
  sums = SumUp(d.program, costs, d.Measured(250));
  CHECK(sums.seen.Ratio() == 0.9);  // 180 / 200
  CHECK(sums.modelled.measured == 0);
}

TEST_CASE("kernels of the forward pass, computed once more, and of the backward pass") {
  Drawn d;
  const CostModel costs(d.machine);
  const Nanos kernel = costs.Kernel(d.program.launches[0]).time;
  CHECK(SumUp(d.program, costs, d.Measured(250)).forward.predicted == 2 * kernel);
  d.program.kernels[1].recomputation = true;
  SplitSums sums = SumUp(d.program, costs, d.Measured(250));
  CHECK(sums.forward.predicted == kernel);
  CHECK(sums.recomputed.predicted == kernel);
  CHECK(sums.recomputed.measured == 100);
  CHECK(sums.backward.Ratio() == 0);
  d.program.launches[0].pass = Pass::kBackward;
  sums = SumUp(d.program, costs, d.Measured(250));
  CHECK(sums.backward.measured == 100);
  CHECK(sums.recomputed.measured == 100);
  CHECK(sums.forward.measured == 0);
  d.program.launches[0].kind = OpKind::kUpdate;  // comes behind the backward pass and counts there
  d.program.launches[0].pass = Pass::kUpdate;
  sums = SumUp(d.program, costs, d.Measured(250));
  CHECK(sums.backward.measured == 100);
  CHECK(sums.forward.measured == 0);
}

TEST_CASE("the cost model and the context are told apart by launches measured alone") {
  const Drawn d;
  const CostModel costs(d.machine);
  const Nanos kernel = costs.Kernel(d.program.launches[0]).time;
  const std::vector<Nanos> alone = {50};  // in the step they take 100
  const SplitSums sums = SumUp(d.program, costs, d.Measured(250), alone);
  CHECK(sums.isolated.predicted == 2 * kernel);
  CHECK(sums.isolated.measured == 100);
  CHECK(sums.context.Ratio() == 0.5);
  CHECK(sums.isolated.Ratio() * sums.context.Ratio() == Approx(sums.kernels.Ratio()));
  CHECK(SumUp(d.program, costs, d.Measured(250), std::vector<Nanos>{0}).context.measured == 0);
}

TEST_CASE("the replay knows the spans and the order, not the gaps") {
  const Drawn d;
  const CostModel costs(d.machine);
  const SplitSums prompt = SumUp(d.program, costs, d.Measured(250));
  CHECK(prompt.replayed == 350);  // 250 + 100
  CHECK(prompt.step == 350);
  CHECK(prompt.gaps == 0);
  const SplitSums late = SumUp(d.program, costs, d.Measured(290));
  CHECK(late.replayed == 350);
  CHECK(late.step == 390);
  CHECK(late.gaps == 40);  // k2 could have begun at 250
}

TEST_CASE("waiting for a copy is no gap, waiting for the host is none either") {
  ProgramBuilder p;
  const BufferId x = p.Device(100);
  p.Kernel({Wr(x)});           // 0
  p.Sync(p.Record(kCompute));  // 1, 2
  p.Kernel({Up(x)});           // 3
  const Program program = p.Build();
  Timeline timeline;
  timeline.spans = {{0, 5, 100}, {3, 100, 200}};
  CHECK(UnexplainedGaps(program, timeline) == 5);  // before the first kernel
  timeline.spans[1] = {3, 120, 220};
  CHECK(UnexplainedGaps(program, timeline) == 25);
}

TEST_CASE("ratios are medians over the measured steps") {
  const Drawn d;
  Measurement measurement;
  measurement.step_times = {{350, 350}, {300}};
  measurement.timelines = {d.Measured(250), d.Measured(290), d.Measured(300)};
  const ErrorSplit split = SplitError(d.program, CostModel(d.machine), measurement);
  CHECK(split.copies == 0.8);
  CHECK(split.replay == Approx(350.0 / 390));
  CHECK(split.gaps == Approx(40.0 / 390));
  CHECK(split.perturbation == Approx(390.0 / 350 - 1));
  CHECK(split.seen_share == 0);
}

}  // namespace
}  // namespace spillway
