#include "sim/strategies/ucudnn/micro_kernels.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace spillway::ucudnn {
namespace {

std::vector<MicroKernel> Desirable(const CostModel& costs, Launch launch, std::int64_t samples, Bytes limit,
                                   int device) {
  launch.shape.in.n = launch.shape.out.n = samples;
  std::vector<MicroKernel> kernels;
  for (const MenuEntry& entry : costs.Menu(launch, device)) {
    if (entry.algorithm != 0) kernels.push_back({samples, entry.algorithm, entry.workspace, entry.cost.time});
  }
  return DesirableSet(std::move(kernels), limit);
}

}  // namespace

std::vector<std::int64_t> MicroBatches(BatchPolicy policy, std::int64_t batch) {
  assert(batch > 0);
  std::vector<std::int64_t> sizes;
  if (policy != BatchPolicy::kUndivided) {
    for (std::int64_t n = 1; n < batch; n = policy == BatchPolicy::kAll ? n + 1 : 2 * n) sizes.push_back(n);
  }
  sizes.push_back(batch);
  return sizes;
}

std::vector<MicroKernel> DesirableSet(std::vector<MicroKernel> kernels, Bytes limit) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const MicroKernel& a, const MicroKernel& b) {
    return std::pair(a.workspace, a.time) < std::pair(b.workspace, b.time);
  });
  std::vector<MicroKernel> best;
  for (const MicroKernel& kernel : kernels) {
    if (kernel.workspace > limit) break;
    if (best.empty() || kernel.time < best.back().time) best.push_back(kernel);
  }
  return best;
}

MicroKernels MicroKernelsOf(const CostModel& costs, const Launch& launch, BatchPolicy policy, Bytes limit, int device) {
  assert(launch.kind == OpKind::kConvolution && launch.shape.in.n > 0 && launch.shape.in.n == launch.shape.out.n);
  const std::int64_t batch = launch.shape.in.n;
  MicroKernels kernels;
  kernels.other.resize(static_cast<std::size_t>(batch) + 1);
  kernels.first = kernels.other;
  // A sum over the batch: what is not its first part adds to the rest. Other passes write each sample once.
  const bool sums = launch.pass == Pass::kBackwardFilter && !launch.accumulate;
  Launch adding = launch;
  adding.accumulate = true;
  for (const std::int64_t samples : MicroBatches(policy, batch)) {
    const auto n = static_cast<std::size_t>(samples);
    kernels.first[n] = Desirable(costs, launch, samples, limit, device);
    kernels.other[n] = sums && samples < batch ? Desirable(costs, adding, samples, limit, device) : kernels.first[n];
  }
  return kernels;
}

}  // namespace spillway::ucudnn
