// offload-saved: every map that backward reads goes to the host when it is made, and comes back when backward asks for
// it, as torchtune's OffloadActivations do (torchtune/training/_activation_offloading.py).
//
// The device holds a map until five further ones were handed out (max_fwd_stash_size). Then compute waits for the copy.
// So the last five never leave. Nothing is brought back ahead. Maps below 1,024 bytes stay.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/planning/problem.h"
#include "sim/strategies/shared/forward_values.h"

namespace spillway {
namespace {

constexpr std::size_t kStash = 5;
constexpr Bytes kLeastBytes = 1024;

// In the order in which they are complete; of the input its first use, which saves it.
std::vector<ForwardValue> SavedOf(const TrainingStep& step) {
  std::vector<ForwardValue> saved;
  for (const ForwardValue& value : ForwardValuesOf(step)) {
    if (value.IsWantedAgain() && step.tensors[Index(value.tensor)].bytes >= kLeastBytes) saved.push_back(value);
  }
  return saved;
}

}  // namespace

Planned PlanOffloadSaved(const Problem& problem) {
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "offload-saved", "counted");
  const std::vector<ForwardValue> saved = SavedOf(*problem.step);
  for (std::size_t k = 0; k + kStash < saved.size(); ++k) {
    const ForwardValue& value = saved[k];
    const OpId leaves = std::max(value.gap.after, saved[k + kStash].complete);
    if (leaves >= value.gap.before) continue;
    planned.plan.gaps.push_back({.tensor = value.tensor,
                                 .after = value.gap.after,
                                 .before = value.gap.before,
                                 .action = GapAction::kSwap,
                                 .out_after = value.IsInput() ? value.gap.after : value.complete,
                                 .in_at = value.gap.before,
                                 .reason = "saved for backward: out behind five others",
                                 .leaves_after = leaves});
  }
  return planned;
}

}  // namespace spillway
