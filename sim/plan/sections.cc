#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/cost/op_tiles.h"
#include "sim/plan/check_op.h"
#include "sim/plan/parts.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

namespace {

Bytes SampleBytes(const Tensor& tensor) { return tensor.bytes / tensor.shape.n; }

// The gaps of one tensor of which some swap sections, as indices into Plan::gaps.
using Indices = std::vector<std::size_t>;

class SectionChecker {
 public:
  SectionChecker(const Plan& plan, const TrainingStep& step) : plan_(plan), step_(step) {
    for (const GapDecision& gap : plan.gaps) {
      if (!gap.samples.IsWhole()) gaps_[gap.tensor];
    }
    for (std::size_t g = 0; g < plan.gaps.size(); ++g) {
      const auto found = gaps_.find(plan.gaps[g].tensor);
      if (found != gaps_.end()) found->second.push_back(g);
    }
  }

  std::vector<PlanMistake> Run() {
    for (const auto& [tensor, gaps] : gaps_) {
      for (const std::size_t g : gaps) CheckRange(g);
      CheckRuntime(tensor);
      CheckRanges(gaps);
      CheckWhole(tensor, gaps);
    }
    if (mistakes_.empty()) CheckSizes();
    CheckStreamed();
    return std::move(mistakes_);
  }

 private:
  void Say(std::size_t gap, std::string message) {
    mistakes_.push_back({PlanMistake::Where::kGap, gap, std::move(message)});
  }
  const Tensor& TensorOf(std::size_t gap) const { return step_.tensors[Index(plan_.gaps[gap].tensor)]; }

  void CheckRuntime(TensorId tensor) {
    if (plan_.runtime.memory == MemoryModel::kArena) return;
    Say(gaps_.at(tensor).front(),
        fmt::format("tensor '{}' is swapped in sections: expected a runtime with memory: arena, found {} (an "
                    "allocator takes back no part of an allocation)",
                    step_.tensors[Index(tensor)].name, RuntimeWord(plan_.runtime, "memory")));
  }

  void CheckRange(std::size_t g) {
    const SampleRange& samples = plan_.gaps[g].samples;
    const Tensor& tensor = TensorOf(g);
    if (samples.IsWhole()) return;
    if (!MayStream(tensor)) {
      return Say(g, fmt::format("tensor '{}' is {}, which has no samples to be swapped apart", tensor.name,
                                TensorClassName(tensor.use)));
    }
    if (samples.begin < 0 || samples.begin >= samples.end || samples.end > tensor.shape.n) {
      return Say(g, fmt::format("tensor '{}': expected samples within [0, {}], found [{}, {}]", tensor.name,
                                tensor.shape.n, samples.begin, samples.end));
    }
    const std::int64_t apart = SamplesApart(tensor);
    const bool aligned = samples.begin % apart == 0 && (samples.end % apart == 0 || samples.end == tensor.shape.n);
    if (aligned) return;
    const std::int64_t begin = samples.begin / apart * apart;
    const std::int64_t end = std::min(tensor.shape.n, RoundUp(samples.end, apart));
    Say(g, fmt::format("tensor '{}': expected a section of multiples of {} samples, as [{}, {}], so that its bytes are "
                       "multiples of {}, found [{}, {}]",
                       tensor.name, apart, begin, end, kSectionUnit, samples.begin, samples.end));
  }

