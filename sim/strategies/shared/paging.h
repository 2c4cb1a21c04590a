// Demand paging played over a step: what leaves the device when something does not fit, and only then.
//
// Policies that decide while they run (a cache, an allocator that reclaims) have one course of events in steady state. It is
// played once, and what left is written down as gaps that are swapped: a Plan has no policy.
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_PAGING_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_PAGING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/program/lower/lower.h"

namespace spillway {

// So many things in the order of their last use. All operations in constant time.
class LeastRecent {
 public:
  explicit LeastRecent(std::size_t things);
  void Use(std::int32_t thing);                        // becomes the most recent one, whether it was in or not
  void Remove(std::int32_t thing);                     // nothing where it is not in
  std::int32_t Oldest() const { return Newer(end_); }  // kNone: there is none
  // The next one behind `thing`, which is in.
  std::int32_t Newer(std::int32_t thing) const;
  static constexpr std::int32_t kNone = -1;

 private:
  std::int32_t end_;  // stands before the oldest and behind the newest
  std::vector<std::int32_t> newer_, older_;
};

enum class Victim : std::uint8_t {
  kLeastRecent,  // as a cache has it: whatever was not used for longest, until there is room
  // As few as it takes: of those that suffice by themselves the smallest, else the largest, and again.
  kFewest,
};

struct Paging {
  const StepTables* tables = nullptr;
  std::vector<Bytes> live;  // by op: bytes with nothing paged out (Lowered::live_at)
  Bytes capacity = 0;
  std::vector<bool> may_leave;  // by tensor
  Victim victim = Victim::kLeastRecent;
  // The op from which on a tensor is back that left in the gap; between `after` and `before`.
  std::function<OpId(TensorId, const MapGap&)> back_at;
};

struct PagedOut {
  TensorId tensor = kNoTensor;
  MapGap gap{};
  OpId at = kNoOp;  // what it made room for
};

// In the order in which they left. Goes on where nothing is left that may leave: it is for lowering to say what does not fit.
// A tensor may leave between two uses, from behind its last forward writer on.
std::vector<PagedOut> PlayPaging(const Paging& paging);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_PAGING_H_
