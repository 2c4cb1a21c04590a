// What no step has, as it is measured on the CUDA device: convolutions with bias and activation in one call, copies
// between two devices, memory that comes by faults. Over a stand-in whose times are known.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/fit/transfer.h"
#include "calibrate/measure/cuda/plan.h"
#include "calibrate/measure/cuda/touch.h"
#include "calibrate/measure/profile.h"
#include "hw/text/document.h"
#include "tests/cuda/cuda_bench_rows.h"

namespace spillway {
namespace {

using Catch::Contains;
using What = StandInFault::What;

StandInOptions Two() {
  StandInOptions options = UsualStandIn();
  options.devices = 2;
  options.peer_rate = 16;
  options.staged_rate = 2;
  return options;
}

BenchItem PeerItem(const char* kind, int from, int to, Bytes bytes) {
  BenchItem item = CopyItem(kind, "d2d", bytes);
  item.link = "cuda" + std::to_string(from) + "-cuda" + std::to_string(to);
  item.from_device = from;
  item.to_device = to;
  return item;
}

BenchItem FusedItem(const std::shared_ptr<const BenchNetwork>& network, const char* fused) {
  BenchItem item = ItemOf(network, FirstConvolution(*network));
  item.fused = fused;
  return item;
}

}  // namespace

// ---- convolution, bias, activation --------------------------------------------------------------------------------------

TEST_CASE("a fused convolution reads a bias behind its operands, and takes its own time") {
  StandInOptions options = UsualStandIn();
  options.compute = true;
  CudaBench bench(options);
  const auto network = SmallBenchNetwork();
  bench.cuda->ForgetDone();
  CHECK(bench.Measure(FusedItem(network, kConvolutionBiasRelu)).median == kKernel);
  int fused = 0;
  for (const CudaStandIn::Done& done : bench.cuda->done()) {
    if (done.kernel.find("with bias and ReLU") == std::string::npos) continue;
    ++fused;
    REQUIRE(done.reads.size() == 3);
    CHECK(std::set<const void*>(done.reads.begin(), done.reads.end()).size() == 3);
    CHECK(done.writes.size() == 1);
  }
  CHECK(fused > 3);
  bench.CheckClean();
}

TEST_CASE("with ReLU every algorithm is tried, with the bias alone the one that does it") {
  CudaBench bench;
  const auto network = SmallBenchNetwork();
  CHECK(bench.target->Variants(FusedItem(network, kConvolutionBiasRelu)).size() == 2);
  const std::vector<BenchVariant> bias = bench.target->Variants(FusedItem(network, kConvolutionBias));
  REQUIRE(bias.size() == 1);
  CHECK(bias[0].algorithm == 2);  // implicit_precomp_gemm
  CHECK(bench.target->Variants(ItemOf(network, FirstConvolution(*network))).size() == 2);
}

TEST_CASE("fused rows are read back as they were written, and neither fitted nor replayed") {
  CudaBench bench;
  const auto network = SmallBenchNetwork();
  std::vector<BenchItem> plan = {FusedItem(network, kConvolutionBiasRelu), FusedItem(network, kConvolutionBias)};
  plan.push_back(plan[0]);
  plan.back().launch.math = MathMode::kTf32;
  BenchJournal journal("");
  CHECK(RunOver(plan, bench, journal).refused == std::vector<std::string>{});
  const std::vector<Sample> rows = ReadBack(journal);
  REQUIRE(rows.size() == 5);  // two algorithms, one, two
  std::multiset<std::string> ops;
  for (const Sample& row : rows) {
    ops.insert(row.op);
    CHECK(row.what == SampleKind::kOther);
    CHECK(row.launch.kind == OpKind::kConvolution);
    CHECK(row.launch.shape == plan[0].launch.shape);
    CHECK(row.microseconds == kKernel / 1000);
    CHECK(row.network == "everything");
    CHECK(row.kind == "step");
    CHECK(row.workspace == (row.algorithm == kAlgorithmOfBias ? kMiB : 0));
  }
  CHECK(ops.count(kConvolutionBiasRelu) == 4);
  CHECK(ops.count(kConvolutionBias) == 1);
  CHECK(rows[3].launch.math == MathMode::kTf32);
  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  const Machine machine = MachineOfBench(rows, facts, 0);
  CHECK(machine.devices.at(0).measured.empty());
  CHECK(machine.devices.at(0).models.empty());
  // The second time everything is known.
  const BenchReport again = RunOver(plan, bench, journal);
  CHECK(again.measured == 0);
  CHECK(again.known == 3);
  bench.CheckClean();
}

TEST_CASE("an algorithm that is not fused is a refusal by name, and nothing more") {
  StandInOptions options = UsualStandIn();
  options.unfused = {1};
  CudaBench bench(options);
  BenchJournal journal("");
  const BenchReport report = RunOver({FusedItem(SmallBenchNetwork(), kConvolutionBiasRelu)}, bench, journal);
  REQUIRE(report.refused.size() == 1);
  CHECK_THAT(report.refused[0], Contains("with bias and ReLU: not supported"));
  REQUIRE(journal.samples().size() == 1);
  CHECK(journal.samples()[0].algorithm == kAlgorithmOfBias);
  bench.CheckClean();
}

TEST_CASE("the stand-in computes what is fused: convolution, then bias, then ReLU") {
  CudaStandIn cuda;
  if (!HasCpuKernels()) return;
  // One pixel, two channels in, three out: sums 1*1 + 2*1 = 3, 1*2 - 2*2 = -2, 0; the bias adds 1, 1, -4.
  OpCall call;
  call.launch.kind = OpKind::kConvolution;
  call.launch.shape = {.in = {.n = 1, .c = 2, .h = 1, .w = 1}, .out = {.n = 1, .c = 3, .h = 1, .w = 1}};
  CudaStream* const stream = cuda.MakeStream(false);
  auto* const at = static_cast<float*>(cuda.Malloc(1024));
  const float numbers[] = {1, 2, 1, 1, 2, -2, 0, 0, 1, 1, -4};
  std::copy(std::begin(numbers), std::end(numbers), at);
  void* const reads[] = {at, at + 2, at + 8};
  void* const writes[] = {at + 16};
  auto* const workspace = static_cast<std::byte*>(cuda.Malloc(kMiB));
  for (const bool relu : {false, true}) {
    const std::unique_ptr<CudaKernel> kernel = cuda.PrepareFused(call, relu);
    REQUIRE(kernel->workspace() <= kMiB);
    kernel->Run(stream, {.reads = reads, .writes = writes, .workspace = workspace});
    cuda.Synchronize(stream);
    CHECK(at[16] == 4);
    CHECK(at[17] == (relu ? 0 : -1));
    CHECK(at[18] == (relu ? 0 : -4));
  }
  cuda.Free(at);
  cuda.Free(workspace);
  cuda.Destroy(stream);
  CHECK(cuda.leaks() == "");
  CHECK(cuda.violations() == std::vector<std::string>{});
}

TEST_CASE("the convolutions that are fused are ResNet-50's and VGG-16's, in fp32, then in TF32") {
  const std::vector<BenchItem> items = CudaFusedItems();
  std::set<std::string> networks;
  std::map<std::string, int> windows;
  bool tf32 = false;
  for (const BenchItem& item : items) {
    networks.insert(item.from->name);
    ++windows[std::to_string(item.launch.shape.window[1])];
    if (tf32) CHECK(item.launch.math == MathMode::kTf32);
    tf32 = item.launch.math == MathMode::kTf32;
    CHECK(item.launch.pass == Pass::kForward);
  }
  CHECK(tf32);
  CHECK(networks == std::set<std::string>{"resnet50", "vgg16"});
  CHECK(windows == std::map<std::string, int>{{"1", 8}, {"3", 20}, {"7", 4}});  // of 2, 5 and 1 layers
}

// ---- copies between two devices -----------------------------------------------------------------------------------------

TEST_CASE("copies between two devices take what lies between them: straight, or through the host") {
  CudaBench bench(Two());
  const double bytes = 8 * static_cast<double>(kMiB);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    CHECK(bench.Measure(PeerItem(kPeerCopies, from, to, 8 * kMiB)).median == Approx(500 + bytes / 16));
    CHECK(bench.Measure(PeerItem(kStagedCopies, from, to, 8 * kMiB)).median == Approx(500 + bytes / 2));
    CHECK(bench.Measure(PeerItem(kPeerCopies, from, to, 64 * kKiB)).median == Approx(500 + 64 * 1024 / 16));
    CHECK(bench.cuda->peer_access().empty());  // as it was found
  }
  bench.CheckClean();
}

