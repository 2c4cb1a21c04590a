// Sums of held-out operations: what goes in, and intervals that can be worked out by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>

#include "calibrate/accuracy/steps.h"
#include "model/stats/deviates.h"
#include "model/stats/quantile.h"
#include "model/util/hash.h"
#include "sim/uncertainty/drawn_error.h"
#include "sim/uncertainty/uncertainty.h"
#include "tests/calibrate/toy_fit.h"

using namespace spillway;

namespace {

std::size_t At(StepErrors errors) { return static_cast<std::size_t>(errors); }

StepOp Op(std::uint64_t identity, const std::string& model, double shared, double own) {
  return {.measured_us = 100,
          .predicted_us = 100,
          .reference_us = 200,
          .shared_error = shared,
          .own_error = own,
          .model = model,
          .identity = identity};
}

// `count` different ops of 100 us; a number of models in turn.
SummedStep Step(int count, int models, double shared, double own) {
  SummedStep step{"chip", "source", "net", {}, DataType::kFp32};
  for (int i = 0; i < count; ++i) {
    step.ops.push_back(Op(static_cast<std::uint64_t>(i), std::to_string(i % models), shared, own));
  }
  return step;
}

// Half the width in standard deviations of a normal, relative to the prediction.
double HalfWidth(const StepInterval& interval) {
  return (interval.high - interval.low) / interval.predicted / 2 / kNormal80;
}

struct Measured {
  std::vector<Sample> samples;
  FitResult fit;
  void Add(Sample sample, double measured, double predicted, double reference) {
    sample.microseconds = measured;
    fit.held_out.push_back({.sample = static_cast<int>(samples.size()),
                            .predicted_us = predicted,
                            .reference_us = reference,
                            .algorithm = "implicit_gemm",
                            .shared_error = 0.1,
                            .own_error = 0.2});
    samples.push_back(std::move(sample));
  }
};

Sample OfNetwork(std::int64_t channels, const std::string& algorithm) {
  Sample sample = toy::WithAlgorithm(toy::Convolution(1, channels), algorithm);
  sample.network = "net";
  sample.harness = "bench";
  return sample;
}

}  // namespace

TEST_CASE("the sum of a step counts repeated operations") {
  SummedStep step = Step(2, 1, 0, 0);
  step.ops[1].count = 3;
  CHECK(step.Measured() == 400);
  const auto intervals = IntervalsOf(step, 0);
  CHECK(intervals[At(StepErrors::kOwn)].predicted == 400);
  CHECK(intervals[At(StepErrors::kReference)].predicted == 800);
  // No error at all: no width.
  for (const StepErrors errors : {StepErrors::kOwn, StepErrors::kModel}) {
    CHECK(intervals[At(errors)].low == 400);
    CHECK(intervals[At(errors)].high == 400);
  }
}

TEST_CASE("own errors average out, shared ones do not, the stack's is common to all") {
  // 100 ops of 10 %: 1 % of the sum if each has its own, 10 % if they share it, 10 / sqrt(4) = 5 % with four models.
  const int draws = 4000;
  CHECK(HalfWidth(IntervalsOf(Step(100, 1, 0, 0.1), 0, draws)[At(StepErrors::kOwn)]) == Approx(0.01).epsilon(0.1));
  CHECK(HalfWidth(IntervalsOf(Step(100, 1, 0.1, 0), 0, draws)[At(StepErrors::kModel)]) == Approx(0.1).epsilon(0.1));
  CHECK(HalfWidth(IntervalsOf(Step(100, 4, 0.1, 0), 0, draws)[At(StepErrors::kModel)]) == Approx(0.05).epsilon(0.1));
  // Neither of its own nor shared by a model: only the last kind of interval has the stack's.
  const auto stack = IntervalsOf(Step(100, 4, 0, 0), 0.1, draws);
  CHECK(HalfWidth(stack[At(StepErrors::kReference)]) == 0);
  CHECK(HalfWidth(stack[At(StepErrors::kStack)]) == Approx(0.1).epsilon(0.1));
  // The same launch thrice is wrong alike: 10 %, not 10 / sqrt(3).
  SummedStep same = Step(1, 1, 0, 0.1);
  same.ops.resize(3, same.ops[0]);
  CHECK(HalfWidth(IntervalsOf(same, 0, draws)[At(StepErrors::kOwn)]) == Approx(0.1).epsilon(0.1));
}

