// Rows of TF32 are of kernels that round as TF32 does, on a stand-in that computes.
#include <catch2/catch.hpp>

#include "calibrate/devices/cuda/bench_checks.h"
#include "tests/cuda/cuda_bench.h"

namespace spillway {
namespace {

StandInOptions Computing() {
  StandInOptions options = UsualStandIn();
  options.compute = true;
  return options;
}

BenchItem InTf32(const std::shared_ptr<const BenchNetwork>& network, OpId op) {
  BenchItem item = ItemOf(network, op);
  item.launch.math = MathMode::kTf32;
  return item;
}

}  // namespace

TEST_CASE("what may be made in TF32 is measured where it is, and refused by name where it is not") {
  const auto network = SmallBenchNetwork();
  const BenchItem item = InTf32(network, FirstConvolution(*network));
  CudaBench rounds(Computing());
  CHECK(rounds.Measure(item, rounds.target->Variants(item).front()).median == kKernel);
  rounds.CheckClean();
  StandInOptions options = Computing();
  const std::vector<BenchVariant> variants = CudaBench(options).target->Variants(item);
  for (const BenchVariant& variant : variants) options.without_tf32.insert(variant.algorithm);
  CudaBench exact(options);
  CHECK_THROWS_WITH(exact.Measure(item, variants.front()), Catch::Contains("no TF32 kernel ran"));
  exact.CheckClean();
}

TEST_CASE("every product of a step tells by its result whether it was rounded") {
  const auto network = SmallBenchNetwork();
  CudaStandIn cuda(Computing());
  {
    CudaBenchMemory memory(cuda, 64 * kKiB);
    CudaTimer timer(cuda);
    int products = 0;
    for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
      const Op& node = network->step.ops[static_cast<std::size_t>(op)];
      if (!IsProduct(node.kind)) continue;
      INFO(node.name);
      OpCall call = BenchCallOf(*network, op, ItemOf(network, op).launch);
      CHECK(RoundingOf(call, network->step, op, cuda, memory, timer.stream()) == Rounding::kAsFp32);
      call.launch.math = MathMode::kTf32;
      CHECK(RoundingOf(call, network->step, op, cuda, memory, timer.stream()) == Rounding::kAsTf32);
      ++products;
    }
    CHECK(products > 4);
  }
  CHECK(cuda.leaks() == "");
  CHECK(cuda.violations() == std::vector<std::string>{});
}

}  // namespace spillway
