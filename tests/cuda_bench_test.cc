// Kernels, copies and host calls of the CUDA device as they are measured, over a stand-in whose times are known: what
// comes out is what was put in.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <set>

#include "calibrate/bench_inflight.h"
#include "calibrate/cuda/bench_copy.h"
#include "calibrate/cuda/bench_host.h"
#include "calibrate/cuda/bench_plan.h"
#include "calibrate/cuda/bench_target.h"
#include "calibrate/sample_file.h"
#include "hw/document.h"
#include "model/kernel_form.h"
#include "model/network_builder.h"
#include "tests/cuda_stand_in.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using What = StandInFault::What;
using Did = CudaStandIn::Work;

constexpr double kKernel = 5000;  // nanoseconds

// A stand-in whose host takes 2 us for each call: more than short kernels do.
StandInOptions Usual() {
  StandInOptions options;
  options.kernel_time = [](const OpCall&) { return kKernel; };
  options.copy_latency = 500;
  options.copy_rate = {8, 4};
  options.device_rate = 1000;
  options.call_cost = 2000;
  options.memory = 4 * kGiB;
  options.pinned = 4 * kGiB;
  options.compute = false;
  options.properties.name = "NVIDIA H200";
  options.properties.driver = "1.2";
  options.properties.runtime = "13.0";
  options.properties.cudnn = "9.9";
  options.properties.l2_cache = 2 * kMiB;
  options.properties.multiprocessors = 132;
  options.properties.total_memory = 4 * kGiB;
  options.properties.managed_memory = true;
  return options;
}

Network Everything() {
  NetworkBuilder b("everything", {.n = 2, .c = 8, .h = 8, .w = 8});
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, Square(8, 3, 1, 1));
  x = b.MaxPool("pool", b.Lrn("lrn", b.ConvolutionRelu("conv2", x, Square(8, 3, 1, 1))), Square(0, 2, 2));
  const LayerId left = b.Convolution("left", x, Square(8, 1));
  x = b.Concat("joined", {b.AddUp("sum", {left, x}), left});
  return b.Loss(b.Linear("fc", b.Dropout("drop", b.AveragePool("average", x, Square(0, 2, 2)), 0.5), 10));
}

std::shared_ptr<const BenchNetwork> Small() { return MakeBenchNetwork("everything", Everything(), {}); }

LoopOptions Few() {
  LoopOptions options;
  options.least = 3;
  options.most = 5;
  options.warm_up = 3;
  options.least_timing = 1;
  options.most_runs = 4;
  return options;
}

BenchItem ItemOf(const std::shared_ptr<const BenchNetwork>& network, OpId op) {
  BenchItem item;
  item.from = network;
  item.op = op;
  item.launch = LaunchOf(network->step.ops[static_cast<std::size_t>(op)]);
  item.launch.workspace = kUsualWorkspace;
  return item;
}

OpId FirstConvolution(const BenchNetwork& network) {
  for (OpId id = 0;; ++id) {
    if (network.step.ops.at(static_cast<std::size_t>(id)).kind == OpKind::kConvolution) return id;
  }
}

BenchItem CopyItem(const std::string& memory, const std::string& direction, Bytes bytes) {
  BenchItem item;
  item.kind = BenchItem::Kind::kCopy;
  item.memory = memory;
  item.direction = direction;
  item.bytes = bytes;
  return item;
}

CudaBenchOptions Options() {
  CudaBenchOptions options;
  options.version = "test";
  options.warm_up = 0;
  options.host_repetitions = 20;
  options.wander = options.beside = kMiB;
  return options;
}

// The stand-in beside its target, which gives everything back first.
struct Bench {
  explicit Bench(StandInOptions options = Usual()) : cuda(std::make_shared<CudaStandIn>(std::move(options))) {
    target = std::make_unique<CudaBenchTarget>(Options(), cuda, *cuda);
  }
  std::shared_ptr<CudaStandIn> cuda;
  std::unique_ptr<CudaBenchTarget> target;
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant = {}) {
    return target->Measure(item, variant, Few());
  }
  void CheckClean() {
    target.reset();
    CHECK(cuda->leaks().empty());
    CHECK(cuda->violations() == std::vector<std::string>{});
  }
};

}  // namespace

