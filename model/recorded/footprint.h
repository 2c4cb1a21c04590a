// The memory of a recorded step while it runs with everything on the device, and what no plan can do without.
//
// Bytes are counted as buffers: whole multiples of 512. A tensor lives from the op that makes it to the last one that uses
// it; values live throughout, the batch on the host from the start to its last use. An op has the workspace of its fastest
// way, and what is held beside it (RecordedCall::held). Addresses are not counted: a layout may need a little more.
#ifndef SPILLWAY_MODEL_RECORDED_FOOTPRINT_H_
#define SPILLWAY_MODEL_RECORDED_FOOTPRINT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/recorded/recorded_step.h"

namespace spillway {

struct Footprint {
  std::vector<Bytes> in_core;  // by op
  // By op: operands, least workspace, and what stays on the device. No plan with parameters and states there takes less.
  std::vector<Bytes> alone;
  OpId peak = 0, least = 0;  // the first op with the most of each
  Bytes PeakBytes() const { return in_core[Index(peak)]; }
  Bytes LeastBytes() const { return alone[Index(least)]; }
};
Footprint FootprintOf(const RecordedStep& recorded);

// What is there at one op, in core.
struct Present {
  std::array<Bytes, kRecordedUses> by_use{};
  Bytes workspace = 0, held = 0;
  std::vector<TensorId> tensors{};  // the largest first; among equals in the order of the file
};
Present PresentAt(const RecordedStep& recorded, OpId op);

// The largest batch whose peak is within `limit`. `a` and `b` hold the live bytes of each op at two batches. The bytes of
// an op are assumed to be linear in the batch. nullopt: the lists differ in length, or are equal.
std::optional<std::int64_t> LargestBatch(const std::vector<Bytes>& a, std::int64_t batch_a, const std::vector<Bytes>& b,
                                         std::int64_t batch_b, Bytes limit);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_FOOTPRINT_H_
