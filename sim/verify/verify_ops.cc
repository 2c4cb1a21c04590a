// That a Program runs every op of its step, once or in parts, each behind the one before.
#include <fmt/format.h>

#include <algorithm>

#include "sim/verify/verify_boxes.h"

namespace spillway::verifying {

namespace {

// By op: where it runs, recomputations apart: once, or in parts.
std::vector<std::vector<InstructionIndex>> FindOps(const Program& program, const TrainingStep& step, Report& report) {
  std::vector<std::vector<InstructionIndex>> at(step.ops.size());
  std::vector<bool> in_parts(step.ops.size(), false);
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[program.code[i].arg];
    if (kernel.op == kNoOp) continue;  // reported with its operands
    if (kernel.recomputation) {
      if (!step.IsForward(kernel.op)) report.Add("step", i, kNoBuffer, "only forward ops are computed again");
      if (step.ops[Index(kernel.op)].once) report.Add("step", i, kNoBuffer, "the op may run only once");
      continue;
    }
    std::vector<InstructionIndex>& runs = at[Index(kernel.op)];
    const bool part = IsPart(program, step, kernel);
    if (!runs.empty() && !(part && in_parts[Index(kernel.op)])) {
      report.Add("step", i, kNoBuffer, fmt::format("the op ran already at instruction {}", runs[0]));
    }
    in_parts[Index(kernel.op)] = part;
    runs.push_back(i);
  }
  return at;
}

}  // namespace

void CheckOps(const Program& program, const TrainingStep& step, const HappensBefore& before, Report& report) {
  const std::vector<std::vector<InstructionIndex>> at = FindOps(program, step, report);
  const auto end = static_cast<InstructionIndex>(program.code.size());
  for (std::size_t op = 0; op < at.size(); ++op) {
    if (at[op].empty()) report.Add("step", end, kNoBuffer, step.ops[op].name + " never runs");
    for (const InstructionIndex here : at[op]) {
      const bool follows = op == 0 || std::all_of(at[op - 1].begin(), at[op - 1].end(),
                                                  [&](InstructionIndex earlier) { return before(earlier, here); });
      if (!follows) report.Add("step", here, kNoBuffer, fmt::format("it need not follow {}", step.ops[op - 1].name));
    }
  }
}

}  // namespace spillway::verifying