TEST_CASE("peer access that was there before stays") {
  CudaBench bench(Two());
  CHECK(bench.cuda->EnablePeerAccess(0, 1));
  CHECK(bench.Measure(PeerItem(kPeerCopies, 0, 1, kMiB)).median == Approx(500 + 1024 * 1024 / 16));
  CHECK(bench.cuda->peer_access() == std::set<std::pair<int, int>>{{0, 1}});
  bench.cuda->DisablePeerAccess(0, 1);
  bench.CheckClean();
}

TEST_CASE("one device: no copies between devices, and one sentence says so") {
  CudaStandIn one(UsualStandIn());
  const CudaBeyond beyond = CudaPeerItems(one, false);
  CHECK(beyond.items.empty());
  REQUIRE(beyond.not_measured.size() == 1);
  CHECK_THAT(beyond.not_measured[0], Contains("this machine has one"));
  // Without a way between them only what goes through the host is left.
  StandInOptions options = Two();
  options.peers = false;
  CudaStandIn apart(options);
  const CudaBeyond staged = CudaPeerItems(apart, false);
  CHECK(staged.items.size() == 2 * 8);  // 64 KiB to 1 GiB
  for (const BenchItem& item : staged.items) CHECK(item.memory == kStagedCopies);
  REQUIRE(staged.not_measured.size() == 1);
  CHECK_THAT(staged.not_measured[0], Contains("cuda0 and cuda1"));
}

