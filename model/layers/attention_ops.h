// What the two forms of attention share, and the one that is written out. Private to model/layers/.
#ifndef SPILLWAY_MODEL_LAYERS_ATTENTION_OPS_H_
#define SPILLWAY_MODEL_LAYERS_ATTENTION_OPS_H_

#include <vector>

#include "model/step/heads.h"
#include "model/unroll/step_writer.h"

namespace spillway {

inline std::int64_t KvHeads(const LayerAttributes& a) { return a.kv_heads == 0 ? a.heads : a.kv_heads; }
HeadSplit SplitOf(const StepWriter& b);
// Scores are dropped at random: in training, where the layer has a rate.
bool Drops(const StepWriter& b);
std::vector<TensorId> AllInputs(const StepWriter& b);

void ForwardWritten(StepWriter& b);
void BackwardWritten(StepWriter& b);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_ATTENTION_OPS_H_
