// What a step keeps from forward for backward, as hooks on a framework's saved tensors count it.
#ifndef SPILLWAY_TESTS_SAVED_BYTES_H_
#define SPILLWAY_TESTS_SAVED_BYTES_H_

#include <set>

#include "model/step/training_step.h"

namespace spillway {

// Distinct tensors that backward reads and forward or the caller made: the input, feature maps, what is kept aside, and
// the copies of parameters in another type. Parameters are left out.
inline std::set<TensorId> SavedTensorsOf(const TrainingStep& step) {
  std::set<TensorId> copies, saved;
  for (OpId op = 0; op < step.first_backward; ++op) {
    for (const TensorId t : step.ops[static_cast<std::size_t>(op)].writes) {
      if (step.tensors[static_cast<std::size_t>(t)].use == TensorClass::kParameterCopy) copies.insert(t);
    }
  }
  for (OpId op = step.first_backward; op < step.first_update; ++op) {
    for (const TensorId t : step.ops[static_cast<std::size_t>(op)].reads) {
      const TensorClass use = step.tensors[static_cast<std::size_t>(t)].use;
      const bool kept = use == TensorClass::kInput || use == TensorClass::kFeatureMap || use == TensorClass::kAuxiliary;
      if (kept || copies.count(t) > 0) saved.insert(t);
    }
  }
  return saved;
}

inline Bytes SavedBytes(const TrainingStep& step) {
  Bytes sum = 0;
  for (const TensorId t : SavedTensorsOf(step)) sum += step.tensors[static_cast<std::size_t>(t)].bytes;
  return sum;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SAVED_BYTES_H_
