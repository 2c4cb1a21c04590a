#include "sim/plan/carried.h"

#include <fmt/format.h>

namespace spillway {

namespace {

std::string OpName(const TrainingStep& step, OpId op) { return "'" + step.ops[Index(op)].name + "'"; }

std::string OpNotCarried(const OpDecision& decision, const TrainingStep& step) {
  const std::string name = OpName(step, decision.op);
  if (!decision.streamed.empty()) return name + " streams operands";
  if (!decision.parts.empty() || decision.tiles.Any() || decision.fused) return name + " runs in parts";
  if (!decision.again.empty()) return name + " runs again by another algorithm";
  return decision.algorithm != 0 ? name + " runs by an algorithm of the plan's choice" : "";
}

std::string GapNotCarried(CarriedGaps gaps, const GapDecision& gap, const TrainingStep& step) {
  const std::string& name = step.tensors[Index(gap.tensor)].name;
  if (!gap.samples.IsWhole()) return fmt::format("a section of '{}' is swapped", name);
  if (gap.EndsInNextStep()) return fmt::format("'{}' lies on the host between steps", name);
  if (MayCarryGap(gaps, step, gap.after, gap.before)) return "";
  const std::string from = gap.after == kNoOp ? "the start" : OpName(step, gap.after);
  if (gap.IsOpen()) return fmt::format("'{}' stays after its last use {}", name, from);
  return fmt::format("'{}' leaves between {} and {}", name, from, OpName(step, gap.before));
}

}  // namespace

bool MayCarryGap(CarriedGaps gaps, const TrainingStep& step, OpId after, OpId before) {
  if (gaps == CarriedGaps::kAny) return true;
  if (after >= step.first_update || before >= step.first_update) return false;
  if (gaps == CarriedGaps::kAll || before == kNoOp || after == kNoOp) return true;
  return step.IsForward(after) && step.IsBackward(before);
}

std::string NotCarried(CarriedGaps gaps, const Plan& plan, const TrainingStep& step) {
  if (gaps == CarriedGaps::kAny) return "";
  if (plan.accumulate != 1) return fmt::format("the batch runs in {} parts", plan.accumulate);
  for (const OpDecision& decision : plan.ops) {
    if (std::string why = OpNotCarried(decision, step); !why.empty()) return why;
  }
  for (const GapDecision& gap : plan.gaps) {
    if (std::string why = GapNotCarried(gaps, gap, step); !why.empty()) return why;
  }
  for (const Recomputation& entry : plan.recompute) {
    if (entry.before < step.first_update) continue;
    return fmt::format("{} runs again before {}, an update", OpName(step, entry.run), OpName(step, entry.before));
  }
  return "";
}

}  // namespace spillway
