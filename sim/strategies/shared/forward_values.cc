#include "sim/strategies/shared/forward_values.h"

#include <algorithm>
#include <cstddef>

#include "hw/text/lists.h"

namespace spillway {
namespace {

// A map is on every path where nothing else that was there when it was complete is read behind it: an edge that passes it
// by belongs to a path that does.
void MarkCandidates(const TrainingStep& step, std::vector<ForwardValue>& values) {
  std::vector<int> alive(static_cast<std::size_t>(step.first_backward) + 2, 0);  // behind op k: [k + 1]
  for (const ForwardValue& value : values) {
    ++alive[Index(value.first + 1)];
    --alive[Index(value.last + 1)];
  }
  for (std::size_t k = 1; k < alive.size(); ++k) alive[k] += alive[k - 1];
  for (ForwardValue& value : values) {
    const bool read = value.last > value.complete;
    value.candidate = !value.IsInput() && read && value.IsWantedAgain() && alive[Index(value.complete + 1)] == 1;
  }
}

}  // namespace

std::vector<ForwardValue> ForwardValuesOf(const TrainingStep& step) {
  const Uses uses(step);
  std::vector<ForwardValue> values;
  for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) {
    const std::vector<OpId>& writers = uses.writers[Index(t)];
    const OpId last = uses.Previous(t, step.first_backward);
    if (last == kNoOp || (writers.empty() && !step.tensors[Index(t)].Traits().on_host)) continue;
    ForwardValue value{.tensor = t, .last = last};
    if (!writers.empty()) value.first = writers.front(), value.complete = writers.back();
    if (Contains(step.maps, t)) value.gap = ForwardBackwardGap(step, uses, t);
    values.push_back(value);
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const ForwardValue& a, const ForwardValue& b) { return a.complete < b.complete; });
  MarkCandidates(step, values);
  return values;
}

}  // namespace spillway
