// The versions that the ops of a step read and leave behind: a tensor's version is the number of its writers, in the order
// of the step, whose results are in it; 0 is what was there before the step. Internal to verify.
#ifndef SPILLWAY_SIM_VERIFY_STEP_VERSIONS_H_
#define SPILLWAY_SIM_VERIFY_STEP_VERSIONS_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/verify/verify_contents.h"

namespace spillway::verifying {

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
  // The version that `op` reads, kUndefined if it does not read the tensor.
  Version Read(OpId op, TensorId t) const { return Find(step_.ops[Index(op)].reads, t, read_, first_read_[Index(op)]); }
  // The version that `op` leaves behind, kUndefined if it does not write the tensor.
  Version Written(OpId op, TensorId t) const {
    return Find(step_.ops[Index(op)].writes, t, written_, first_written_[Index(op)]);
  }
  bool ThereFromTheStart(TensorId t) const { return start_[Index(t)] == 0; }
  Version Last(TensorId t) const { return last_[Index(t)]; }

 private:
  static Version Find(const std::vector<TensorId>& list, TensorId t, const std::vector<Version>& versions,
                      std::size_t first) {
    const auto it = std::find(list.begin(), list.end(), t);
    return it == list.end() ? kUndefined : versions[first + static_cast<std::size_t>(it - list.begin())];
  }

  const TrainingStep& step_;
  std::vector<Version> read_, written_;                  // of all ops, one after another
  std::vector<std::size_t> first_read_, first_written_;  // by op
  std::vector<Version> start_, last_;                    // by tensor: before the step, after it
};

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_STEP_VERSIONS_H_