// The same in tests/sim/uncertainty_test.cc, of steps that are simulated.
TEST_CASE("a draw of a sum is made of drawn_error.h's parts") {
  const auto intervals = IntervalsOf(Step(3, 2, 0.3, 0.4), 0.2, 1);  // of one draw: both ends are its sum
  const std::uint64_t draw = Hasher().Add(std::uint64_t{0}).Value();
  double own = 0, model = 0, all = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Errors errors{.stack = {0.2, KeyOfStack(draw)},
                        .shared = {0.3, KeyOfModel(draw, std::to_string(i % 2))},
                        .own = {0.4, KeyOfWork(draw, i)}};
    const DrawnError drawn = errors.Drawn(NormalDeviate);
    own += 100 * drawn.OwnFactor();
    model += 100 * drawn.ModelFactor();
    all += 200 * drawn.Factor();
  }
  CHECK(intervals[At(StepErrors::kOwn)].low == Approx(own));
  CHECK(intervals[At(StepErrors::kModel)].high == Approx(model));
  CHECK(intervals[At(StepErrors::kReference)].low == Approx(2 * model));
  CHECK(intervals[At(StepErrors::kStack)].high == Approx(all));
}

TEST_CASE("draws are common: steps of one model move together") {
  const StepInterval a = IntervalsOf(Step(3, 1, 0.2, 0), 0)[At(StepErrors::kModel)];
  const StepInterval b = IntervalsOf(Step(6, 1, 0.2, 0), 0)[At(StepErrors::kModel)];
  CHECK(b.low == Approx(2 * a.low));
  CHECK(b.high == Approx(2 * a.high));
}

TEST_CASE("a network's step has the fastest algorithm of each operation, every pass, repeated ones repeatedly") {
  Measured m;
  m.Add(OfNetwork(8, "implicit_gemm"), 50, 60, 70);
  m.Add(OfNetwork(8, "winograd"), 40, 65, 66);  // faster in truth; predicted to be slower
  Sample thrice = OfNetwork(16, "winograd");
  thrice.rows = 3;
  m.Add(thrice, 10, 11, 12);
  Sample relu;
  relu.what = SampleKind::kKernel;
  relu.device = "toy";
  relu.launch.kind = OpKind::kRelu;
  relu.network = "net";
  relu.harness = "bench";
  m.Add(relu, 5, 5, 5);
  relu.algorithm = "in_place";  // the same operation again
  m.Add(relu, 4, 5, 5);
  Sample inference = relu;
  inference.launch.kind = OpKind::kBatchNorm;
  inference.algorithm = "given_statistics";
  m.Add(inference, 1000, 1000, 1000);
  Sample other = OfNetwork(8, "winograd");
  other.network = "";
  m.Add(other, 1000, 1000, 1000);
  const std::vector<SummedStep> steps = NetworkSteps(m.samples, m.fit);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].device == "toy");
  CHECK(steps[0].source == "bench");
  CHECK(steps[0].name == "net");
  REQUIRE(steps[0].ops.size() == 3);
  CHECK(steps[0].ops[0].measured_us == 40);
  CHECK(steps[0].ops[0].predicted_us == 60);
  CHECK(steps[0].ops[0].reference_us == 66);
  CHECK(steps[0].ops[0].model == "convolution forward fp32 implicit_gemm");
  CHECK(steps[0].Measured() == 40 + 3 * 10 + 5);
}

TEST_CASE("versions of CUDA and data types are sources of their own") {
  Measured m;
  for (const char* cuda : {"", "10.0", "10.1"}) {
    Sample sample = OfNetwork(8, "winograd");
    sample.cuda = cuda;
    m.Add(sample, 1, 1, 1);
  }
  m.samples[0].launch.type = DataType::kFp16;
  const std::vector<SummedStep> steps = NetworkSteps(m.samples, m.fit);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].source == "bench, CUDA 10.0");
  CHECK(steps[1].source == "bench, CUDA 10.1");
  CHECK(steps[2].source == "bench, fp16");
}

