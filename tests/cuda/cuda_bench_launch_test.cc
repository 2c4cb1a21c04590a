// What issuing an op costs the host, as a calibration of the CUDA device measures it: the stand-in's library takes longer
// over some ops than over others, and that is what rows and profile say.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "tests/cuda/cuda_bench.h"

namespace spillway {
namespace {

constexpr double kCall = 2000;  // nanoseconds of every call
constexpr int kSlower = 2;      // of a convolution's two algorithms

// Beyond that: a convolution 7 us, by its slower algorithm 17; batch norm's backward pass 9.
double IssueTime(const OpCall& call) {
  const Launch& launch = call.launch;
  if (launch.kind == OpKind::kConvolution) return launch.algorithm == kSlower ? 17'000 : 7000;
  if (launch.kind == OpKind::kBatchNorm && launch.pass == Pass::kBackward) return 9000;
  return 0;
}

StandInOptions Uneven() {
  StandInOptions options = UsualStandIn();
  options.issue_time = IssueTime;
  options.kernel_time = [](const OpCall& call) { return call.launch.algorithm == kSlower ? 2 * kKernel : kKernel; };
  return options;
}

double ExpectedMicroseconds(const Sample& row) {
  OpCall call;
  call.launch = row.launch;
  return (kCall + IssueTime(call)) / 1000;
}

std::vector<Sample> RowsOf(CudaBench& bench) {
  const auto network = SmallBenchNetwork();
  std::vector<BenchItem> plan;
  for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) plan.push_back(ItemOf(network, op));
  BenchJournal journal("");
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
  const BenchReport report = RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher);
  CHECK(report.refused.empty());
  return journal.samples();
}

// Of the stand-in, and how often it was read.
class CountedClock : public Clock {
 public:
  explicit CountedClock(const Clock& clock) : clock_(clock) {}
  Nanos Now() const override {
    ++reads;
    return clock_.Now();
  }
  mutable int reads = 0;

 private:
  const Clock& clock_;
};

}  // namespace

TEST_CASE("every row tells what its call cost the host") {
  CudaBench bench(Uneven());
  std::set<std::pair<OpKind, double>> seen;
  for (const Sample& row : RowsOf(bench)) {
    INFO(OpKindName(row.launch.kind) << " " << PassName(row.launch.pass) << " " << row.algorithm);
    CHECK(row.host_microseconds == ExpectedMicroseconds(row));
    seen.emplace(row.launch.kind, row.host_microseconds);
  }
  CHECK(seen.contains({OpKind::kConvolution, 9}));
  CHECK(seen.contains({OpKind::kConvolution, 19}));
  CHECK(seen.contains({OpKind::kBatchNorm, 11}));
  CHECK(seen.contains({OpKind::kRelu, 2}));
  bench.CheckClean();
}

TEST_CASE("the profile tells it by op and pass, and predictions ask for it") {
  CudaBench bench(Uneven());
  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  const Machine made = MachineOfBench(RowsOf(bench), facts, 0);
  const Machine machine = ParseMachine(MachineToYaml(made), "mine.yaml");
  CHECK(machine == made);
  const CostModel model(machine);
  const LaunchCosts& costs = model.launch_costs();
  // Of a convolution's algorithms the faster one counts.
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    CHECK(costs.Of(OpKind::kConvolution, pass) == 9000);
  }
  CHECK(costs.Of(OpKind::kBatchNorm, Pass::kForward) == 2000);
  CHECK(costs.Of(OpKind::kBatchNorm, Pass::kBackward) == 11'000);
  CHECK(costs.Of(OpKind::kRelu, Pass::kBackward) == 2000);
  // A copy on the device was not measured, and costs what a profile without host calls assumes.
  CHECK(costs.Of(OpKind::kCopy, Pass::kForward) == machine.devices[0].host_costs.kernel_launch);
  bench.CheckClean();
}

TEST_CASE("only the first runs behind a hold are timed, never the first of all") {
  const auto network = SmallBenchNetwork();
  CudaStandIn cuda(Uneven());
  const CountedClock clock(cuda);
  CudaBenchMemory memory(cuda, 2 * kMiB);
  CudaTimer timer(cuda);
  const OpId op = FirstConvolution(*network);
  CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, BenchProtocol::kWarm, cuda, memory, timer);
  subject.SetHostClock(&clock);
  CHECK(subject.issue_time() == 0);
  subject.Run(1);  // not held
  CHECK(clock.reads == 0);
  subject.Run(2 * CudaKernelSubject::kTimedIssues);
  CHECK(clock.reads == 2 * CudaKernelSubject::kTimedIssues);
  CHECK(subject.issue_time() == 9000);
  subject.Run(1);
  CHECK(clock.reads == 2 * (CudaKernelSubject::kTimedIssues + 1));
}

TEST_CASE("a call that waited for a full queue does not count") {
  StandInOptions options = Uneven();
  options.queue = 4;  // the hold and three marks: the first kernel waits until the hold runs out
  const auto network = SmallBenchNetwork();
  CudaStandIn cuda(options);
  CudaBenchMemory memory(cuda, 2 * kMiB);
  CudaTimer timer(cuda);
  CudaKernelSubject subject(*network, 0, ItemOf(network, 0).launch, BenchProtocol::kWarm, cuda, memory, timer);
  subject.SetHostClock(&cuda);
  subject.Run(1);
  subject.Run(2);
  CHECK(cuda.Now() > kCudaLongestHold);  // it was tried
  CHECK(subject.unheld());
  CHECK(subject.issue_time() == 0);
}

}  // namespace spillway
