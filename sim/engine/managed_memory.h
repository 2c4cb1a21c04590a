// Unified memory: what page faults add to kernels (runtimes with memory: managed, managed_prefetch).
//
// Nothing is planned there and nothing is copied by hand: a Program keeps all it has, its addresses go beyond the device's
// memory, and the driver brings the pages that a kernel touches and sends others away, least recently touched first. This
// plays that policy over the kernels of the second of two steps, and says what each of them waits for:
//
//   arrives   pages of its operands that are not there, together: the profile's curve of touched managed memory, which
//             was measured with faults served in groups (a fault by itself takes 20 to 50 us; a stream of them does not
//             take that for every page); or, prefetched before the kernel, operand by operand, that of prefetches
//   leaves    pages sent away to make room, all of which have to be written back: at the rate of prefetches to the host
//
// Nobody has published over-subscribed curves. In the middle both add up; at best what leaves is hidden behind what
// arrives; at worst every page moves twice: that is the range, and both ends are no less possible than the middle. Pages
// are addresses of the arena: what a framework's allocator hands out again is moved like anything else, since the driver
// does not know what is dead. A kernel goes through its operands once, one behind the other. A prefetch overlaps with the
// kernel before its own where both kernels' operands fit.
#ifndef SPILLWAY_SIM_ENGINE_MANAGED_MEMORY_H_
#define SPILLWAY_SIM_ENGINE_MANAGED_MEMORY_H_

#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"

namespace spillway {

constexpr Bytes kManagedPage = 2 * kMiB;  // what a driver moves at once at most, and evicts

// Why faults cannot be told on the link of `device`: the curves that are not there. "": they can.
std::string MissingManagedCurves(const CostModel& costs, MemoryModel memory, int device = 0);

struct ManagedFaults {
  struct Wait {  // of one kernel
    std::uint32_t instruction = 0;
    Nanos arrives = 0, leaves = 0;
    std::uint32_t behind = 0;  // the kernel that it overlaps with; its own instruction: none
  };
  std::vector<Wait> waits;  // in list order; those that wait for nothing are left out
  Bytes in = 0, out = 0;    // of the step
  // Adds what each kernel waits to `durations`, by instruction, as they are without. `range` from -1, the best case, over
  // 0, the middle, to 1, the worst. Returns the sum.
  Nanos AddTo(std::vector<Nanos>& durations, double range) const;
};

// `capacity`: bytes of device memory. REQUIRES: the Program is laid out; MissingManagedCurves says nothing.
ManagedFaults FaultsOf(const Program& program, const CostModel& costs, MemoryModel memory, Bytes capacity,
                       int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_MANAGED_MEMORY_H_
