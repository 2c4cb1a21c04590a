// A row's plan and program in one line, for scenarios whose plans and programs are too long to keep: a program of
// ResNet-50 is 210 to 260 kB of text. The line tells which row changed, and whether in decisions, instructions,
// addresses or time.
#ifndef SPILLWAY_TESTS_SCENARIOS_ROW_DIGEST_H_
#define SPILLWAY_TESTS_SCENARIOS_ROW_DIGEST_H_

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "model/util/hash.h"
#include "scenarios/run/run.h"

namespace spillway {

// Columns have fixed widths: a change in one row leaves the others' lines as they are.
constexpr const char* kPlaceColumns = "{:<25} {:>5} {:<31} {:>12} {:<6} {:<27}";
constexpr const char* kDigestColumns =
    " {:>4} {:>9} {:>3} {:016x} {:>6} {:>4} {:>5} {:>4} {:>6} {:>4} {:>4} {:>7} {:>11} {:016x} {:>11}";

inline std::string DigestHeader() {
  return fmt::format(kPlaceColumns, "network", "batch", "machine", "memory", "model", "strategy") +
         " swap recompute ops plan             kernel copy alloc free record wait sync buffers        peak program     "
         "         step ns\n";
}

// Plan and program as digests of PlanToYaml and DumpProgram; peak in bytes as in Evaluation; the step's time in full where
// the table rounds it.
inline std::string DigestOf(const PointResult& result, const TrainingStep& step) {
  const Plan& plan = result.plan;
  const Program& program = result.evaluation.program;
  const auto swaps = std::count_if(plan.gaps.begin(), plan.gaps.end(),
                                   [](const GapDecision& gap) { return gap.action == GapAction::kSwap; });
  const auto recomputations = static_cast<std::ptrdiff_t>(plan.gaps.size()) - swaps;
  std::array<int, kOpcodes> instructions{};
  for (const Instruction& instruction : program.code) ++instructions.at(static_cast<std::size_t>(instruction.opcode));
  const auto [kernel, copy, alloc, free, record, wait, sync] = instructions;
  return fmt::format(kDigestColumns, swaps, recomputations, plan.ops.size(), Fnv1a(PlanToYaml(plan, step)), kernel,
                     copy, alloc, free, record, wait, sync, program.buffers.size(), result.evaluation.peak_bytes,
                     Fnv1a(DumpProgram(program, &step)), result.evaluation.step_time);
}

inline std::string DigestLine(const PointResult& result, const TrainingStep& step) {
  const ResultRow& row = result.row;
  const std::string place =
      fmt::format(kPlaceColumns, row.network, row.batch, row.machine, FormatBytesExact(row.memory_limit),
                  row.plan.memory_model.empty() ? "-" : row.plan.memory_model, row.strategy);
  return place + (row.feasible ? DigestOf(result, step) : " " + row.reason) + "\n";
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCENARIOS_ROW_DIGEST_H_
