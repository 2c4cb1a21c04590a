// Plans that swap sections, drawn at random: which tensors lie in sections, in how many, and which of these leave when.
#ifndef SPILLWAY_TESTS_RANDOM_SECTIONS_H_
#define SPILLWAY_TESTS_RANDOM_SECTIONS_H_

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "model/cost/op_tiles.h"
#include "model/util/random.h"
#include "sim/plan/parts.h"
#include "tests/random_plan.h"

namespace spillway {

// Ranges that cover the batch, each allowed as a section; none where there is room for one only.
inline std::vector<SampleRange> RandomRanges(const Tensor& tensor, Random& random) {
  if (!MayStream(tensor) || tensor.bytes % tensor.shape.n != 0) return {};
  const Bytes sample = tensor.bytes / tensor.shape.n;
  const std::int64_t apart = SamplesApart(tensor);
  const std::int64_t least = RoundUp((kLeastCopyChunk + sample - 1) / sample, apart);
  std::vector<SampleRange> ranges;
  for (std::int64_t begin = 0; begin < tensor.shape.n;) {
    std::int64_t end = begin + least + apart * static_cast<std::int64_t>(random.Below(3));
    if (tensor.shape.n - end < least) end = tensor.shape.n;
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges.size() > 1 ? ranges : std::vector<SampleRange>{};
}

// In place of about `percent` of the tensors' swaps swaps of some of their sections, at moments of their own; tensors that
// are recomputed or streamed are left alone. Returns how many sections are swapped.
inline int AddRandomSections(const TrainingStep& step, std::uint32_t percent, Random& random, Plan& plan) {
  std::set<TensorId> other, drawn;
  std::vector<std::vector<SampleRange>> ranges(step.tensors.size());
  for (const OpDecision& decision : plan.ops) other.insert(decision.streamed.begin(), decision.streamed.end());
  for (const GapDecision& gap : plan.gaps) {
    if (gap.action == GapAction::kRecompute) other.insert(gap.tensor);
  }
  std::vector<GapDecision> gaps;
  int sections = 0;
  for (const GapDecision& gap : plan.gaps) {
    std::vector<SampleRange>& of = ranges[Index(gap.tensor)];
    if (!other.contains(gap.tensor) && drawn.insert(gap.tensor).second && random.Below(100) < percent) {
      of = RandomRanges(step.tensors[Index(gap.tensor)], random);
    }
    if (of.empty() || random.Below(5) == 0) {
      gaps.push_back(gap);
      continue;
    }
    for (const SampleRange& range : of) {
      if (random.Below(3) == 0) continue;
      GapDecision section = gap;
      section.samples = range;
      section.in_at = random.Between(gap.Leaves() + 1, gap.before);
      gaps.push_back(std::move(section));
      ++sections;
    }
  }
  plan.gaps = std::move(gaps);
  return sections;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_SECTIONS_H_
