// Whether a value could lie on the device between steps where a Program brings it from the host: what clause 10 of
// sim/program/program.h asks, buffer by buffer. For tests.
#ifndef SPILLWAY_TESTS_REST_INSTEAD_H_
#define SPILLWAY_TESTS_REST_INSTEAD_H_

#include <vector>

#include "model/step/training_step.h"
#include "tests/reference_order.h"

namespace spillway {

inline bool ShareAddresses(const Buffer& one, const Buffer& other) {
  return one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
}

// Whether the tensor's bytes on the device are nobody else's before they are allocated and after they are freed.
inline bool LiesAlone(const Program& program, const std::vector<std::vector<Touch>>& touches, TensorId tensor) {
  if (program.memory == ProgramMemory::kCounted) return true;  // where there are bytes enough
  BufferId first = kNoBuffer, last = kNoBuffer;
  for (BufferId b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].kind != BufferKind::kTensor || program.buffers[b].tensor != tensor) continue;
    if (first == kNoBuffer || touches[b].front().at < touches[first].front().at) first = b;
    if (last == kNoBuffer || touches[b].back().at > touches[last].back().at) last = b;
  }
  const bool pool = program.memory == ProgramMemory::kPool;
  for (BufferId b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].kind == BufferKind::kHost) continue;
    const std::size_t from = touches[b].front().at, to = touches[b].back().at;
    const bool begins =
        pool ? to < touches[first].front().at
             : ShareAddresses(program.buffers[b], program.buffers[first]) && from < touches[first].front().at;
    const bool ends =
        (pool || ShareAddresses(program.buffers[b], program.buffers[last])) && from > touches[last].back().at;
    if (begins || ends) return false;
  }
  return true;
}

// Whether the Program is as right without copy i: it brings all of what the step before left on the host, nothing else
// reads that before it is new, and the tensor lies alone. `touches`: TouchesByBuffer.
inline bool MayRestInstead(const Program& program, const TrainingStep* step,
                           const std::vector<std::vector<Touch>>& touches, std::size_t i) {
  const Copy& copy = program.copies[program.code[i].arg];
  const TensorId tensor = program.buffers[copy.from].tensor;
  if (copy.direction != Direction::kHostToDevice || step == nullptr) return false;
  if (!step->tensors[Index(tensor)].Traits().resident) return false;
  bool written = false;
  for (std::size_t j = 0; j < program.code.size(); ++j) {
    if (j == i || program.code[j].opcode != Opcode::kCopy) continue;
    const Copy& other = program.copies[program.code[j].arg];
    if (other.from == copy.from && (j < i || !written)) return false;
    written = written || other.to == copy.from;
  }
  return LiesAlone(program, touches, tensor);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_REST_INSTEAD_H_