TEST_CASE("the timer counts what lies between its marks, at the device's pace") {
  CudaStandIn cuda(Usual());
  {
    CudaTimer timer(cuda);
    cuda.Spin(1, timer.stream());  // loaded
    timer.Hold(2);
    timer.Start();
    cuda.Spin(1000, timer.stream());
    timer.Stop();
    cuda.Spin(7000, timer.stream());
    timer.Start();
    cuda.Spin(500, timer.stream());
    cuda.Spin(250, timer.stream());
    timer.Stop();
    CHECK(timer.Finish() == 1750);
    CHECK(timer.Now() == 0);
    timer.Add(1750);
    CHECK(timer.Now() == 1750);
    // Not held, the second spin waits for the host, which takes 2 us for a call.
    timer.Start();
    cuda.Spin(1000, timer.stream());
    cuda.Spin(1000, timer.stream());
    timer.Stop();
    CHECK(timer.Finish() > 2000);
  }
  CHECK(cuda.leaks().empty());
}

TEST_CASE("a held stream is let go whatever is thrown") {
  CudaStandIn cuda(Usual());
  CudaTimer timer(cuda);
  try {
    const ReleaseAtEnd release(timer);
    timer.Hold();
    throw UserError("something");
  } catch (const UserError&) {
  }
  cuda.Synchronize(timer.stream());
  CHECK(cuda.Now() < kMillisecond);  // the hold did not run out
}

TEST_CASE("every op of a step is measured at its own time, whatever state its operands are in") {
  const auto network = Small();
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    CudaStandIn cuda(Usual());
    {
      CudaBenchMemory memory(cuda, 2 * kMiB);
      CudaTimer timer(cuda);
      for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
        INFO(BenchProtocolName(protocol) << " " << network->step.ops[static_cast<std::size_t>(op)].name);
        CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, protocol, cuda, memory, timer);
        LoopOptions options = Few();
        options.most_runs = std::min(options.most_runs, subject.most_runs());
        const LoopResult result = MeasureLoop(subject, {.wall = &timer, .limit = &cuda}, options);
        CHECK(result.median == kKernel);
        CHECK(result.p90 == kKernel);
      }
    }
    CHECK(cuda.leaks().empty());
    CHECK(cuda.violations() == std::vector<std::string>{});
  }
}

TEST_CASE("operands wander through more than the cache holds, and fresh ones are written just before") {
  const auto network = Small();
  CudaStandIn cuda(Usual());
  CudaBenchMemory memory(cuda, 64 * kKiB);
  CudaTimer timer(cuda);
  const OpId op = FirstConvolution(*network);
  CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, BenchProtocol::kStep, cuda, memory, timer);
  subject.Prepare(1);
  subject.Run(1);
  cuda.ForgetDone();
  std::set<const void*> inputs;
  for (int k = 0; k < 4; ++k) {
    subject.Prepare(2);
    subject.Run(2);
  }
  const std::vector<CudaStandIn::Done>& done = cuda.done();
  for (std::size_t k = 0; k < done.size(); ++k) {
    if (done[k].work != Did::kKernel) continue;
    inputs.insert(done[k].reads.at(0));
    // What the step's last op wrote is fresh for its first one: the copy before the kernel wrote some operand of it. A
    // spin lies between.
    REQUIRE(k > 1);
    CHECK(done[k - 1].work == Did::kSpin);
    CHECK(done[k - 2].work == Did::kOnDevice);
  }
  CHECK(inputs.size() == 8);  // another set each time
}

TEST_CASE("masks and saved statistics are made by running the forward op") {
  const auto network = Small();
  StandInOptions options = Usual();
  options.compute = true;
  CudaStandIn cuda(options);
  CudaBenchMemory memory(cuda, 64 * kKiB);
  CudaTimer timer(cuda);
  int forwards = 0;
  for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
    const Op& node = network->step.ops[static_cast<std::size_t>(op)];
    if (!NeedsForward(node)) continue;
    cuda.ForgetDone();
    CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, BenchProtocol::kWarm, cuda, memory, timer);
    subject.Run(1);
    int kernels = 0;
    for (const CudaStandIn::Done& done : cuda.done()) kernels += done.work == Did::kKernel ? 1 : 0;
    INFO(node.name);
    CHECK(kernels == 2);  // of the one set, and this
    ++forwards;
  }
  CHECK(forwards == 5);  // batch norm, max pool, LRN, dropout, loss
  CHECK(cuda.violations() == std::vector<std::string>{});
}

