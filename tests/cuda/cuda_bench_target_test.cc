// The CUDA device as something to measure: what it is, which algorithms it offers, what it refuses, and clocks that were
// held back.
#include <catch2/catch.hpp>

#include "model/kernels/kernel_form.h"
#include "model/zoo/zoo.h"
#include "tests/cuda/cuda_bench.h"

namespace spillway {

TEST_CASE("the device says what it is, and what is taken of its memory before anything is measured") {
  StandInOptions options = UsualStandIn();
  options.context_bytes = 300 * kMiB;
  options.library_bytes = 100 * kMiB;
  CudaBench bench(options);
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

TEST_CASE("algorithms come in the library's order, those that want too much memory not at all") {
  const auto network = SmallBenchNetwork();
  BenchItem item = ItemOf(network, FirstConvolution(*network));
  CudaBenchOptions options = UsualBenchOptions();
  const auto cuda = std::make_shared<CudaStandIn>(UsualStandIn());
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

namespace {

class CountingStandIn : public CudaStandIn {
 public:
  using CudaStandIn::CudaStandIn;
  std::vector<CudaAlgorithm> Algorithms(const OpCall& call) override {
    ++asked;
    return CudaStandIn::Algorithms(call);
  }
  int asked = 0;
};

}  // namespace

TEST_CASE("algorithms are asked for once for each problem, whichever network has it") {
  const auto cuda = std::make_shared<CountingStandIn>(UsualStandIn());
  CudaBenchTarget target(UsualBenchOptions(), cuda, *cuda);
  for (int again = 0; again < 2; ++again) {
    const auto network = SmallBenchNetwork();  // another object each time
    const BenchItem item = ItemOf(network, FirstConvolution(*network));
    CHECK(target.Variants(item).size() == 2);
    CHECK(cuda->asked == 1);
  }
  const auto network = SmallBenchNetwork();
  BenchItem item = ItemOf(network, FirstConvolution(*network));
  item.launch.math = MathMode::kTf32;
  CHECK(target.Variants(item).size() == 2);
  CHECK(target.Variants(item).size() == 2);
  CHECK(cuda->asked == 2);
}

TEST_CASE("a launch that does not fit is refused by itself, and others go on") {
  StandInOptions options = UsualStandIn();
  options.memory = 64 * kMiB;
  options.properties.total_memory = 64 * kMiB;
  CudaBench bench(options);
  const auto large = MakeBenchNetwork("large", BuildZooNetwork("cifar-vgg", {.batch = 512}), {});
  CHECK_THROWS_AS(bench.Measure(ItemOf(large, FirstConvolution(*large))), UserError);
  const auto network = SmallBenchNetwork();
  CHECK(bench.Measure(ItemOf(network, 0)).median == kKernel);
  bench.CheckClean();
}

namespace {

// Throttled for the next `left` looks, at its power cap always.
class Hot : public CudaStandIn {
 public:
  explicit Hot(int left) : CudaStandIn(Untold()), left_(left) {}
  CudaClocks Clocks() override {
    ++looks;
    return {.sm_mhz = 1500, .throttled = left_-- > 0 ? "temperature" : "", .limited = "power cap"};
  }
  int looks = 0;

 private:
  // Whose counters stand still: the driver's word is all there is.
  static StandInOptions Untold() {
    StandInOptions options = UsualStandIn();
    options.clock_ghz = [](double) { return 0; };
    return options;
  }
  int left_;
};

}  // namespace

TEST_CASE("what was throttled is measured again, twice at most, and flagged") {
  const auto network = SmallBenchNetwork();
  const BenchItem item = ItemOf(network, 0);
  const struct {
    int throttled, takes;
    bool flagged;
  } cases[] = {{0, 1, false}, {1, 2, false}, {2, 3, false}, {3, 3, true}, {9, 3, true}};
  for (const auto& c : cases) {
    const auto hot = std::make_shared<Hot>(c.throttled);
    CudaBenchTarget target(UsualBenchOptions(), hot, *hot);
    const LoopResult result = target.Measure(item, {}, FewTimings());
    CHECK(hot->looks == c.takes);
    CHECK(result.throttled == c.flagged);
    CHECK(result.sm_clock_mhz == 1500);
    CHECK(result.limited == "power cap");
  }
}

TEST_CASE("a limit by settings is noted in the row, which counts as any other") {
  const auto hot = std::make_shared<Hot>(0);
  CudaBenchTarget target(UsualBenchOptions(), hot, *hot);
  BenchJournal journal("");
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
  const std::vector<BenchItem> plan = {ItemOf(SmallBenchNetwork(), 0)};
  RunBench(plan, target, *hot, run, journal, watcher);
  REQUIRE(!journal.samples().empty());
  CHECK(HasFlag(journal.samples()[0], "power cap"));
  CHECK_FALSE(HasFlag(journal.samples()[0], kThrottledNote));
}

}  // namespace spillway
