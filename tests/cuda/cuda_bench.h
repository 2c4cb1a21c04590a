// What tests of measuring a GPU share: a stand-in whose times are known, so that what comes out can be held against what
// was put in; a small network and items of it; the target over both.
//
//   CudaBench bench;
//   CHECK(bench.Measure(CopyItem("pinned", "h2d", 8 * kMiB)).median == Approx(500 + kMiB));
//   bench.CheckClean();                                    // everything was given back, nothing misused
#ifndef SPILLWAY_TESTS_CUDA_CUDA_BENCH_H_
#define SPILLWAY_TESTS_CUDA_CUDA_BENCH_H_

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/devices/cuda/bench_target.h"
#include "tests/bench_network.h"
#include "tests/cuda/cuda_stand_in.h"

namespace spillway {

constexpr double kKernel = 5000;  // nanoseconds

// A stand-in whose host takes 2 us for each call: more than short kernels do.
inline StandInOptions UsualStandIn() {
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

inline std::shared_ptr<const BenchNetwork> SmallBenchNetwork() { return MakeBenchNetwork("everything", EveryOp(), {}); }

inline LoopOptions FewTimings() {
  LoopOptions options;
  options.least = 3;
  options.most = 5;
  options.warm_up = 3;
  options.least_timing = 1;
  options.most_runs = 4;
  return options;
}

inline BenchItem ItemOf(const std::shared_ptr<const BenchNetwork>& network, OpId op) {
  BenchItem item;
  item.from = network;
  item.op = op;
  item.launch = LaunchOf(network->step.ops[static_cast<std::size_t>(op)]);
  item.launch.workspace = kUsualWorkspace;
  return item;
}

inline OpId FirstConvolution(const BenchNetwork& network) {
  for (OpId id = 0;; ++id) {
    if (network.step.ops.at(static_cast<std::size_t>(id)).kind == OpKind::kConvolution) return id;
  }
}

inline BenchItem CopyItem(const std::string& memory, const std::string& direction, Bytes bytes) {
  BenchItem item;
  item.kind = BenchItem::Kind::kCopy;
  item.memory = memory;
  item.direction = direction;
  item.bytes = bytes;
  return item;
}

inline CudaBenchOptions UsualBenchOptions() {
  CudaBenchOptions options;
  options.version = "test";
  options.warm_up = 0;
  options.host_repetitions = 20;
  options.wander = options.beside = options.checked = kMiB;
  return options;
}

// The stand-in beside its target, which gives everything back first.
struct CudaBench {
  explicit CudaBench(StandInOptions options = UsualStandIn())
      : cuda(std::make_shared<CudaStandIn>(std::move(options))),
        target(std::make_unique<CudaBenchTarget>(UsualBenchOptions(), cuda, *cuda)) {}
  std::shared_ptr<CudaStandIn> cuda;
  std::unique_ptr<CudaBenchTarget> target;
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant = {}) {
    return target->Measure(item, variant, FewTimings());
  }
  void CheckClean() {
    target.reset();
    CHECK(cuda->leaks().empty());
    CHECK(cuda->violations() == std::vector<std::string>{});
  }
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_BENCH_H_
