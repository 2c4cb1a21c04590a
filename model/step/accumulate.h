// A training step in batch parts, one after another, whose gradients add up: what a user does whose batch does not fit.
//
//   part 1   forward   backward    the step of a smaller batch, with an input and maps of its own
//   part 2   forward   backward    the same parameters; their gradients are added to those of part 1
//   ...
//   part k   forward   backward    update, once
//
// Parts are as equal as can be: 61 samples in two parts are 31 and 30. Each sample counts alike, whatever its part.
//
// It computes what the step of the whole batch does, but for rounding, where no op couples samples: the loss is the mean
// over all of them. Batch norm couples them: its statistics are those of a part, and its running ones move k times.
// Dropout draws a mask for each part.
//
// Part 1's tensors and ops are called as in the step of one part, those of part 2 "conv1:part2", "conv1:forward:part2".
#ifndef SPILLWAY_MODEL_STEP_ACCUMULATE_H_
#define SPILLWAY_MODEL_STEP_ACCUMULATE_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/step/training_step.h"
#include "model/util/once_cache.h"

namespace spillway {

struct AccumulatedStep {
  TrainingStep step;
  // By part, and by tensor or op of the step of one part: which of `step` it is. Parameters, their gradients and the
  // optimizer's state are the same in all parts; updates, which run once, kNoOp in all but the last.
  std::vector<std::vector<TensorId>> tensors;
  std::vector<std::vector<OpId>> ops;
};

// `part`: the step of one part's batch. REQUIRES: parts >= 1; `part` trains, and is not in parts itself.
AccumulatedStep Accumulated(const TrainingStep& part, std::int64_t parts);
// The first `larger` parts are `large`, the others `small`: steps of one network, whose ids mean the same in both.
// REQUIRES: as above; 1 <= larger <= parts.
AccumulatedStep Accumulated(const TrainingStep& large, std::int64_t larger, const TrainingStep& small,
                            std::int64_t parts);
// The samples of the larger parts of a batch, and how many of the parts have so many; the others have one less.
struct PartSizes {
  std::int64_t samples = 0, larger = 0;
};
PartSizes SizesOfParts(std::int64_t batch, std::int64_t parts);

// What a step in parts computes, beside that of the whole batch.
enum class AccumulatedNumbers : std::uint8_t {
  kSame,     // the same but for rounding
  kRedrawn,  // other random numbers are drawn (dropout)
  kChanged,  // other numbers: statistics are those of a part (batch norm)
};
const char* AccumulatedNumbersName(AccumulatedNumbers numbers);  // "same", "redrawn", "changed"
// kSame for a step of one part.
AccumulatedNumbers NumbersOf(const TrainingStep& step);

// The steps of one network and batch in batch parts, each made when it is first asked for. May be shared by threads;
// who asks for a step that is being made waits for it.
class StepsInParts {
 public:
  using MakeStep = std::function<TrainingStep(std::int64_t batch)>;
  struct InParts {
    TrainingStep part;   // of the batch of the first part
    TrainingStep small;  // of that of the last one; where all parts are equal, it has no ops
    AccumulatedStep all;
    bool Equal() const { return small.ops.empty(); }
  };

  // `make`: the step of the same network at another batch.
  StepsInParts(std::int64_t batch, MakeStep make) : batch_(batch), make_(std::move(make)) {}

  // Stays where it is as long as this. REQUIRES: 1 <= parts <= batch.
  const InParts& In(std::int64_t parts);
  std::int64_t batch() const { return batch_; }

 private:
  const std::int64_t batch_;
  const MakeStep make_;
  OnceCache<std::int64_t, InParts> made_;  // by parts
};

// Into how many parts a batch may be worth dividing, ascending, from 1 up to `most` or the batch: every number that
// divides it, and between two of these that lie far apart numbers that do not, each a quarter more than the last.
//
//   60   1 2 3 4 5 6 10 12 15 ...      61   1 2 3 4 5 7 9 12 15 19 24 30 61
std::vector<std::int64_t> PartsOf(std::int64_t batch, std::int64_t most);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_ACCUMULATE_H_
