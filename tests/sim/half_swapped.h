// A plan that swaps half of one map, for tests of sections.
#ifndef SPILLWAY_TESTS_SIM_HALF_SWAPPED_H_
#define SPILLWAY_TESTS_SIM_HALF_SWAPPED_H_

#include "model/zoo/zoo.h"
#include "tests/sim/parts_place.h"

namespace spillway {

// Maps of 256 KiB and less: up to four sections.
inline Network LargeMaps() { return BuildZooNetwork("cifar-resnet20", {.batch = 16, .image = 16}); }

// A map leaves at once and is back when it is used again.
inline GapDecision SwappedByHand(TensorId map, const MapGap& gap) {
  return {.tensor = map,
          .after = gap.after,
          .before = gap.before,
          .out_after = gap.after,
          .in_at = gap.before,
          .reason = "by hand"};
}

// The map with the longest gap, and that gap.
inline GapDecision LongestGap(const PartsPlace& p) {
  GapDecision longest;
  OpId most = 0;
  for (const TensorId map : p.step.maps) {
    const MapGap gap = ForwardBackwardGap(p.step, p.tables.uses, map);
    if (gap.after == kNoOp || gap.before - gap.after <= most) continue;
    if (p.step.tensors[Index(map)].Traits().on_host) continue;
    most = gap.before - gap.after;
    longest = SwappedByHand(map, gap);
  }
  return longest;
}

// The samples [8, 16) of it leave.
inline Plan HalfSwapped(const PartsPlace& p) {
  Plan plan = p.Whole();
  plan.gaps = {LongestGap(p)};
  plan.gaps[0].samples = {8, 16};
  return plan;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_HALF_SWAPPED_H_
