// When each tensor of a recorded step is on the device in core, and the module that the tensor belongs to. footprint.h
// adds the bytes up.
#ifndef SPILLWAY_MODEL_RECORDED_LIVES_H_
#define SPILLWAY_MODEL_RECORDED_LIVES_H_

#include <string>
#include <vector>

#include "model/recorded/recorded_step.h"

namespace spillway {

Bytes BufferBytes(Bytes bytes);  // whole multiples of 512

// By tensor: the first and the last op at which it is on the device; kNoOp: never.
struct Life {
  OpId first = kNoOp, last = kNoOp;
};
std::vector<Life> LivesOf(const TrainingStep& step);

// By tensor: the module that made it, of a value the one that reads it first. "": none. Views of the calls' names.
std::vector<const std::string*> ModulesOf(const RecordedStep& recorded);

Bytes FastestWorkspace(const std::vector<RecordedWay>& ways);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_LIVES_H_
