// Plans with open gaps, and with values that are recomputed early for other recomputations. Changed Programs are judged
// rightly, certificates hold, and false ones are refused.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "sim/program/lower/lower.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/counted_changes.h"
#include "tests/sim/drawn_recording.h"
#include "tests/sim/exact_copies.h"

namespace spillway {
namespace {

bool HasOpenGap(const Plan& plan) {
  return std::any_of(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) { return gap.IsOpen(); });
}

Runtime CountedMemory() {
  Runtime runtime;
  runtime.memory = MemoryModel::kCounted;
  runtime.copy_streams = 2;
  return runtime;
}

bool HasCopies(const Program& program) {
  return std::any_of(program.code.begin(), program.code.end(),
                     [](const Instruction& in) { return in.opcode == Opcode::kWait; });
}

// Drawn, or that of `best` in little memory. Without an open gap: empty.
Plan PlanWithOpenGaps(DrawnRecording& r, std::uint64_t seed) {
  Random random(seed);
  Plan plan = RandomPlan(r.step(), r.problem.runtime, 40, random);
  AddRandomOpenGaps(r.step(), random, plan);
  AddRandomEntries(r.step(), random, plan);
  if (seed % 2 == 0) return HasOpenGap(plan) ? plan : Plan{};
  for (Bytes units = 6; units <= 11; ++units) {
    const Planned best = r.Best(units * kAllocationUnit, true);
    if (best.feasible && HasOpenGap(best.plan)) return best.plan;
  }
  return {};
}

// Only Programs that the open gaps change.
bool Matters(const DrawnRecording& r, const Plan& plan, const StepTables& tables) {
  Plan without = plan;
  std::erase_if(without.gaps, [](const GapDecision& gap) { return gap.IsOpen(); });
  if (!CheckPlan(without, r.step()).empty()) return true;
  return DumpProgram(Lower(plan, tables, 1).program, &r.step()) !=
         DumpProgram(Lower(without, tables, 1).program, &r.step());
}

TEST_CASE("changed Programs of plans with open gaps are judged rightly") {
  Random random(7);
  CountedTally counted;
  int programs = 0;
  for (std::uint64_t seed = 1; seed <= 600 && programs < Cases(6, 40); ++seed) {
    DrawnRecording r(DrawnText(seed), CountedMemory());
    const StepTables tables(r.step(), r.costs);
    const Plan plan = PlanWithOpenGaps(r, seed);
    if (!HasOpenGap(plan) || !Matters(r, plan, tables)) continue;
    INFO("seed " << seed << "\n" << PlanToYaml(plan, r.step()));
    const Bytes least = Lower(plan, tables, 1).list_peak;
    const Program program = Lower(plan, tables, 1, least).program;
    if (!HasCopies(program)) continue;
    JudgeCounted(r.step(), program, least, 60, random, counted);
    ++programs;
  }
  int safe = 0, unsafe = 0;
  for (const auto& [what, counts] : counted) {
    safe += counts.first;
    unsafe += counts.second;
  }
  INFO(safe << " safe, " << unsafe << " not");
  CHECK(programs >= Cases(6, 40));
  CHECK(std::min(safe, unsafe) >= 30);
}

// A claim above the optimum of all schedules is false, whatever it rests on.
TEST_CASE("certificates of steps with open gaps hold, and false ones are refused") {
  int held = 0, refused = 0, open = 0;
  for (std::uint64_t seed = 1; refused < Cases(100, 600); ++seed) {
    DrawnRecording r(DrawnText(seed), Live());
    Random random(seed);
    for (Bytes units = 6; units <= 10; units += 2) {
      const Bytes capacity = units * kAllocationUnit;
      const Nanos optimum = ExactCopies(r.step(), r.times, capacity).Optimum();
      const Planned planned = r.Best(capacity, true);
      if (optimum == 0 || !planned.feasible || optimum == r.Kernels()) continue;
      INFO("seed " << seed << " in " << capacity);
      open += HasOpenGap(planned.plan) ? 1 : 0;
      const StepFacts facts(r.step(), r.costs);
      const auto found = FindCertificate(facts, capacity, ScopeOf(planned.plan));
      REQUIRE(found);
      CHECK(ProvenBound(r.step(), r.costs, *found) >= found->bound);
      CHECK(found->bound <= optimum);
      ++held;
      const int now = FalseClaimsRefused(r, *found, optimum, random);
      CHECK(now == 5);
      refused += now;
    }
  }
  CHECK(held >= Cases(20, 120));
  CHECK(open > 0);
}

}  // namespace
}  // namespace spillway
