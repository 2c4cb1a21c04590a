// checkpoint-blocks: each block of the network is run again from its input when backward comes to it, as
// torch.utils.checkpoint around each block does. Inputs and results of blocks stay; what a block makes for itself is
// dropped after forward, and computed again once.
//
// A recording says what a block is: a repeated module (TrainingStep::blocks). Of a network blocks are the stretches
// between two maps that every path goes through, if paths fork and join within; where none do, as in a chain, all layers
// that make maps of one size.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "hw/text/lists.h"
#include "sim/planning/problem.h"
#include "sim/strategies/shared/forward_values.h"

namespace spillway {
namespace {

struct Blocks {
  std::vector<std::int32_t> of{};  // by op of forward; -1: in no block
  const char* rule = "";
};

std::int32_t CountOf(const Blocks& blocks) {
  return static_cast<std::int32_t>(std::set<std::int32_t>(blocks.of.begin(), blocks.of.end()).size()) -
         (Contains(blocks.of, -1) ? 1 : 0);
}

// Reads results of two paths: an add, a product, attention.
bool Joins(const TrainingStep& step, const Op& op) {
  const auto result = [&step](TensorId t) { return !step.tensors[Index(t)].Traits().of_parameters; };
  return std::count_if(op.reads.begin(), op.reads.end(), result) > 1;
}

Blocks BetweenPoints(const TrainingStep& step) {
  Blocks blocks{.of = std::vector<std::int32_t>(Index(step.first_backward), -1),
                .rule = "a block lies between two maps that every path goes through"};
  std::int32_t next = 0;
  OpId begin = 0;
  for (const ForwardValue& value : ForwardValuesOf(step)) {
    if (!value.candidate) continue;
    const auto first = step.ops.begin() + begin, end = step.ops.begin() + value.complete + 1;
    if (std::any_of(first, end, [&step](const Op& op) { return Joins(step, op); })) {
      std::fill(blocks.of.begin() + begin, blocks.of.begin() + value.complete + 1, next++);
    }
    begin = value.complete + 1;
  }
  return blocks;
}

bool SameSize(const Shape& a, const Shape& b) { return a.d == b.d && a.h == b.h && a.w == b.w; }

Blocks BySize(const TrainingStep& step) {
  Blocks blocks{.rule = "a block is all layers with maps of one size"};
  std::int32_t block = 0;
  const Op* before = nullptr;
  for (OpId op = 0; op < step.first_backward; ++op) {
    const Op& here = step.ops[Index(op)];
    if (!step.OnParameters(here)) {
      if (before != nullptr && !SameSize(here.shape.out, before->shape.out)) ++block;
      before = &here;
    }
    blocks.of.push_back(block);
  }
  return blocks;
}

Blocks BlocksOf(const TrainingStep& step) {
  if (step.recorded()) {
    const auto forward = std::min(step.blocks.size(), Index(step.first_backward));
    Blocks blocks{.of = {step.blocks.begin(), step.blocks.begin() + static_cast<std::ptrdiff_t>(forward)},
                  .rule = "a block is a repeated module"};
    blocks.of.resize(Index(step.first_backward), -1);
    return blocks;
  }
  Blocks blocks = BetweenPoints(step);
  return CountOf(blocks) > 0 ? blocks : BySize(step);
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

}  // namespace

Planned PlanCheckpointBlocks(const Problem& problem) {
  const TrainingStep& step = *problem.step;
  const Uses uses(step);
  const Blocks blocks = BlocksOf(step);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "checkpoint-blocks", "arena");
  planned.plan.search = fmt::format("{} blocks; {}", CountOf(blocks), blocks.rule);
  for (const ForwardValue& value : ForwardValuesOf(step)) {
    if (!value.IsWantedAgain() || !step.MayRecompute(value.tensor, value.gap.before)) continue;
    const std::int32_t block = Inside(uses, blocks, value);
    if (block < 0) continue;
    planned.plan.gaps.push_back({.tensor = value.tensor,
                                 .after = value.gap.after,
                                 .before = value.gap.before,
                                 .action = GapAction::kRecompute,
                                 .reason = fmt::format("in block {}: {}", block + 1, blocks.rule)});
  }
  return planned;
}

}  // namespace spillway
