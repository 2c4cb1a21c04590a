// Convolutions in fp16 as they are measured on the CUDA device: what they find in memory, what their rows say, and that
// nothing else of a profile changes. Over a stand-in whose times are known.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/profile.h"
#include "hw/text/document.h"
#include "model/cost/cost_model.h"
#include "model/network/network.h"
#include "model/step/launch.h"
#include "tests/cuda/cuda_bench_rows.h"
#include "tests/cuda/half_values.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using Catch::Contains;

std::shared_ptr<const BenchNetwork> SmallHalfNetwork(Layout layout) {
  Network network = EveryOp();
  network.type = DataType::kFp16;
  network.math = MathMode::kFp16;
  network.layout = layout;
  return MakeBenchNetwork("everything", std::move(network), {});
}

// The first convolution forward, in fp32, then in fp16 in either layout.
std::vector<BenchItem> ThreeItems() {
  std::vector<BenchItem> items;
  for (const auto& network : {SmallBenchNetwork(), SmallHalfNetwork(Layout::kNchw), SmallHalfNetwork(Layout::kNhwc)}) {
    items.push_back(ItemOf(network, FirstConvolution(*network)));
  }
  return items;
}

// Half as long in fp16, a quarter in NHWC.
StandInOptions FasterInHalf() {
  StandInOptions options = UsualStandIn();
  options.kernel_time = [](const OpCall& call) {
    const double factor = call.launch.type == DataType::kFp32 ? 1 : 0.5;
    return kKernel * factor * (call.launch.layout == Layout::kNhwc ? 0.5 : 1);
  };
  return options;
}

Machine ProfileOf(const std::vector<Sample>& rows, CudaBench& bench) {
  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  return MachineOfBench(rows, facts, 2);
}

}  // namespace

// ---- numbers ------------------------------------------------------------------------------------------------------------

TEST_CASE("a half is the nearest there is, ties to even, and infinite beyond the largest") {
  const std::map<float, int> table = {{1.0f, 0x3c00},       {-2.0f, 0xc000},          {65504.0f, 0x7bff},
                                      {65519.0f, 0x7bff},   {65520.0f, 0x7c00},       {-1e30f, 0xfc00},
                                      {0x1p-14f, 0x0400},   {0x1p-24f, 0x0001},       {0x1p-25f, 0x0000},
                                      {0x1.8p-24f, 0x0002}, {0x1.ffep-15f, 0x0400},   {0x1.004p0f, 0x3c01},
                                      {0x1.002p0f, 0x3c00}, {0x1.006p0f, 0x3c02},     {0x1.0021p0f, 0x3c01},
                                      {0x1.ffep0f, 0x4000}, {0.333251953125f, 0x3555}};
  for (const auto& [value, half] : table) {
    INFO(value);
    CHECK(HalfOf(value) == half);
  }
  CHECK(HalfOf(-0.0f) == 0x8000);
  CHECK(std::isnan(OfHalf(HalfOf(std::nanf("")))));
  for (int half = 0; half < 0x7c00; ++half) {  // every finite one stands for itself
    const auto bits = static_cast<std::uint16_t>(half);
    if (HalfOf(OfHalf(bits)) != bits) FAIL_CHECK(half);
  }
}

