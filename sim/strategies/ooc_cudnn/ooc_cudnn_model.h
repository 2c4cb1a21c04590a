// ooc_cuDNN's performance model: how long one call takes in tiles along the batch, and the number of tiles that it picks.
//
// Source: Ito et al., ooc_cuDNN (github.com/yukiito2/ooc_cuDNN), and its code's optimisers. Times are linear laws, weight
// and bias, through two micro-profiles each: one law of copies for both directions, one for each kind of op and pass.
// Of the published model this has the divisions along the batch; channels and rows are not divided here.
#ifndef SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_OOC_CUDNN_MODEL_H_
#define SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_OOC_CUDNN_MODEL_H_

#include <cstdint>

#include "model/cost/cost_model.h"

namespace spillway::ooc_cudnn {

// nanoseconds = weight * size + bias
struct LinearLaw {
  double weight = 0, bias = 0;
  double At(double size) const { return weight * size + bias; }
};
LinearLaw Through(double size1, double time1, double size2, double time2);

// One call: what of its operands is on the host, for a tile of one sample.
struct Call {
  std::int64_t samples = 1;
  double sample_in = 0, sample_out = 0;  // bytes that a sample copies in, and out
  double fixed_in = 0;                   // bytes that each tile copies in whatever its samples
  int copies_in = 0, copies_out = 0;     // operands, each with the law's bias
  double sample_work = 0;                // in the unit of the law
  double sample_tile = 0;                // bytes of all its tiles on the device, for a sample
  bool sums = false;                     // a filter's gradient, which stays where it is: no copy out
  bool bottlenecks = false;              // convolutions: the three-bottleneck law; others: the longest stage
};

// What the call takes in `steps` tiles, nanoseconds.
double TimeOf(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, std::int64_t steps);

// The number of tiles that is fastest of those that need less than a third of `free` bytes; where none does, the most.
std::int64_t BestSteps(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, Bytes free);

// The laws as its initialisation measures them, on the costs of a machine.
LinearLaw CopyLaw(const CostModel& costs, int device);
// Of what WorkOf counts.
LinearLaw KernelLaw(const CostModel& costs, const Launch& launch, int device);
// Convolutions: multiply-adds times 4, output channels rounded up to 32; all else: bytes that pass by.
double WorkOf(const Launch& launch);

}  // namespace spillway::ooc_cudnn

#endif  // SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_OOC_CUDNN_MODEL_H_