TEST_CASE("three devices: this one with each other, both ways, both kinds") {
  StandInOptions options = Two();
  options.devices = 3;
  CudaStandIn cuda(options);
  const CudaBeyond beyond = CudaPeerItems(cuda, false);
  CHECK(beyond.not_measured.empty());
  CHECK(beyond.items.size() == 2 * 2 * 2 * 8);
  std::set<std::string> links;
  for (const BenchItem& item : beyond.items) links.insert(item.link);
  CHECK(links == std::set<std::string>{"cuda0-cuda1", "cuda1-cuda0", "cuda0-cuda2", "cuda2-cuda0"});
  CHECK(CudaPeerItems(cuda, true).items.size() == 2 * 2 * 2 * 3);  // 64 KiB, 1 and 16 MiB
}

TEST_CASE("rows of copies between devices are read back, and no link of the profile is made of them") {
  CudaBench bench(Two());
  std::vector<BenchItem> plan = {CopyItem("pinned", "h2d", kMiB), CopyItem("pinned", "d2h", kMiB)};
  for (const char* kind : {kPeerCopies, kStagedCopies}) {
    for (const Bytes bytes : {kMiB, 4 * kMiB}) plan.push_back(PeerItem(kind, 0, 1, bytes));
  }
  BenchJournal journal("");
  CHECK(RunOver(plan, bench, journal).refused.empty());
  const std::vector<Sample> rows = ReadBack(journal);
  REQUIRE(rows.size() == 6);
  CHECK(rows[2].direction == "d2d");
  CHECK(rows[2].kind == kPeerCopies);
  CHECK(rows[2].link == "cuda0-cuda1");
  CHECK(rows[2].bytes == kMiB);
  CHECK(rows[5].kind == kStagedCopies);
  const TransferFit fit = FitTransfers(rows);
  REQUIRE(fit.links.size() == 1);
  CHECK(fit.links[0].link == "local");
  bench.CheckClean();
}

TEST_CASE("a device without room for its side is told, the other goes on") {
  StandInOptions options = Two();
  options.memory = 64 * kMiB;  // each
  CudaBench bench(options);
  void* const there = bench.cuda->MallocOn(1, 48 * kMiB);
  CHECK_THROWS_WITH(bench.Measure(PeerItem(kPeerCopies, 0, 1, 16 * kMiB)), Contains("cuda1 has to spare"));
  bench.cuda->FreeOn(1, there);
  CHECK(bench.Measure(PeerItem(kPeerCopies, 0, 1, kMiB)).median > 0);
  bench.CheckClean();
}

TEST_CASE("whatever fails while two devices copy, access is as it was and nothing leaks") {
  const std::vector<BenchItem> plan = {PeerItem(kPeerCopies, 0, 1, kMiB), PeerItem(kPeerCopies, 1, 0, kMiB)};
  const auto count = [&](What what) {
    CudaBench bench(Two());
    BenchJournal journal("");
    CHECK(RunOver(plan, bench, journal).refused.empty());
    return bench.cuda->count(what);
  };
  // Refused, and the other of the two goes on; or the device is lost, which ends it.
  for (const What what : {What::kPeer, What::kMalloc, What::kCopyCall, What::kCopyFails, What::kLost}) {
    const std::uint32_t calls = count(what);
    REQUIRE(calls > 0);
    for (std::uint32_t nth = 0; nth < calls; nth += std::max<std::uint32_t>(1, calls / 20)) {
      INFO(static_cast<int>(what) << " number " << nth);
      StandInOptions options = Two();
      options.fault = {what, nth};
      const auto cuda = std::make_shared<CudaStandIn>(options);
      bool lost = false;
      std::size_t rows = 0;
      try {
        CudaBenchTarget target(UsualBenchOptions(), cuda, *cuda);
        BenchJournal journal("");
        BenchWatcher watcher;
        const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
        RunBench(plan, target, *cuda, run, journal, watcher);
        rows = journal.samples().size();
      } catch (const UserError&) {
        lost = true;
      } catch (const DeviceError&) {  // before anything was measured
        lost = true;
      }
      CHECK(cuda->leaks() == "");
      const bool goes_on = what == What::kPeer || what == What::kCopyCall;
      if (goes_on) CHECK(rows == 1);
      if (what == What::kCopyFails || what == What::kLost) CHECK(lost);
    }
  }
}