TEST_CASE("copies take what the link takes, by kind of memory") {
  Bench bench;
  // Pinned, one behind the other: 500 ns and 8 bytes per nanosecond in, 4 out.
  CHECK(bench.Measure(CopyItem("pinned", "h2d", 8 * kMiB)).median == Approx(500 + static_cast<double>(kMiB)));
  CHECK(bench.Measure(CopyItem("pinned", "d2h", 8 * kMiB)).median == Approx(500 + 2 * static_cast<double>(kMiB)));
  CHECK(bench.Measure(CopyItem("pinned", "h2d", 256)).median == Approx(532));
  // On the device 1000 bytes per nanosecond.
  CHECK(bench.Measure(CopyItem("device", "d2d", 1000 * 1024)).median == Approx(1024).margin(1));
  // The host's clock: each copy and each wait costs a call beside.
  CHECK(bench.Measure(CopyItem("pageable", "h2d", 8 * kMiB)).median > 500 + static_cast<double>(kMiB));
  CHECK(bench.Measure(CopyItem("managed_prefetch", "h2d", 8 * kMiB)).median > 0);
  BenchItem pitched = CopyItem("pitched", "d2h", 896 * 100);
  pitched.row_bytes = 896;
  pitched.pitch_bytes = 1792;
  CHECK(bench.Measure(pitched).median > 0);
  bench.CheckClean();
}

TEST_CASE("managed memory is never asked for beyond a quarter of what is free") {
  Bench bench;  // 4 GiB
  CHECK_THROWS_WITH(bench.Measure(CopyItem("managed_prefetch", "h2d", 2 * kGiB)),
                    Catch::Contains("managed memory are too"));
  bench.CheckClean();
}

TEST_CASE("without unified memory such copies are refused") {
  StandInOptions options = Usual();
  options.properties.managed_memory = false;
  Bench bench(options);
  CHECK_THROWS_AS(bench.Measure(CopyItem("managed_prefetch", "h2d", kMiB)), UserError);
  bench.CheckClean();
}

TEST_CASE("what runs beside runs all the time") {
  Bench bench;
  const auto network = Small();
  const auto covered = [&](Did measured) {
    // The last timing: from its hold on, copies of 32 MiB (or of the measured size) on a second stream.
    const std::vector<CudaStandIn::Done>& done = bench.cuda->done();
    std::size_t last = done.size();
    while (done[--last].work != measured || done[last].stream == done.back().stream) continue;
    double begin = 1e300, end = 0;
    for (std::size_t k = 0; k < done.size(); ++k) {
      if (done[k].work != Did::kCopy || done[k].stream == done[last].stream) continue;
      if (done[k].end < done[last].start) continue;
      begin = std::min(begin, done[k].start);
      end = std::max(end, done[k].end);
    }
    return begin <= done[last].start && end >= done[last].end;
  };
  BenchItem kernel = ItemOf(network, FirstConvolution(*network));
  for (const char* direction : {"h2d", "d2h"}) {
    kernel.contention = direction;
    CHECK(bench.Measure(kernel).median == kKernel);
    CHECK(covered(Did::kKernel));
  }
  BenchItem copy = CopyItem("pinned", "h2d", 8 * kMiB);
  copy.contention = "d2h";
  CHECK(bench.Measure(copy).median == Approx(500 + static_cast<double>(kMiB)));
  CHECK(covered(Did::kCopy));
  bench.CheckClean();
}

TEST_CASE("host calls are timed while their stream is held") {
  Bench bench;
  for (const std::string& call : CudaHostCallNames()) {
    BenchItem item;
    item.kind = BenchItem::Kind::kHost;
    item.call = call;
    const LoopResult result = bench.Measure(item);
    INFO(call);
    CHECK(result.timings > 0);
    if (call == "kernel_launch" || call == "copy_submit") CHECK(result.median == 2000);
  }
  bench.CheckClean();
}

namespace {

// Throttled for the next `left` looks, at its power cap always.
class Hot : public CudaStandIn {
 public:
  explicit Hot(int left) : CudaStandIn(Usual()), left_(left) {}
  CudaClocks Clocks() override {
    ++looks;
    return {.sm_mhz = 1500, .throttled = left_-- > 0 ? "temperature" : "", .limited = "power cap"};
  }
  int looks = 0;

