// What the two forms of attention share, and the one that is written out. Private to model/layers/.
#ifndef SPILLWAY_MODEL_LAYERS_ATTENTION_OPS_H_
#define SPILLWAY_MODEL_LAYERS_ATTENTION_OPS_H_

#include <string>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/step/heads.h"
#include "model/unroll/step_writer.h"

namespace spillway {

inline std::int64_t KvHeads(const LayerAttributes& a) { return a.kv_heads == 0 ? a.heads : a.kv_heads; }
HeadSplit SplitOf(const StepWriter& b);
// Scores are dropped at random: in training, where the layer has a rate.
bool Drops(const StepWriter& b);
std::vector<TensorId> AllInputs(const StepWriter& b);

// Within windows: each row of the image attends to itself alone. Then it is written out, since no fused kernel adds to
// the scores what has a gradient.
bool InRows(const LayerAttributes& attributes);
WindowGrid GridOf(const LayerAttributes& attributes);
std::string WindowProblem(const LayerAttributes& attributes, const std::vector<Shape>& inputs);
std::vector<ParameterShape> WindowParameters(const LayerAttributes& attributes, const Shape& input);
// Forward {scores, table} -> scores; backward {gradient of the scores} -> gradient of the table.
Op ScoreBiasOp(const StepWriter& b, Pass pass, const Shape& scores, std::vector<TensorId> reads,
               std::vector<TensorId> writes);

void ForwardWritten(StepWriter& b);
void BackwardWritten(StepWriter& b);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_ATTENTION_OPS_H_
