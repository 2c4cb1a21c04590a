// Whole calibrations of the CUDA device: the profile says what was put in, and what fails or ends one costs no more than it
// must.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <set>

#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/refused.h"
#include "hw/text/document.h"
#include "model/samples/file.h"
#include "model/step/launch.h"
#include "tests/cuda/cuda_bench.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using What = StandInFault::What;

// Small copies and one small network, so that a whole calibration takes a second.
std::vector<BenchItem> TinyPlan() {
  BenchPlanOptions options = CudaPlanOptions(true);
  for (std::size_t k = 0; k < BenchGroupNames().size(); ++k) options.groups.push_back(static_cast<BenchGroup>(k));
  for (BenchCopies& copies : options.copies) copies.most = std::min<Bytes>(copies.most, 8 * kMiB);
  return MakeBenchPlan({SmallBenchNetwork()}, {}, options);
}

BenchReport RunIt(CudaBenchTarget& target, const Clock& clock, BenchJournal& journal) {
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
  return RunBench(TinyPlan(), target, clock, run, journal, watcher);
}

}  // namespace

TEST_CASE("a calibration becomes a profile that says what was put in") {
  StandInOptions options = UsualStandIn();
  // 10 operations and a byte per nanosecond, a microsecond more.
  options.kernel_time = [](const OpCall& call) {
    const Work work = CountWork(call.launch);
    return std::round(1000 + work.flops / 10 + work.bytes);
  };
  CudaBench bench(options);
  BenchJournal journal("");
  const BenchReport report = RunIt(*bench.target, *bench.cuda, journal);
  CHECK(report.refused == std::vector<std::string>{});
  CHECK(report.left_out == 0);
  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  const Machine machine = MachineOfBench(journal.samples(), facts, 0);
  CHECK(ParseMachine(MachineToYaml(machine), "mine.yaml") == machine);
  const Device& device = machine.devices.at(0);
  CHECK(device.total_memory == 4 * kGiB);
  CHECK(device.host_costs.kernel_launch == 2000);
  CHECK(device.host_costs.pool_alloc > 0);
  const Link& link = machine.links.at(0);
  CHECK(link.curves[0].Rate() == Approx(8).epsilon(0.02));
  CHECK(link.curves[1].Rate() == Approx(4).epsilon(0.02));
  for (const double factor : link.duplex_factor) CHECK(factor == Approx(1).margin(0.01));
  CHECK(link.FindOtherMemory(OtherMemory::Kind::kPageable) != nullptr);
  CHECK(link.FindOtherMemory(OtherMemory::Kind::kManagedPrefetch) != nullptr);
  // fp32 and TF32, every algorithm, are rows of their own.
  std::set<std::string> convolutions;
  for (const MeasuredOp& op : device.measured) {
    if (op.op == OpKind::kConvolution && op.pass == Pass::kForward)
      convolutions.insert(op.shape + op.algorithm + op.math);
  }
  CHECK(convolutions.size() == 2 * 2 * 2);  // two shapes in the network
  // The rows are read again as they were written.
  std::string text = SampleHeader();
  for (const Sample& sample : journal.samples()) text += SampleLine(sample);
  CHECK(ParseRows(text, "x.csv").samples.size() == journal.samples().size());
  // A second run finds everything there.
  const BenchReport again = RunIt(*bench.target, *bench.cuda, journal);
  CHECK(again.measured == 0);
  bench.CheckClean();
}

TEST_CASE("a device that is lost ends a calibration with one clear error, and nothing leaks") {
  const auto count = [] {
    CudaBench bench;
    BenchJournal journal("");
    RunIt(*bench.target, *bench.cuda, journal);
    return bench.cuda->count(What::kLost);
  }();
  REQUIRE(count > 1000);
  // Not with the very last call, which is one of those that give things back.
  for (std::uint32_t nth = count / 7; nth < count / 7 * 7; nth += count / 7) {
    StandInOptions options = UsualStandIn();
    options.fault = {What::kLost, nth};
    const auto cuda = std::make_shared<CudaStandIn>(options);
    {
      CudaBenchTarget target(UsualBenchOptions(), cuda, *cuda);
      BenchJournal journal("");
      CHECK_THROWS_AS(RunIt(target, *cuda, journal), UserError);
    }
    CHECK(cuda->leaks().empty());
  }
}

