#include "model/step/steps_in_parts.h"

#include <cassert>

namespace spillway {

const StepsInParts::InParts& StepsInParts::In(std::int64_t parts) {
  assert(parts >= 1 && batch_ % parts == 0);
  return made_.Ref(parts, [&] {
    TrainingStep part = make_(batch_ / parts);
    AccumulatedStep all = Accumulated(part, parts);
    return InParts{std::move(part), std::move(all)};
  });
}

std::vector<std::int64_t> PartsOf(std::int64_t batch) {
  std::vector<std::int64_t> parts, large;
  for (std::int64_t small = 1; small * small <= batch; ++small) {
    if (batch % small != 0) continue;
    parts.push_back(small);
    if (small * small != batch) large.push_back(batch / small);
  }
  parts.insert(parts.end(), large.rbegin(), large.rend());
  return parts;
}

}  // namespace spillway
