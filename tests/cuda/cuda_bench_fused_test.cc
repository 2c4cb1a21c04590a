// Convolutions with bias and activation in one call, as they are measured on the CUDA device: over a stand-in whose times are
// known.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/measure/profile.h"
#include "tests/cuda/cuda_bench_rows.h"

namespace spillway {
namespace {

using Catch::Contains;

BenchItem FusedItem(const std::shared_ptr<const BenchNetwork>& network, const char* fused) {
  BenchItem item = ItemOf(network, FirstConvolution(*network));
  item.fused = fused;
  return item;
}

}  // namespace

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

}  // namespace spillway
