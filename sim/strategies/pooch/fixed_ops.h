// Decisions on a step that are fixed before its maps are classified: ops in streamed parts, and tensors that stay on
// the host between some of their uses, because ops stream them or to make room.
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
  // Takes the fixed decisions from a plan that swaps every map between forward and backward: its ops in parts, and the
  // gaps of tensors that are streamed somewhere or away between other uses. REQUIRES: problem, tables and plan belong
  // to one step, and outlive this.
  FixedOps(const Problem& problem, const StepTables& tables, const Plan& plan);

  // Where the tensor is and when follows from the plan.
  bool Holds(TensorId tensor) const { return held_[Index(tensor)]; }
  bool StartsOnDevice(TensorId tensor) const { return starts_[Index(tensor)]; }
  // For a held tensor: true if it comes to the device for the op, and if it leaves the device after the op.
  bool Arrives(OpId op, TensorId tensor) const { return arrives_.contains({op, tensor}); }
  bool Leaves(OpId op, TensorId tensor) const { return leaves_.contains({op, tensor}); }
  // The cost of an op in parts: the longest of its kernels, its swap-ins and its swap-outs, and the workspace with the
  // tiles. nullptr: the op runs whole.
  const Cost* CostOf(OpId op) const;
  // True if the ops that compute the tensor, back to maps that can be classified, stream nothing and read no held
  // tensor.
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