// ---- memory that comes by faults ----------------------------------------------------------------------------------------

TEST_CASE("pages that nobody fetched come by faults, to the kernel that reads them and to the host") {
  StandInOptions options = UsualStandIn();
  options.fault_rate = 2;
  options.device_rate = 0;
  CudaBench bench(options);
  const double bytes = 8 * static_cast<double>(kMiB);
  CHECK(bench.Measure(CopyItem(kManagedTouch, "h2d", 8 * kMiB)).median == Approx(kKernel + bytes / 2));
  CHECK(bench.Measure(CopyItem(kManagedTouch, "d2h", 8 * kMiB)).median == Approx(bytes / 2));
  // Smaller ones in the same memory, each timing from the other side again.
  CHECK(bench.Measure(CopyItem(kManagedTouch, "h2d", kMiB)).median == Approx(kKernel + bytes / 16));
  CHECK(bench.Measure(CopyItem(kManagedTouch, "d2h", kMiB)).median == Approx(bytes / 16));
  bench.CheckClean();
}

TEST_CASE("faults are bounded as prefetches are, and refused without unified memory") {
  CudaBench bench;  // 4 GiB
  CHECK_THROWS_WITH(bench.Measure(CopyItem(kManagedTouch, "h2d", 2 * kGiB)), Contains("managed memory are too much"));
  bench.CheckClean();
  StandInOptions options = UsualStandIn();
  options.properties.managed_memory = false;
  CudaBench without(options);
  CHECK_THROWS_AS(without.Measure(CopyItem(kManagedTouch, "h2d", kMiB)), UserError);
  without.CheckClean();
}

TEST_CASE("the plan has faults behind all else, and what is beyond behind the grid") {
  BenchPlanOptions options = CudaPlanOptions(false);
  for (std::size_t k = 0; k < BenchGroupNames().size(); ++k) options.groups.push_back(static_cast<BenchGroup>(k));
  CudaStandIn cuda(Two());
  options.beyond = MakeCudaBeyond(cuda, false).items;
  const auto network = SmallBenchNetwork();
  const std::vector<BenchItem> plan = MakeBenchPlan({network}, {network}, options);
  std::set<Bytes> sizes;
  std::size_t last_copy = 0, first_touch = plan.size(), first_beyond = plan.size(), peers = 0, fused = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    if (k > 0) CHECK(plan[k - 1].group <= plan[k].group);
    const bool beyond = plan[k].group == BenchGroup::kBeyond;
    if (beyond) first_beyond = std::min(first_beyond, k);
    const bool half = plan[k].launch.type == DataType::kFp16;
    CHECK((plan[k].from_device >= 0 || half || !plan[k].fused.empty()) == beyond);
    peers += plan[k].from_device >= 0 ? 1 : 0;
    fused += plan[k].fused.empty() ? 0 : 1;
    if (plan[k].kind != BenchItem::Kind::kCopy || beyond) continue;
    if (plan[k].memory != kManagedTouch) {
      last_copy = k;
      continue;
    }
    first_touch = std::min(first_touch, k);
    sizes.insert(plan[k].bytes);
  }
  CHECK(first_touch > last_copy);
  CHECK(sizes == std::set<Bytes>{512 * kKiB, 2 * kMiB, 8 * kMiB, 32 * kMiB, 128 * kMiB});
  CHECK(peers == 2 * 2 * 8);
  CHECK(fused == 32);
  CHECK(plan[first_beyond].from_device >= 0);
  CHECK(plan.back().group == BenchGroup::kManaged);
}

TEST_CASE("a profile has the curves of faults, both ways") {
  StandInOptions options = UsualStandIn();
  options.fault_rate = 2;
  CudaBench bench(options);
  std::vector<BenchItem> plan;
  for (const char* direction : {"h2d", "d2h"}) {
    for (const char* kind : {"pinned", kManagedTouch}) {
      for (Bytes bytes = 512 * kKiB; bytes <= 32 * kMiB; bytes *= 4) plan.push_back(CopyItem(kind, direction, bytes));
    }
  }
  BenchJournal journal("");
  CHECK(RunOver(plan, bench, journal).refused == std::vector<std::string>{});
  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  const Machine machine = MachineOfBench(ReadBack(journal), facts, 0);
  const OtherMemory* const touched = machine.links.at(0).FindOtherMemory(OtherMemory::Kind::kManagedTouch);
  REQUIRE(touched != nullptr);
  CHECK(touched->curves[0].Rate() == Approx(2).epsilon(0.02));
  CHECK(touched->curves[1].Rate() == Approx(2).epsilon(0.02));
  bench.CheckClean();
}

}  // namespace spillway
