// That a Program runs every op of its step, once or in parts, each behind the one before.
//
// Two ops in a row that both run in parts may take turns, as fused ones do: then the first part of the second op follows the
// first part of the first one, and its last part the last one's. What the parts in between have to wait for, contents and
// clause 4 say, place by place.
#include <fmt/format.h>

#include <algorithm>

#include "sim/verify/verify_boxes.h"

namespace spillway::verifying {

namespace {

// By op: where it runs, recomputations apart: once, or in parts.
struct Runs {
  std::vector<std::vector<InstructionIndex>> at;
  std::vector<bool> in_parts;
};

Runs FindOps(const Program& program, const TrainingStep& step, Report& report) {
  Runs found{std::vector<std::vector<InstructionIndex>>(step.ops.size()), std::vector<bool>(step.ops.size(), false)};
  auto& [at, in_parts] = found;
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
  return found;
}

// Those of an op's kernels whose order to a neighbour in parts is left to nothing else.
std::vector<InstructionIndex> Ends(const std::vector<InstructionIndex>& runs) {
  if (runs.empty()) return {};
  return {runs.front(), runs.back()};
}

// The second op's kernel `here` with regard to the first op's.
bool Follows(const std::vector<InstructionIndex>& earlier, InstructionIndex here, const HappensBefore& before) {
  return std::all_of(earlier.begin(), earlier.end(), [&](InstructionIndex run) { return before(run, here); });
}

// First behind first, last behind last.
bool TakeTurns(const std::vector<InstructionIndex>& earlier, const std::vector<InstructionIndex>& later,
               const HappensBefore& before) {
  const std::vector<InstructionIndex> a = Ends(earlier), b = Ends(later);
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (!before(a[k], b[k])) return false;
  }
  return true;
}

}  // namespace

void CheckOps(const Program& program, const TrainingStep& step, const HappensBefore& before, Report& report) {
  const auto [at, in_parts] = FindOps(program, step, report);
  const auto end = static_cast<InstructionIndex>(program.code.size());
  for (std::size_t op = 0; op < at.size(); ++op) {
    if (at[op].empty()) report.Add("step", end, kNoBuffer, step.ops[op].name + " never runs");
    if (op == 0 || (in_parts[op - 1] && in_parts[op] && TakeTurns(at[op - 1], at[op], before))) continue;
    for (const InstructionIndex here : at[op]) {
      if (Follows(at[op - 1], here, before)) continue;
      report.Add("step", here, kNoBuffer, fmt::format("it need not follow {}", step.ops[op - 1].name));
    }
  }
}

}  // namespace spillway::verifying