 private:
  int left_;
};

}  // namespace

TEST_CASE("what was throttled is measured again, twice at most, and flagged") {
  const auto network = Small();
  const BenchItem item = ItemOf(network, 0);
  const struct {
    int throttled, takes;
    bool flagged;
  } cases[] = {{0, 1, false}, {1, 2, false}, {2, 3, false}, {3, 3, true}, {9, 3, true}};
  for (const auto& c : cases) {
    const auto hot = std::make_shared<Hot>(c.throttled);
    CudaBenchTarget target(Options(), hot, *hot);
    const LoopResult result = target.Measure(item, {}, Few());
    CHECK(hot->looks == c.takes);
    CHECK(result.throttled == c.flagged);
    CHECK(result.sm_clock_mhz == 1500);
    CHECK(result.limited == "power cap");
  }
}

TEST_CASE("a limit by settings is noted in the row, which counts as any other") {
  const auto hot = std::make_shared<Hot>(0);
  CudaBenchTarget target(Options(), hot, *hot);
  BenchJournal journal("");
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = Few(), .date = "2020-01-01"};
  const std::vector<BenchItem> plan = {ItemOf(Small(), 0)};
  RunBench(plan, target, *hot, run, journal, watcher);
  REQUIRE(!journal.samples().empty());
  CHECK(HasFlag(journal.samples()[0], "power cap"));
  CHECK_FALSE(HasFlag(journal.samples()[0], kThrottledNote));
}

TEST_CASE("recording events takes time on the device, and none of the kernel's") {
  const auto network = Small();
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    StandInOptions options = Usual();
    options.record_time = 700;
    CudaStandIn cuda(options);
    CudaBenchMemory memory(cuda, 2 * kMiB);
    CudaTimer timer(cuda);
    CudaKernelSubject subject(*network, 0, ItemOf(network, 0).launch, protocol, cuda, memory, timer);
    CHECK(MeasureLoop(subject, {.wall = &timer, .limit = &cuda}, Few()).median == kKernel);
  }
}

TEST_CASE("a hold that runs out is noticed, by the timer and by what is timed") {
  StandInOptions options = Usual();
  options.queue = 8;
  CudaStandIn cuda(options);
  {
    CudaTimer timer(cuda);
    const auto issue = [&](int count) {
      timer.Start();
      for (int k = 0; k < count; ++k) cuda.Spin(100, timer.stream());
      timer.Stop();
      return timer.Finish();
    };
    issue(1);
    timer.Hold();
    CHECK(issue(5) == 500);  // with hold and events it fills the queue, no more
    CHECK_FALSE(timer.ran_out());
    timer.Hold();
    issue(20);
    CHECK(timer.ran_out());
    issue(20);  // not held
    CHECK_FALSE(timer.ran_out());
  }
  // Eight kernels and their events behind one hold are more than 20 of a queue; fewer at once are not.
  options.queue = 20;
  CudaStandIn narrow(options);
  const auto network = Small();
  CudaBenchMemory memory(narrow, 2 * kMiB);
  CudaTimer timer(narrow);
  CudaKernelSubject subject(*network, 0, ItemOf(network, 0).launch, BenchProtocol::kStep, narrow, memory, timer);
  LoopOptions loop = Few();
  loop.least_timing = kMillisecond;
  loop.most_runs = 8;
  CHECK(MeasureLoop(subject, {.wall = &timer, .limit = &narrow}, loop).median == kKernel);
  CHECK_FALSE(subject.unheld());
  CHECK(narrow.violations() == std::vector<std::string>{});
}

TEST_CASE("what cannot be issued behind a hold is measured without one, and says so") {
  StandInOptions options = Usual();
  options.queue = 3;  // not even one kernel between its events
  Bench bench(options);
  const LoopResult result = bench.Measure(ItemOf(Small(), 0));
  CHECK(result.unheld);
  CHECK(result.median < 10 * kKernel);  // and no hold of 100 ms
  CHECK(bench.Measure(CopyItem("pinned", "h2d", 8 * kMiB)).median < 2 * static_cast<double>(kMiB));
  BenchItem call;
  call.kind = BenchItem::Kind::kHost;
  call.call = "kernel_launch";
  CHECK(bench.Measure(call).median < 20 * kMicrosecond);
  bench.CheckClean();
}

