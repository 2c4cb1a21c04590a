// checkpoint-blocks: each block of the network is run again from its input when backward comes to it, as
// torch.utils.checkpoint around each block does. Inputs and results of blocks stay; what a block makes for itself is
// dropped after forward, and computed again once.
//
// A recording says what a block is: a repeated module (TrainingStep::blocks). Those of a network are found by how its
// results are read (shared/network_blocks.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/planning/problem.h"
#include "sim/strategies/shared/forward_values.h"
#include "sim/strategies/shared/network_blocks.h"

namespace spillway {
namespace {

Blocks BlocksOf(const TrainingStep& step) {
  if (step.recorded()) {
    const auto forward = std::min(step.blocks.size(), Index(step.first_backward));
    Blocks blocks{.of = {step.blocks.begin(), step.blocks.begin() + static_cast<std::ptrdiff_t>(forward)},
                  .rule = "a block is a repeated module"};
    blocks.of.resize(Index(step.first_backward), -1);
    return blocks;
  }
  return BlocksOfNetwork(step);
}

// The block that alone writes and reads the value in forward; -1: there is none, and the value is an input or a result of
// blocks.
std::int32_t Inside(const Uses& uses, const Blocks& blocks, const ForwardValue& value) {
  const std::int32_t block = value.IsInput() ? -1 : blocks.of[Index(value.first)];
  for (const OpId op : uses.of[Index(value.tensor)]) {
    if (Index(op) < blocks.of.size() && blocks.of[Index(op)] != block) return -1;
  }
  return block;
}

struct Dropped {
  TensorId tensor = kNoTensor;
  std::int32_t block = -1;
  OpId before = kNoOp;  // where it is computed again
};

// What the second runs of blocks read from outside of them stays for these runs, though backward itself may not read it.
class HeldInputs {
 public:
  HeldInputs(const TrainingStep& step, const Uses& uses, const Blocks& blocks)
      : step_(step), uses_(uses), blocks_(blocks) {}

  void AddFor(const Dropped& dropped) {
    seen_.clear();
    Visit(dropped.tensor, dropped);
  }

  // Those whose last use comes before the run that reads them.
  std::vector<GapDecision> Decisions() const {
    std::vector<GapDecision> gaps;
    for (const auto& [tensor, until] : until_) {
      const OpId last = uses_.of[Index(tensor)].back();
      if (last >= until) continue;
      gaps.push_back({.tensor = tensor,
                      .after = last,
                      .action = GapAction::kRecompute,
                      .reason = "input of a block, which runs again",
                      .leaves_after = until});
    }
    return gaps;
  }

 private:
  void Visit(TensorId tensor, const Dropped& dropped) {
    for (const OpId writer : uses_.writers[Index(tensor)]) {
      for (const TensorId source : step_.ops[Index(writer)].reads) {
        if (source != tensor && seen_.insert(source).second) Need(source, dropped);
      }
    }
  }

  void Need(TensorId source, const Dropped& dropped) {
    const TensorTraits& traits = step_.tensors[Index(source)].Traits();
    const std::vector<OpId>& writers = uses_.writers[Index(source)];
    if (traits.of_parameters || traits.on_host || writers.empty()) return;
    if (blocks_.of[Index(writers.front())] == dropped.block) return Visit(source, dropped);
    OpId& until = until_.try_emplace(source, dropped.before).first->second;
    until = std::max(until, dropped.before);
  }

  const TrainingStep& step_;
  const Uses& uses_;
  const Blocks& blocks_;
  std::set<TensorId> seen_;
  std::map<TensorId, OpId> until_;
};

}  // namespace

Planned PlanCheckpointBlocks(const Problem& problem) {
  const TrainingStep& step = *problem.step;
  const Uses uses(step);
  const Blocks blocks = BlocksOf(step);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "checkpoint-blocks", "counted");
  planned.plan.search = fmt::format("{} blocks; {}", blocks.Count(), blocks.rule);
  HeldInputs held(step, uses, blocks);
  for (const ForwardValue& value : ForwardValuesOf(step)) {
    if (!value.IsWantedAgain() || !step.MayRecompute(value.tensor, value.gap.before)) continue;
    const std::int32_t block = Inside(uses, blocks, value);
    if (block < 0) continue;
    planned.plan.gaps.push_back({.tensor = value.tensor,
                                 .after = value.gap.after,
                                 .before = value.gap.before,
                                 .action = GapAction::kRecompute,
                                 .reason = fmt::format("in block {}: {}", block + 1, blocks.rule)});
    held.AddFor({value.tensor, block, value.gap.before});
  }
  for (GapDecision& gap : held.Decisions()) planned.plan.gaps.push_back(std::move(gap));
  return planned;
}

}  // namespace spillway