  // Of one tensor: the same or apart, and each once in a gap.
  void CheckRanges(const Indices& gaps) {
    for (auto g = gaps.begin(); g != gaps.end(); ++g) {
      const GapDecision& gap = plan_.gaps[*g];
      for (auto h = gaps.begin(); h != g; ++h) {
        const GapDecision& other = plan_.gaps[*h];
        if (!gap.samples.Meets(other.samples)) continue;
        if (gap.IsOpen() || other.IsOpen()) continue;
        if (gap.before == other.before) {
          Say(*g, fmt::format("a second decision on samples of tensor '{}' in the gap before '{}'", TensorOf(*g).name,
                              step_.ops[Index(gap.before)].name));
        } else if (!gap.samples.IsWhole() && !other.samples.IsWhole() && !(gap.samples == other.samples)) {
          Say(*g, fmt::format("tensor '{}': expected sections that are the same in all gaps, or apart, found [{}, {}] "
                              "beside [{}, {}]",
                              TensorOf(*g).name, gap.samples.begin, gap.samples.end, other.samples.begin,
                              other.samples.end));
        } else {
          continue;
        }
        break;
      }
    }
  }

  void CheckWhole(TensorId tensor, const Indices& gaps) {
    for (const std::size_t g : gaps) {
      if (plan_.gaps[g].IsOpen()) {
        Say(g, fmt::format("tensor '{}' is swapped in sections elsewhere: it cannot stay past its last use",
                           step_.tensors[Index(tensor)].name));
        continue;
      }
      if (plan_.gaps[g].action == GapAction::kSwap) continue;
      Say(g, fmt::format("tensor '{}' is swapped in sections elsewhere: it cannot be recomputed here",
                         step_.tensors[Index(tensor)].name));
    }
  }

  void CheckSizes() {
    for (const auto& [tensor, cuts] : CutsOf(plan_, step_)) {
      const Bytes sample = SampleBytes(step_.tensors[Index(tensor)]);
      for (std::size_t k = 1; k < cuts.size(); ++k) {
        const Bytes bytes = (cuts[k] - cuts[k - 1]) * sample;
        if (bytes >= kLeastCopyChunk) continue;
        Say(gaps_.at(tensor).front(),
            fmt::format("tensor '{}': expected sections, and pieces beside them, of at least {}, found {} for samples "
                        "[{}, {}]",
                        step_.tensors[Index(tensor)].name, FormatBytesExact(kLeastCopyChunk), FormatBytesExact(bytes),
                        cuts[k - 1], cuts[k]));
        break;
      }
    }
  }

  void CheckStreamed() {
    for (std::size_t k = 0; k < plan_.ops.size(); ++k) {
      for (const TensorId t : plan_.ops[k].streamed) {
        if (!gaps_.contains(t)) continue;
        mistakes_.push_back({PlanMistake::Where::kOp, k,
                             fmt::format("op '{}' streams tensor '{}', which is swapped in sections",
                                         step_.ops[Index(plan_.ops[k].op)].name, step_.tensors[Index(t)].name)});
      }
    }
  }

  const Plan& plan_;
  const TrainingStep& step_;
  std::map<TensorId, Indices> gaps_;
  std::vector<PlanMistake> mistakes_;
};

}  // namespace

std::int64_t SamplesApart(const Tensor& tensor) { return kSectionUnit / std::gcd(kSectionUnit, SampleBytes(tensor)); }

Bytes MovedBytes(const GapDecision& gap, const Tensor& tensor) {
  return gap.samples.IsWhole() ? tensor.bytes : (gap.samples.end - gap.samples.begin) * SampleBytes(tensor);
}

SectionCuts CutsOf(const Plan& plan, const TrainingStep& step) {
  SectionCuts all;
  for (const GapDecision& gap : plan.gaps) {
    if (gap.samples.IsWhole()) continue;
    std::vector<std::int64_t>& cuts = all[gap.tensor];
    if (cuts.empty()) cuts = {0, step.tensors[Index(gap.tensor)].shape.n};
    cuts.insert(cuts.end(), {gap.samples.begin, gap.samples.end});
  }
  for (auto& [tensor, cuts] : all) {
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
  return all;
}

std::vector<PlanMistake> SectionMistakes(const Plan& plan, const TrainingStep& step) {
  const bool any =
      std::any_of(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) { return !gap.samples.IsWhole(); });
  return any ? SectionChecker(plan, step).Run() : std::vector<PlanMistake>{};
}

}  // namespace spillway
