// ooc_cuDNN's fused functions: forward a convolution with its bias and activation, and the pooling behind them; backward
// those of the pooling and of the activation with the three of the convolution. Small ops touch what is in its tile already,
// so that maps between them cross the link once, or not at all.
//
// Source: Ito et al., ooc_cuDNN, 2.3, and its code's optimisers (github.com/yukiito2/ooc_cuDNN). Pooling has to have windows
// side by side and no padding. Ours are divided along the batch only: theirs also along rows, and backward along channels.
#ifndef SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_FUSED_FUNCTIONS_H_
#define SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_FUSED_FUNCTIONS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"

namespace spillway::ooc_cudnn {

struct FusedKernel {
  double sample_work = 0;  // WorkOf, of one sample
  LinearLaw law;
};

// One call of several ops. Bytes are those of one sample of what is on the host.
struct FusedCall {
  std::int64_t batch = 1;
  bool backward = false;
  double sample_in = 0, sample_out = 0;  // what crosses the link
  double sample_held = 0;                // all that has tiles
  int copies_in = 0, copies_out = 0;
  std::vector<FusedKernel> convolutions{}, others{};
};

// What the call takes in so many parts, nanoseconds. t_pre: what comes in; t_conv: convolutions; t_off: what goes out.
// Forward the other ops are on the stream that copies out, in t_off, and the three bottlenecks are those of one op
// (TimeOf); backward, where they come first, they are in t_conv, and the call takes the longest of
//   parts * t_pre + t_conv + t_off,  t_pre + parts * t_conv + t_off,  t_pre + t_conv + parts * t_off
double TimeOf(const FusedCall& call, const LinearLaw& copy, std::int64_t parts);

// The fastest number of parts whose tiles take less than a third of `free`, up to kMostTilesPlanned; 0: none does.
std::int64_t FusedParts(const FusedCall& call, const LinearLaw& copy, Bytes free);

// Into how many parts a group of ops is cut that may be fused, as one call; 0: it is not fused.
using PartsOfGroup = std::function<std::int64_t(std::span<const OpDecision> group, const FusedCall& call)>;

// Fuses what can be of the ops of a plan that stream something. Those keep what they stream, and change their parts.
// REQUIRES: the plan is one of the problem's step, as `tables`.
void FuseFunctions(const Problem& problem, const StepTables& tables, const PartsOfGroup& parts, Plan& plan);

}  // namespace spillway::ooc_cudnn

#endif  // SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_FUSED_FUNCTIONS_H_
