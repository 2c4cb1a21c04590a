// The version of each tensor that each op of a step reads and writes. Version n of a tensor holds the results of the
// first n ops that write the tensor, in the order of the step. Version 0 is the tensor as it was before the step.
//
// Example: op 0 writes Y, op 1 (ReLU in place) reads and writes Y, op 2 reads Y. Then Written(0, Y) = 1, Read(1, Y) =
// 1, Written(1, Y) = 2, Read(2, Y) = 2, Last(Y) = 2.
//
// verify compares these with the versions that a Program moves about (verify_contents.h). Internal to verify.
#ifndef SPILLWAY_SIM_VERIFY_STEP_VERSIONS_H_
#define SPILLWAY_SIM_VERIFY_STEP_VERSIONS_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/verify/verify_contents.h"

namespace spillway::verifying {

// Built in one pass over the ops. Refers to `step`, which must outlive it.
class StepVersions {
 public:
  explicit StepVersions(const TrainingStep& step)
      : step_(step), start_(step.tensors.size(), kUndefined), last_(step.tensors.size(), kUndefined) {
    for (const Op& op : step.ops) {
      first_read_.push_back(read_.size());
      first_written_.push_back(written_.size());
      for (const TensorId t : op.reads) {
        if (last_[Index(t)] == kUndefined && step.tensors[Index(t)].Traits().outlives)
          start_[Index(t)] = last_[Index(t)] = 0;
        read_.push_back(last_[Index(t)]);
      }
      for (const TensorId t : op.writes) {
        last_[Index(t)] = std::max(last_[Index(t)], 0) + 1;
        written_.push_back(last_[Index(t)]);
      }
    }
  }
  // The version that `op` reads; kUndefined if `op` does not read the tensor.
  Version Read(OpId op, TensorId t) const { return Find(step_.ops[Index(op)].reads, t, read_, first_read_[Index(op)]); }
  // The version after `op` has written the tensor; kUndefined if `op` does not write it.
  Version Written(OpId op, TensorId t) const {
    return Find(step_.ops[Index(op)].writes, t, written_, first_written_[Index(op)]);
  }
  // True if the step reads version 0: the tensor outlives a step and is read before any op writes it.
  bool ThereFromTheStart(TensorId t) const { return start_[Index(t)] == 0; }
  // The version after the whole step; kUndefined if no op writes the tensor and ThereFromTheStart is false.
  Version Last(TensorId t) const { return last_[Index(t)]; }

 private:
  static Version Find(const std::vector<TensorId>& list, TensorId t, const std::vector<Version>& versions,
                      std::size_t first) {
    const auto it = std::find(list.begin(), list.end(), t);
    return it == list.end() ? kUndefined : versions[first + static_cast<std::size_t>(it - list.begin())];
  }

  const TrainingStep& step_;
  std::vector<Version> read_, written_;                  // one entry per Op::reads and Op::writes, op by op
  std::vector<std::size_t> first_read_, first_written_;  // by op: its first entry of read_ and written_
  std::vector<Version> start_, last_;                    // by tensor: before the step, after the step
};

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_STEP_VERSIONS_H_
