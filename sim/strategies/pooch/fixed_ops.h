// What of a step is decided before its maps are classified: ops in streamed parts, and tensors that are on the host between
// some of their uses because of these or to make room for others.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_FIXED_OPS_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_FIXED_OPS_H_

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/program/step_tables.h"

namespace spillway {

class FixedOps {
 public:
  // Of a plan in which every map is swapped between forward and backward: its ops in parts, and the gaps of tensors that are
  // streamed somewhere or away between other uses. REQUIRES: problem, tables and plan are of one step and outlive it.
  FixedOps(const Problem& problem, const StepTables& tables, const Plan& plan);

  // Where the tensor is and when follows from the plan.
  bool Holds(TensorId tensor) const { return held_[Index(tensor)]; }
  bool StartsOnDevice(TensorId tensor) const { return starts_[Index(tensor)]; }
  // Of a tensor that is held: whether it comes to the device for the op, and leaves it behind it.
  bool Arrives(OpId op, TensorId tensor) const { return arrives_.contains({op, tensor}); }
  bool Leaves(OpId op, TensorId tensor) const { return leaves_.contains({op, tensor}); }
  // Of an op in parts: the longest of its kernels, its copies in and those out; the workspace with the tiles. nullptr: whole.
  const Cost* CostOf(OpId op) const;
  // What computes it, back to maps that can be classified, streams nothing and reads nothing that is held.
  bool MayRunAgain(TensorId tensor) const;
  const std::vector<GapDecision>& gaps() const { return gaps_; }  // of all that is held

 private:
  void FindHeld();
  void Follow(TensorId tensor);
  bool Streams(OpId op, TensorId tensor) const;
  Cost CostInParts(const OpDecision& decision) const;

  const Problem& problem_;
  const TrainingStep& step_;
  const StepTables& tables_;
  const Plan& plan_;
  std::map<OpId, const OpDecision*> decisions_;
  std::map<OpId, Cost> costs_;
  std::vector<bool> held_, starts_;  // by tensor
  std::set<std::pair<OpId, TensorId>> arrives_, leaves_;
  std::vector<GapDecision> gaps_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_FIXED_OPS_H_