TEST_CASE("operands in fp16 hold the numbers of those in fp32, rounded, none of them infinite") {
  for (const bool sparse : {false, true}) {
    const std::vector<float> numbers = BenchNumbers(sparse);
    const Halves halves = BenchHalves(sparse);
    REQUIRE(halves.size() == numbers.size());
    std::size_t wrong = 0, zeros = 0;
    for (std::size_t k = 0; k < halves.size(); ++k) {
      const float half = OfHalf(halves[k]), step = std::max(std::abs(numbers[k]) * 0x1p-11f, 0x1p-25f);
      const bool near = std::isfinite(half) && std::abs(half - numbers[k]) <= step;
      wrong += near ? 0 : 1;
      zeros += half == 0 ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(static_cast<double>(zeros) / static_cast<double>(halves.size()) == Approx(sparse ? 0.5 : 0).margin(0.01));
  }
}

TEST_CASE("a convolution in fp16 finds halves in memory, in half the room") {
  CudaBench bench;
  const std::vector<BenchItem> items = ThreeItems();
  for (const BenchItem& item : items) {
    const bool half = item.launch.type == DataType::kFp16;
    INFO(LayoutName(item.launch.layout) << ' ' << DataTypeName(item.launch.type));
    for (const BenchOperand& operand : BenchOperands(item.from->step, item.op, 0)) {
      CHECK(operand.type == item.launch.type);
      CHECK(operand.bytes ==
            item.from->step.tensors[static_cast<std::size_t>(operand.tensor)].shape.Elements() * (half ? 2 : 4));
    }
    bench.cuda->ForgetDone();
    bench.Measure(item);
    const auto& done = bench.cuda->done();
    const auto kernel = std::find_if(
        done.begin(), done.end(), [](const CudaStandIn::Done& one) { return one.work == CudaStandIn::Work::kKernel; });
    REQUIRE(kernel != done.end());
    // The image, of 2 x 8 x 8 x 8 numbers, begins as the pattern does.
    constexpr std::size_t kNumbers = 1024;
    if (half) {
      const Halves pattern = BenchHalves(false);
      CHECK(std::memcmp(kernel->reads.at(0), pattern.data(), 2 * kNumbers) == 0);
    } else {
      const std::vector<float> pattern = BenchNumbers(false);
      CHECK(std::memcmp(kernel->reads.at(0), pattern.data(), 4 * kNumbers) == 0);
    }
    const auto room =
        static_cast<const std::byte*>(kernel->reads.at(1)) - static_cast<const std::byte*>(kernel->reads[0]);
    CHECK(room == (half ? 2048 : 4096));
  }
  bench.CheckClean();
}

// ---- rows ---------------------------------------------------------------------------------------------------------------

TEST_CASE("rows of fp16 say precision, layout and math, and are told apart from all others") {
  CudaBench bench(FasterInHalf());
  const std::vector<BenchItem> plan = ThreeItems();
  BenchJournal journal("");
  CHECK(RunOver(plan, bench, journal).refused == std::vector<std::string>{});
  const std::vector<Sample> rows = ReadBack(journal);
  REQUIRE(rows.size() == 3 * 2);  // two algorithms
  std::set<std::string> keys;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Launch& wanted = plan[k / 2].launch;
    CHECK(rows[k].what == SampleKind::kKernel);
    CHECK(rows[k].launch.type == wanted.type);
    CHECK(rows[k].launch.layout == wanted.layout);
    CHECK(rows[k].launch.math == wanted.math);
    CHECK(rows[k].launch.shape == wanted.shape);
    CHECK(rows[k].microseconds == kKernel / 1000 / static_cast<double>(1 << k / 2));
    CHECK(rows[k].deterministic == 1);
    CHECK(rows[k].heuristic_rank == static_cast<int>(k % 2));
    keys.insert(BenchKey(rows[k]));
  }
  CHECK(keys.size() == rows.size());
  CHECK_THAT(SampleLine(journal.samples().back()), Contains(",fp16,fp16,nhwc,"));
  const BenchReport again = RunOver(plan, bench, journal);
  CHECK(again.measured == 0);
  CHECK(again.known == 3);
  bench.CheckClean();
}

TEST_CASE("what the library has not in fp16 is refused by name, and the rest goes on") {
  CudaBench bench;
  std::vector<BenchItem> plan = ThreeItems();
  const auto network = SmallHalfNetwork(Layout::kNhwc);
  for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
    if (network->step.ops[static_cast<std::size_t>(op)].kind == OpKind::kRelu)
      plan.insert(plan.begin(), ItemOf(network, op));
  }
  BenchJournal journal("");
  const BenchReport report = RunOver(plan, bench, journal);
  REQUIRE(plan.size() == 3 + 4);
  REQUIRE(report.refused.size() == 2);  // forward and backward: the same launches are in the plan twice
  CHECK_THAT(report.refused[0], Contains("in fp16 nhwc: only convolutions are measured in fp16"));
  CHECK(journal.samples().size() == 3 * 2);
  bench.CheckClean();
}

TEST_CASE("a run that ended with a launch in fp16 leaves out that one, and names its type") {
  const TemporaryFolder folder("cuda_bench_half");
  const std::string path = folder.Path("x.samples.csv");
  CudaBench bench;
  const std::vector<BenchItem> plan = ThreeItems();
  BenchJournal whole("");
  RunOver(plan, bench, whole);
  BenchInflight(InflightPath(path)).Begin(whole.samples()[4]);  // NHWC, the first algorithm
  BenchJournal journal(path);
  journal.Resume(bench.target->Identity());
  const BenchReport report = RunOver(plan, bench, journal);
  REQUIRE(report.refused.size() == 1);
  CHECK_THAT(report.refused[0], Contains("convolution forward in fp16 nhwc by implicit_gemm of everything: left out"));
  CHECK(journal.samples().size() == whole.samples().size() - 1);
  bench.CheckClean();
}

// ---- profile ------------------------------------------------------------------------------------------------------------

