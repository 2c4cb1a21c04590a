// What micro-cuDNN builds from (Oyama et al., Accelerating Deep Learning Frameworks with Micro-batches, CLUSTER 2018,
// arXiv 1804.04806): the ways to run a convolution on a part of its batch.
#ifndef SPILLWAY_SIM_STRATEGIES_UCUDNN_MICRO_KERNELS_H_
#define SPILLWAY_SIM_STRATEGIES_UCUDNN_MICRO_KERNELS_H_

#include <cstdint>
#include <vector>

#include "model/cost/cost_model.h"

namespace spillway::ucudnn {

// One call on a micro-batch.
struct MicroKernel {
  std::int64_t samples = 0;
  std::int32_t algorithm = 0;  // by name, as in Launch
  Bytes workspace = 0;
  Nanos time = 0;
  bool operator==(const MicroKernel&) const = default;
};

// The micro-batches that are tried.
enum class BatchPolicy : std::uint8_t {
  kUndivided,    // {B}
  kPowersOfTwo,  // {1, 2, 4, ... <= B} and B
  kAll,          // {1, 2, 3, ... B}
};
// Ascending, the whole batch last. Each policy has all that the one before it has. REQUIRES: batch > 0.
std::vector<std::int64_t> MicroBatches(BatchPolicy policy, std::int64_t batch);

// The desirable set of one micro-batch: those within `limit` bytes of workspace that no other one beats in both workspace
// and time. Ascending in workspace, descending in time, both strictly; of equal ones the first.
std::vector<MicroKernel> DesirableSet(std::vector<MicroKernel> kernels, Bytes limit);

// The desirable sets of a convolution by samples, 0 to its batch; empty for what is not tried or cannot run. The part that
// comes first may cost less: each part of a backward filter but the first adds to what those before it left.
struct MicroKernels {
  std::vector<std::vector<MicroKernel>> first, other;
  std::int64_t Batch() const { return static_cast<std::int64_t>(other.size()) - 1; }
};

// By what the costs say of each named algorithm, as micro-cuDNN asks cuDNN for each by name. Time is that of the kernels
// alone, nothing copied meanwhile. All sets are empty where the device has no algorithms by name.
// REQUIRES: a convolution of one sample or more.
MicroKernels MicroKernelsOf(const CostModel& costs, const Launch& launch, BatchPolicy policy, Bytes limit,
                            int device = 0);

}  // namespace spillway::ucudnn

#endif  // SPILLWAY_SIM_STRATEGIES_UCUDNN_MICRO_KERNELS_H_
