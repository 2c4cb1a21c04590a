#include "sim/verify/verify_places.h"

#include <algorithm>

namespace spillway::verifying {

namespace {

bool IsOfTensor(const Buffer& buffer) { return buffer.kind != BufferKind::kWorkspace && buffer.tensor != kNoTensor; }

}  // namespace

void PlaceAccesses::Remember(const Known& now) {
  std::erase_if(known_, [&](const Known& known) {
    const bool covered = Contains(now.box, known.box);
    return covered && (now.write || (!known.write && known.stream == now.stream));
  });
  known_.push_back(now);
}

Box PlacesOf(const Program& program, const TrainingStep& step, const Operand& operand) {
  if (!IsOfTensor(program.buffers[operand.buffer])) return WholeOf({});
  return BoxIn(program, operand.buffer, operand.box, step);
}

Box PlacesOf(const Program& program, const TrainingStep& step, const Copy& copy, bool written) {
  const BufferId here = written ? copy.to : copy.from;
  if (!IsOfTensor(program.buffers[copy.from]) || !IsOfTensor(program.buffers[copy.to])) return WholeOf({});
  if (copy.fill && written) return HeldBy(program, here, step);
  if (copy.box != kWhole) return program.boxes[copy.box];
  return Intersection(HeldBy(program, copy.from, step), HeldBy(program, copy.to, step));
}

}  // namespace spillway::verifying
