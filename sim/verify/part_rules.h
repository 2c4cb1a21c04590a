// What a kernel that runs part of an op must touch for what it writes: verify's own account of it, which shares nothing
// with what writes Programs.
//
// Parts there are of convolutions (batch, channels, rows and columns of the output, with sums over channels or places); of
// bias, ReLU, additions, copies and pooling (batch, channels and rows, of pooling where its windows lie side by side); of LRN
// (batch and rows); and, along the batch, of other ops that compute each sample by itself. Batch norm, whose statistics are of all samples, the loss,
// whose gradient is divided by their number, dropout, whose mask is drawn for all, and updates have none.
#ifndef SPILLWAY_SIM_VERIFY_PART_RULES_H_
#define SPILLWAY_SIM_VERIFY_PART_RULES_H_

#include <functional>
#include <string>

#include "model/step/launch.h"
#include "model/step/training_step.h"

namespace spillway::verifying {

struct Part {
  std::string fault;  // why launch and boxes are no part of the op; "" if they are
  // Where each place of the result is a sum: the places it runs over, and which of them this part adds up. One place of
  // one where there is nothing to sum.
  Box summed, all;
  bool IsWholeSum() const { return summed == all; }
};

// `touched`: what the kernel touches of a tensor of the op. Only a convolution's input may reach beyond its tensor, where
// it holds zeros.
Part PartOf(const TrainingStep& step, const Op& op, const Launch& launch, const std::function<Box(TensorId)>& touched);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_PART_RULES_H_
