// What the check of a certificate reads of a step and its costs, by code of its own. Internal to sim/certify/.
#ifndef SPILLWAY_SIM_CERTIFY_READINGS_H_
#define SPILLWAY_SIM_CERTIFY_READINGS_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/scope.h"

namespace spillway::certifying {

struct Way {
  Nanos time = 0;
  Bytes workspace = 0;
  double slowed = 0;  // nanoseconds, where a copy runs from its beginning to its end
};

constexpr Bytes kAnyRoom = std::numeric_limits<Bytes>::max();

// The ways to run ops that a scope has, in parts too. One for a scope, costs and a device, all of which outlive it.
class Ways {
 public:
  Ways(const CostModel& costs, const Scope& scope, int device) : costs_(costs), scope_(scope), device_(device) {}

  // Every one that finds room for its workspace; where none does, the usual one. What no parts of the op beat is listed as
  // a way, all its samples at the best rate of parts of one size: rounded down.
  std::vector<Way> Of(const Op& op, Bytes room) { return Of(LaunchOf(op), room); }
  // The same of what runs when the op is computed again.
  std::vector<Way> Again(const Op& op, Bytes room) { return Of(RecomputationOf(op), room); }

 private:
  std::vector<Way> Of(const Launch& launch, Bytes room);
  const std::vector<Way>& InParts(const Launch& launch);

  const CostModel& costs_;
  const Scope& scope_;
  const int device_;
  std::vector<std::pair<Launch, std::vector<Way>>> in_parts_;  // known so far
};

// What an op takes at least: alone, and with a copy beside it all along.
struct LeastTime {
  Nanos alone = std::numeric_limits<Nanos>::max();
  double slowed = std::numeric_limits<double>::max();
  explicit LeastTime(const std::vector<Way>& ways) {
    for (const Way& way : ways) {
      alone = std::min(alone, way.time);
      slowed = std::min(slowed, way.slowed);
    }
  }
  // A nanosecond of copying beside it is worth 1 - weight.
  double At(double weight) const { return std::min(static_cast<double>(alone), weight * slowed); }
};

// Which ops use a tensor, and how.
struct History {
  std::vector<OpId> uses, forward_writers;
  std::vector<bool> reads, writes;  // by use
  OpId Before(OpId op) const {
    const auto next = std::lower_bound(uses.begin(), uses.end(), op);
    return next == uses.begin() ? kNoOp : *(next - 1);
  }
  bool At(OpId op) const { return std::binary_search(uses.begin(), uses.end(), op); }
  std::size_t From(OpId op) const {  // the first use that is not before the op
    return static_cast<std::size_t>(std::lower_bound(uses.begin(), uses.end(), op) - uses.begin());
  }
};

// By tensor: whether its value outlives the step on the device, and the first op that uses it reads it. Where states may
// leave, such a tensor takes no room before that op and behind the last one that uses it.
std::vector<bool> BroughtIn(const TrainingStep& step);

// By op: the bytes of its operands, and of what stays on the device or never moves while it is wanted.
std::vector<Bytes> TakenBytes(const TrainingStep& step, bool states_leave = false);

// The smallest pieces that a plan of the scope may copy: of what is streamed one sample, in tiles one row of one channel.
Bytes LeastTile(const TrainingStep& step, const Scope& scope);

// Bytes of the tensor, which has so many, that the op must have read: tiles of rows need not hold what no window meets.
Bytes BytesRead(const Op& op, TensorId tensor, Bytes bytes, const Scope& scope);

// Nanoseconds: no copy of so many bytes takes less, cut into pieces of `piece` bytes or more (0: in one).
double LeastCopy(const CostModel& costs, Direction direction, Bytes bytes, Bytes piece, int device);

}  // namespace spillway::certifying

#endif  // SPILLWAY_SIM_CERTIFY_READINGS_H_