TEST_CASE("copies beside fill no queue") {
  StandInOptions options = Usual();
  options.kernel_time = [](const OpCall&) { return 5e6; };  // 512 copies of 10 us would last as long, 256 do not
  options.copy_latency = 10'000;
  options.copy_rate = {1e6, 1e6};
  options.queue = 300;
  Bench bench(options);
  BenchItem kernel = ItemOf(Small(), 0);
  kernel.contention = "h2d";
  CHECK_THROWS_WITH(bench.Measure(kernel), Catch::Contains("no number of copies"));
  for (const CudaStandIn::Done& done : bench.cuda->done()) {
    if (done.work == Did::kHold) CHECK(done.end - done.start < static_cast<double>(kCudaLongestHold));
  }
  bench.CheckClean();
}

TEST_CASE("algorithms come in the library's order, those that want too much memory not at all") {
  const auto network = Small();
  BenchItem item = ItemOf(network, FirstConvolution(*network));
  CudaBenchOptions options = Options();
  const auto cuda = std::make_shared<CudaStandIn>(Usual());
  {
    CudaBenchTarget target(options, cuda, *cuda);
    const std::vector<BenchVariant> variants = target.Variants(item);
    REQUIRE(variants.size() == 2);
    CHECK(variants[0].algorithm == 1);
    CHECK(variants[1].workspace == kMiB);
    CHECK(variants[0].deterministic == 1);
    item.launch.math = MathMode::kTf32;
    CHECK(target.Variants(item).size() == 2);
  }
  options.workspace_limit = kKiB;
  CudaBenchTarget target(options, cuda, *cuda);
  CHECK(target.Variants(item).size() == 1);
}

TEST_CASE("a launch that does not fit is refused by itself, and others go on") {
  StandInOptions options = Usual();
  options.memory = 64 * kMiB;
  options.properties.total_memory = 64 * kMiB;
  Bench bench(options);
  const auto large = MakeBenchNetwork("large", BuildZooNetwork("cifar-vgg", {.batch = 512}), {});
  CHECK_THROWS_AS(bench.Measure(ItemOf(large, FirstConvolution(*large))), UserError);
  const auto network = Small();
  CHECK(bench.Measure(ItemOf(network, 0)).median == kKernel);
  bench.CheckClean();
}

TEST_CASE("the device says what it is, and what is taken of its memory before anything is measured") {
  StandInOptions options = Usual();
  options.context_bytes = 300 * kMiB;
  options.library_bytes = 100 * kMiB;
  Bench bench(options);
  const Sample identity = bench.target->Identity();
  CHECK(identity.device == "NVIDIA H200");
  CHECK(identity.cuda == "13.0");
  CHECK(identity.cudnn == "9.9");
  CHECK(identity.kind == "step");
  const BenchFacts facts = bench.target->Facts("2020-01-01");
  CHECK(facts.device == "cuda0");
  CHECK(facts.reserve == 400 * kMiB);
  CHECK(facts.device_memory == 4 * kGiB);
  CHECK(facts.peak_flops == Approx(66900));  // of the chip table
  CHECK(facts.platform == Platform::kGpu);
  bench.CheckClean();
}

namespace {

// Small copies and one small network, so that a whole calibration takes a second.
std::vector<BenchItem> TinyPlan() {
  BenchPlanOptions options = CudaPlanOptions(true);
  for (BenchCopies& copies : options.copies) copies.most = std::min<Bytes>(copies.most, 8 * kMiB);
  return MakeBenchPlan({Small()}, {}, options);
}

BenchReport RunIt(CudaBenchTarget& target, const Clock& clock, BenchJournal& journal) {
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = Few(), .date = "2020-01-01"};
  return RunBench(TinyPlan(), target, clock, run, journal, watcher);
}

}  // namespace

