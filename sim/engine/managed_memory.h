// Unified memory: what page faults add to kernels (runtimes with memory: managed, managed_prefetch).
//
// In unified memory a Program keeps all its tensors, and its addresses go beyond the device's memory. The driver brings
// the pages that a kernel touches and evicts the pages touched least recently. FaultsOf plays this policy over the
// kernels of the second of two steps, and computes two waits for each kernel:
//
//   arrives   for all pages of its operands that are not on the device. Time: the profile's curve of touched managed
//             memory, measured with faults served in groups. (One fault alone takes 20 to 50 us, a page in a stream of
//             faults takes less.) With managed_prefetch: the curve of prefetches, operand by operand.
//   leaves    for the pages evicted to make room. All of them are written back, at the rate of prefetches to the host.
//
// No published curve covers memory beyond the device's size, so the result is a range. Middle: both waits add up. Best:
// eviction takes place during arrival. Worst: every page moves twice. Both ends are as possible as the middle.
//
// Pages are addresses of the arena. The driver does not know which tensors are dead, so it also moves addresses that
// the allocator will reuse. A kernel touches its operands once, one after the other. A prefetch overlaps with the
// kernel before its own if the operands of both kernels fit.
#ifndef SPILLWAY_SIM_ENGINE_MANAGED_MEMORY_H_
#define SPILLWAY_SIM_ENGINE_MANAGED_MEMORY_H_

#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"

namespace spillway {

constexpr Bytes kManagedPage = 2 * kMiB;  // what a driver moves at once at most, and evicts

// The curves that the link of `device` lacks to predict faults, as text for a message; "": none is missing.
std::string MissingManagedCurves(const CostModel& costs, MemoryModel memory, int device = 0);

struct ManagedFaults {
  struct Wait {  // the waits of one kernel
    std::uint32_t instruction = 0;
    Nanos arrives = 0, leaves = 0;
    std::uint32_t behind = 0;  // the kernel with which its prefetch overlaps; its own instruction: none
  };
  std::vector<Wait> waits;  // in list order, without kernels that wait for nothing
  Bytes in = 0, out = 0;    // bytes moved in the step
  // Adds each kernel's wait to `durations` (by instruction, without faults). `range`: -1 is the best case, 0 the
  // middle, 1 the worst. Returns the sum of the waits.
  Nanos AddTo(std::vector<Nanos>& durations, double range) const;
};

// `capacity`: bytes of device memory. REQUIRES: the Program is laid out; MissingManagedCurves says nothing.
ManagedFaults FaultsOf(const Program& program, const CostModel& costs, MemoryModel memory, Bytes capacity,
                       int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_MANAGED_MEMORY_H_