TEST_CASE("a kernel that the library refuses is left out by name") {
  StandInOptions options = UsualStandIn();
  options.fault = {What::kPrepare, 40};
  CudaBench bench(options);
  BenchJournal journal("");
  const BenchReport report = RunIt(*bench.target, *bench.cuda, journal);
  CHECK(report.refused.size() == 1);
  CHECK(report.measured > 100);
  bench.CheckClean();
}

// The call fails, the device goes on.
TEST_CASE("an algorithm that fails at run time is left out by name, and the calibration goes on") {
  StandInOptions options = UsualStandIn();
  options.fault = {What::kLaunch, 400};
  CudaBench bench(options);
  BenchJournal journal("");
  const BenchReport report = RunIt(*bench.target, *bench.cuda, journal);
  REQUIRE(report.refused.size() == 1);
  CHECK_THAT(report.refused[0], Catch::Contains("the call fails"));
  CHECK(report.measured > 100);
  bench.CheckClean();
}

TEST_CASE("what the device refuses is remembered beside the journal, what it has no room for is not") {
  for (const What what : {What::kLaunch, What::kMalloc}) {
    const TemporaryFolder folder("cuda_bench_refused");
    const std::string path = folder.Path("x.samples.csv");
    StandInOptions options = UsualStandIn();
    options.fault = {what, what == What::kLaunch ? 400U : 20U};
    CudaBench bench(options);
    BenchJournal journal(path);
    journal.Create();
    CHECK(RunIt(*bench.target, *bench.cuda, journal).refused.size() == 1);
    CHECK(std::filesystem::exists(RefusedPath(path)) == (what == What::kLaunch));
    bench.CheckClean();
  }
  CudaBench bench;
  CHECK_THROWS_AS(bench.Measure(CopyItem("pinned", "d2d", 1000 * kGiB)), NoRoom);
}

namespace {

// Takes the process with it, as far as a test can: nothing is caught, nothing is undone.
struct Killed {};
class Deadly : public BenchTarget {
 public:
  Deadly(BenchTarget& target, int nth) : target_(target), nth_(nth) {}
  Sample Identity() const override { return target_.Identity(); }
  std::vector<BenchVariant> Variants(const BenchItem& item) override { return target_.Variants(item); }
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) override {
    if (nth_-- == 0) throw Killed();
    return target_.Measure(item, variant, options);
  }
  bool MayHang() const override { return target_.MayHang(); }

 private:
  BenchTarget& target_;
  int nth_;
};

}  // namespace

TEST_CASE("what was measured when a run ended is left out when it goes on, and nothing else") {
  const TemporaryFolder folder("cuda_bench_inflight");
  const std::string path = folder.Path("x.samples.csv");
  CudaBench bench;
  const std::vector<BenchItem> plan = {ItemOf(SmallBenchNetwork(), 0), ItemOf(SmallBenchNetwork(), 1)};
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
  std::size_t whole = 0;
  {
    BenchJournal journal("");
    RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher);
    whole = journal.samples().size();
  }
  {
    Deadly deadly(*bench.target, 1);
    BenchJournal journal(path);
    journal.Create();
    CHECK_THROWS_AS(RunBench(plan, deadly, *bench.cuda, run, journal, watcher), Killed);
    CHECK(journal.samples().size() == 1);
  }
  CHECK(std::filesystem::exists(InflightPath(path)));
  for (int again = 0; again < 2; ++again) {  // it stays left out
    BenchJournal journal(path);
    journal.Resume(bench.target->Identity());
    const BenchReport report = RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher);
    REQUIRE(report.refused.size() == 1);
    CHECK_THAT(report.refused[0], Catch::Contains("of everything: left out") && Catch::Contains(InflightPath(path)));
    CHECK(journal.samples().size() == whole - 1);
  }
  std::filesystem::remove(InflightPath(path));
  BenchJournal journal(path);
  journal.Resume(bench.target->Identity());
  CHECK(RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher).refused.empty());
  CHECK(journal.samples().size() == whole);
  CHECK_FALSE(std::filesystem::exists(InflightPath(path)));
}

}  // namespace spillway
