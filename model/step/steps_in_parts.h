// The steps of one network and batch in batch parts (accumulate.h), each made when it is first asked for.
#ifndef SPILLWAY_MODEL_STEP_STEPS_IN_PARTS_H_
#define SPILLWAY_MODEL_STEP_STEPS_IN_PARTS_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/step/accumulate.h"
#include "model/util/once_cache.h"

namespace spillway {

// May be shared by threads; who asks for a step that is being made waits for it.
class StepsInParts {
 public:
  using MakeStep = std::function<TrainingStep(std::int64_t batch)>;
  struct InParts {
    TrainingStep part;  // of one part's batch
    AccumulatedStep all;
  };

  // `make`: the step of the same network at another batch.
  StepsInParts(std::int64_t batch, MakeStep make) : batch_(batch), make_(std::move(make)) {}

  // Stays where it is as long as this. REQUIRES: `parts` divides the batch.
  const InParts& In(std::int64_t parts);
  std::int64_t batch() const { return batch_; }

 private:
  const std::int64_t batch_;
  const MakeStep make_;
  OnceCache<std::int64_t, InParts> made_;  // by parts
};

// Into how many parts a batch can be divided alike, ascending, from 1 on.
std::vector<std::int64_t> PartsOf(std::int64_t batch);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_STEPS_IN_PARTS_H_