TEST_CASE("networks are gathered by data type") {
  std::vector<SummedStep> networks(3, Step(2, 1, 0, 0));
  networks[1].type = DataType::kFp16;
  networks[2].name = "net 2";
  const std::vector<SummedStep> all = AllNetworks(networks);
  REQUIRE(all.size() == 2);  // the only one of fp16 is no crowd
  CHECK(all[0].device == "all");
  CHECK(all[0].source == "fp32");
  CHECK(all[0].name == all[1].name);
  CHECK(all[0].Measured() == networks[0].Measured());
}

TEST_CASE("drawn steps take every operation at most once, the same ones every time") {
  Measured m;
  for (int i = 0; i < 20; ++i) {
    Sample sample = OfNetwork(8 * (i + 1), "winograd");
    sample.rows = 2;
    m.Add(sample, std::ldexp(1.0, i), 1, 1);  // powers of two: a sum tells which
  }
  CHECK(RandomSteps(m.samples, m.fit).empty());  // too few for steps of 64
  const DrawnSteps options{.steps = 5, .ops = 10};
  const std::vector<SummedStep> steps = RandomSteps(m.samples, m.fit, options);
  REQUIRE(steps.size() == 5);
  std::vector<double> sums;
  for (const SummedStep& step : steps) {
    CHECK(step.name == "drawn");
    CHECK(step.ops.size() == 10);
    int bits = 0;
    for (auto sum = static_cast<std::uint64_t>(step.Measured()); sum > 0; sum >>= 1) bits += static_cast<int>(sum & 1);
    CHECK(bits == 10);
    sums.push_back(step.Measured());
  }
  CHECK(std::set<double>(sums.begin(), sums.end()).size() > 1);
  const std::vector<SummedStep> again = RandomSteps(m.samples, m.fit, options);
  for (std::size_t i = 0; i < steps.size(); ++i) CHECK(again[i].Measured() == sums[i]);
}

TEST_CASE("a summary counts the steps that lie inside") {
  // Ten steps that are predicted to take 1000 us with 10 % shared: 80 % from about 880 to 1137. Two lie outside.
  std::vector<SummedStep> steps(10, Step(10, 1, 0.1, 0));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (StepOp& op : steps[i].ops) op.measured_us = i < 2 ? 150 : 95.5 + static_cast<double>(i);
  }
  steps.push_back({"chip", "source", "other", steps[0].ops, DataType::kFp32});
  const std::vector<StepSummary> summaries = SummariseSteps(steps, 0.15);
  REQUIRE(summaries.size() == 2);
  CHECK(summaries[0].steps == 10);
  CHECK(summaries[0].ops == 10);
  CHECK(summaries[1].steps == 1);
  const StepSummary::Part& model = summaries[0].parts[At(StepErrors::kModel)];
  CHECK(model.coverage == Approx(0.8));
  CHECK(model.width == Approx(2 * kNormal80 * 0.1).epsilon(0.15));
  CHECK(summaries[0].parts[At(StepErrors::kOwn)].coverage == 0);  // no width, and nothing is met to the nanosecond
  CHECK(summaries[0].parts[At(StepErrors::kReference)].coverage == 0);  // predicted twice as long
  // 1000 us against 1500 and against 970 to 1040: the median is near 1000 / 1000.
  CHECK(model.bias == Approx(0).margin(0.03));
  const std::string csv = StepsCsv(summaries), markdown = StepsMarkdown(summaries, 0.15);
  CHECK(csv.find("chip,step,,,layer,\"net, source\",\"own stack, own and model errors\",10,") != std::string::npos);
  CHECK(markdown.find("| chip | net, source | 10 | 10 | 1.") != std::string::npos);
  CHECK(markdown.find("| chip | other, source | 1 | 10 | 1.5 |") != std::string::npos);
  CHECK(StepsMarkdown({}, 0.15).empty());
}
