#include "calibrate/devices/cuda/bench_plan.h"

#include <algorithm>

#include "calibrate/devices/cuda/bench_host.h"
#include "calibrate/devices/cuda/bench_touch.h"

namespace spillway {

BenchPlanOptions CudaPlanOptions(bool quick) {
  constexpr auto kMemory = BenchGroup::kMemory, kManaged = BenchGroup::kManaged;
  BenchPlanOptions options;
  options.quick = quick;
  const Bytes largest = quick ? 64 * kMiB : kGiB;
  options.copies = {
      {.memory = "pinned", .least = 256, .most = largest},
      {.memory = "pageable", .least = 4 * kKiB, .most = largest, .both = false, .group = kMemory},
      {.memory = "pitched",
       .least = 256 * kKiB,
       .most = 64 * kMiB,
       .factor = 16,
       .both = false,
       .group = kMemory,
       .row_bytes = {224, 896, 3584}},
      {.memory = "managed_prefetch", .least = 2 * kMiB, .most = largest, .both = false, .group = kManaged},
      {.memory = "device", .least = 4 * kKiB, .most = largest, .both = false, .directions = {"d2d"}, .group = kMemory}};
  // Faults are slow: what they take is told by less than a GiB.
  options.copies.push_back({.memory = kManagedTouch,
                            .least = 512 * kKiB,
                            .most = std::min(largest, 128 * kMiB),
                            .both = false,
                            .group = kManaged});
  options.host_calls = CudaHostCallNames();
  options.maths = {MathMode::kFp32, MathMode::kTf32};
  return options;
}

std::vector<std::string> CudaUsualNetworks() { return {"resnet50:64"}; }

}  // namespace spillway
