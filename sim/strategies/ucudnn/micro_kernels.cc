#include "sim/strategies/ucudnn/micro_kernels.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "model/cost/op_tiles.h"

namespace spillway::ucudnn {
namespace {

std::vector<MicroKernel> Desirable(const CostModel& costs, const Launch& part, Bytes limit, int device) {
  std::vector<MicroKernel> kernels;
  for (const MenuEntry& entry : costs.Menu(part, device)) {
    if (entry.algorithm != 0) kernels.push_back({part.shape.in.n, entry.algorithm, entry.workspace, entry.cost.time});
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
  for (const std::int64_t samples : MicroBatches(policy, batch)) {
    const auto n = static_cast<std::size_t>(samples);
    const Launch first = PartOf(launch, samples, true), other = PartOf(launch, samples, false);
    kernels.first[n] = Desirable(costs, first, limit, device);
    kernels.other[n] = other == first || samples == batch ? kernels.first[n] : Desirable(costs, other, limit, device);
  }
  return kernels;
}

}  // namespace spillway::ucudnn