TEST_CASE("rows of fp16 answer for their own launches, and change nothing else of a profile") {
  StandInOptions options = UsualStandIn();
  options.kernel_time = [](const OpCall& call) {
    const Work work = CountWork(call.launch);
    return std::round(1000 + work.flops / 10 + work.bytes);
  };
  options.issue_time = [](const OpCall& call) { return call.launch.type == DataType::kFp32 ? 3000.0 : 9000.0; };
  CudaBench bench(options);
  std::vector<BenchItem> plan, halves;
  for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
    const auto single = SmallBenchNetwork(), half = SmallHalfNetwork(layout);
    for (OpId op = 0; op < static_cast<OpId>(single->step.ops.size()); ++op) {
      if (layout == Layout::kNchw) plan.push_back(ItemOf(single, op));
      if (half->step.ops[static_cast<std::size_t>(op)].kind == OpKind::kConvolution) halves.push_back(ItemOf(half, op));
    }
  }
  BenchJournal journal("");
  RunOver(plan, bench, journal);
  const std::size_t singles = journal.samples().size();
  CHECK(RunOver(halves, bench, journal).refused == std::vector<std::string>{});
  const std::vector<Sample> rows = ReadBack(journal);
  REQUIRE(rows.size() > singles + 20);
  const Machine before = ProfileOf({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(singles)}, bench);
  Machine after = ProfileOf(rows, bench);
  REQUIRE(!before.devices[0].models.empty());
  REQUIRE(!before.devices[0].host_costs.launches.empty());

  const CostModel costs(after);
  for (const BenchItem& item : halves) {
    const Cost cost = costs.Kernel(item.launch);
    CHECK(std::string(cost.how) == "measured");
    const Work work = CountWork(item.launch);
    CHECK(static_cast<double>(cost.time) == Approx(1000 + work.flops / 10 + work.bytes).epsilon(0.01));
  }
  std::erase_if(after.devices[0].measured, [](const MeasuredOp& op) { return op.precision == "fp16"; });
  CHECK(after.devices[0].measured.size() == before.devices[0].measured.size());
  CHECK(MachineToYaml(after) == MachineToYaml(before));
  bench.CheckClean();
}

// ---- the plan -----------------------------------------------------------------------------------------------------------

TEST_CASE("fp16 is measured on convolutions of ResNet-50 and VGG-16: all passes, NCHW beside NHWC") {
  const std::vector<BenchItem> items = CudaHalfItems();
  REQUIRE(items.size() == 2 * (6 * 3 + 2 + 3 * 3));  // conv1 of ResNet-50 has no gradient of its input
  std::map<Pass, int> passes;
  std::set<std::int64_t> windows;
  bool strides = false;
  for (std::size_t k = 0; k < items.size(); ++k) {
    const BenchItem& item = items[k];
    const Launch& launch = item.launch;
    CHECK(launch == [&] {
      Launch of_step = LaunchOf(item.from->step.ops[static_cast<std::size_t>(item.op)]);
      of_step.workspace = kUsualWorkspace;
      return of_step;
    }());
    CHECK(launch.type == DataType::kFp16);
    CHECK(launch.math == MathMode::kFp16);
    CHECK(launch.layout == (k % 2 == 0 ? Layout::kNchw : Layout::kNhwc));
    CHECK(launch.shape == items[k / 2 * 2].launch.shape);
    CHECK(launch.pass == items[k / 2 * 2].launch.pass);
    CHECK(!launch.accumulate);
    CHECK(launch.shape.in.n == (item.from->name == "resnet50" ? 64 : 32));
    ++passes[launch.pass];
    windows.insert(launch.shape.window[1]);
    strides = strides || (launch.shape.window[1] == 1 && launch.shape.stride[1] == 2);
  }
  CHECK(windows == std::set<std::int64_t>{1, 3, 7});
  CHECK(strides);
  CHECK(passes ==
        std::map<Pass, int>{{Pass::kForward, 2 * 10}, {Pass::kBackwardData, 2 * 9}, {Pass::kBackwardFilter, 2 * 10}});
}

TEST_CASE("beyond the grid come copies between devices, then fp16, then what is fused") {
  StandInOptions options = UsualStandIn();
  options.devices = 2;
  CudaStandIn cuda(options);
  std::vector<int> kinds;
  for (const BenchItem& item : MakeCudaBeyond(cuda, false).items) {
    kinds.push_back(item.from_device >= 0 ? 0 : item.fused.empty() ? 1 : 2);
  }
  CHECK(std::is_sorted(kinds.begin(), kinds.end()));
  CHECK(std::count(kinds.begin(), kinds.end(), 1) == 58);
  CHECK(std::count(kinds.begin(), kinds.end(), 2) == 32);
}

}  // namespace spillway