TEST_CASE("a calibration becomes a profile that says what was put in") {
  StandInOptions options = Usual();
  // 10 operations and a byte per nanosecond, a microsecond more.
  options.kernel_time = [](const OpCall& call) {
    const Work work = CountWork(call.launch);
    return std::round(1000 + work.flops / 10 + work.bytes);
  };
  Bench bench(options);
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
  CHECK(link.duplex_factor == Approx(1).margin(0.01));
  CHECK(link.FindOtherMemory(OtherMemory::Kind::kPageable) != nullptr);
  CHECK(link.FindOtherMemory(OtherMemory::Kind::kManagedPrefetch) != nullptr);
  // fp32 and TF32, every algorithm, are rows of their own.
  std::set<std::string> convolutions;
  for (const MeasuredOp& op : device.measured) {
    if (op.op == "convolution" && op.pass == "forward") convolutions.insert(op.shape + op.algorithm + op.math);
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
    Bench bench;
    BenchJournal journal("");
    RunIt(*bench.target, *bench.cuda, journal);
    return bench.cuda->count(What::kLost);
  }();
  REQUIRE(count > 1000);
  for (std::uint32_t nth = count / 7; nth < count; nth += count / 7) {
    StandInOptions options = Usual();
    options.fault = {What::kLost, nth};
    const auto cuda = std::make_shared<CudaStandIn>(options);
    {
      CudaBenchTarget target(Options(), cuda, *cuda);
      BenchJournal journal("");
      CHECK_THROWS_AS(RunIt(target, *cuda, journal), UserError);
    }
    CHECK(cuda->leaks().empty());
  }
}

TEST_CASE("a kernel that the library refuses is left out by name") {
  StandInOptions options = Usual();
  options.fault = {What::kPrepare, 40};
  Bench bench(options);
  BenchJournal journal("");
  const BenchReport report = RunIt(*bench.target, *bench.cuda, journal);
  CHECK(report.refused.size() == 1);
  CHECK(report.measured > 100);
  bench.CheckClean();
}

// The call fails, the device goes on.
TEST_CASE("an algorithm that fails at run time is left out by name, and the calibration goes on") {
  StandInOptions options = Usual();
  options.fault = {What::kLaunch, 400};
  Bench bench(options);
  BenchJournal journal("");
  const BenchReport report = RunIt(*bench.target, *bench.cuda, journal);
  REQUIRE(report.refused.size() == 1);
  CHECK_THAT(report.refused[0], Catch::Contains("the call fails"));
  CHECK(report.measured > 100);
  bench.CheckClean();
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
  Bench bench;
  const std::vector<BenchItem> plan = {ItemOf(Small(), 0), ItemOf(Small(), 1)};
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = Few(), .date = "2020-01-01"};
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

TEST_CASE("a GPU's plan: transfers, host calls, the network in fp32, then in TF32") {
  const auto resnet = MakeBenchNetwork("resnet50", BuildZooNetwork("resnet50", {.batch = 2}), {});
  const std::vector<BenchItem> plan = MakeBenchPlan({resnet}, {}, CudaPlanOptions(false));
  std::set<Bytes> pinned;
  std::set<std::string> kinds;
  std::size_t first_tf32 = 0, last_fp32 = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    const BenchItem& item = plan[k];
    if (k > 0) CHECK(plan[k - 1].group <= item.group);
    if (item.kind == BenchItem::Kind::kCopy) kinds.insert(item.memory + " " + item.direction + " " + item.contention);
    if (item.memory == "pinned" && item.contention == "none") pinned.insert(item.bytes);
    if (item.group != BenchGroup::kNetworks) continue;
    const bool tf32 = item.launch.math == MathMode::kTf32;
    if (tf32) CHECK((item.launch.kind == OpKind::kConvolution || item.launch.kind == OpKind::kLinear));
    if (tf32 && first_tf32 == 0) first_tf32 = k;
    if (!tf32) last_fp32 = k;
  }
  CHECK(plan.front().memory == "pinned");
  CHECK(*pinned.begin() == 256);
  CHECK(*pinned.rbegin() == kGiB);
  CHECK(kinds.count("pinned h2d d2h") == 1);
  CHECK(kinds.count("pageable d2h none") == 1);
  CHECK(kinds.count("pitched h2d none") == 1);
  CHECK(kinds.count("managed_prefetch h2d none") == 1);
  CHECK(kinds.count("device d2d none") == 1);
  CHECK(first_tf32 > last_fp32);
}

TEST_CASE("the GPU's grid has the zoo at several batches, and windows that are not square") {
  std::set<std::string> names;
  bool oblong = false;
  for (const auto& network : CudaBenchGrid()) {
    names.insert(network->name);
    for (const Op& op : network->step.ops) oblong = oblong || op.shape.window[1] != op.shape.window[2];
  }
  CHECK(names == std::set<std::string>{"alexnet", "vgg16", "resnet50", "grid"});
  CHECK(oblong);
}

}  // namespace spillway
