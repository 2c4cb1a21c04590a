// Random plans with gaps that end in the next step: they compute the step, both engines and the fake device agree on them,
// they are not below their bounds, and small changes to their Programs are judged rightly.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/engine/simulate.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"
#include "tests/sim/drawn_recording.h"
#include "tests/sim/fake_run.h"
#include "tests/sim/judge_mutations.h"

namespace spillway {
namespace {

int GapsToNextStep(const Plan& plan) {
  return static_cast<int>(
      std::count_if(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) { return gap.EndsInNextStep(); }));
}

void CheckEngines(const Program& program, const TrainingStep& step, const CostModel& costs) {
  const std::vector<Nanos> durations = Durations(program, costs);
  Scratch scratch;
  const Simulated relaxed = SimulateRelax(program, durations, {}, scratch);
  CHECK(SimulateEvents(program, durations, {}, scratch).makespan == relaxed.makespan);
  if (program.memory != ProgramMemory::kArena) return;
  const ExecuteResult ran = FakeRun(program, &step, {.durations = durations}, {.iterations = 3, .debug = true});
  REQUIRE(Says(ran) == "");
  CHECK(ran.step_times == std::vector<Nanos>(3, relaxed.makespan));
}

// A runtime each of our own, with one copy stream, with pieces of copies, of counted memory and of a pool.
Runtime RuntimeOf(std::uint64_t seed) {
  Runtime runtime = RuntimeByName("arena");
  runtime.copy_streams = 1 + static_cast<int>(seed % 2);
  if (seed % 5 == 1) runtime.memory = MemoryModel::kCounted;
  if (seed % 5 == 2) runtime.memory = MemoryModel::kPool;
  if (seed % 7 == 3) runtime.copy_chunk = kLeastCopyChunk;
  return runtime;
}

Plan DrawnPlan(const TrainingStep& step, const Runtime& runtime, std::uint64_t seed) {
  Random random(seed);
  Plan plan = RandomPlan(step, runtime, 50, random);
  AddRandomOpenGaps(step, random, plan);
  AddRandomNextStepGaps(step, random, plan);
  AddRandomEntries(step, random, plan);
  return plan;
}

// In the memory that the plan takes. Evaluate throws std::logic_error where verify finds fault with the Program.
bool CheckPlanOf(DrawnRecording& r, const Plan& plan) {
  Problem problem = r.problem;
  problem.capacity = 16 * kGB;
  Evaluation e = Evaluate(plan, problem);
  REQUIRE(e.feasible);
  CheckEngines(e.program, r.step(), r.costs);
  problem.capacity = std::max<Bytes>(e.peak_bytes, e.live_peak_bytes);
  e = Evaluate(plan, problem);
  if (!e.feasible) return false;
  CHECK(e.scope.states_leave == (GapsToNextStep(plan) > 0));
  CHECK(e.bounds.Best() <= e.step_time);
  CHECK(e.widest.Best() <= e.step_time);
  const auto found = FindCertificate(StepFacts(r.step(), r.costs), problem.capacity, e.scope);
  REQUIRE(found);
  CHECK(ProvenBound(r.step(), r.costs, *found) >= found->bound);
  CHECK(found->bound <= e.step_time);
  CHECK(ParseCertificate(ParseDocument(CertificateToYaml(*found, r.step()), "c"), r.step()) == *found);
  return true;
}

TEST_CASE("random plans of recorded steps with gaps to the next step compute the step and are not below the bounds") {
  int plans = 0, gaps = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(250, 2500); ++seed) {
    const Runtime runtime = RuntimeOf(seed);
    DrawnRecording r(RecordedText(seed).Draw(), runtime);
    const Plan plan = DrawnPlan(r.step(), runtime, seed);
    INFO("seed " << seed << "\n" << PlanToYaml(plan, r.step()));
    REQUIRE(CheckPlan(plan, r.step()) == std::vector<std::string>{});
    CHECK(ParsePlan(PlanToYaml(plan, r.step()), "p", r.step()) == plan);
    const int more = GapsToNextStep(plan);
    if (more == 0 || !CheckPlanOf(r, plan)) continue;
    ++plans;
    gaps += more;
  }
  CHECK(plans > Cases(50, 500));
  CHECK(gaps >= plans);
}

// Two ops in place read each other's results; what an entry reads was asked for round and round.
TEST_CASE("an entry whose results in place lead to one another and back is lowered") {
  const std::uint64_t seed = 389;
  const Runtime runtime = RuntimeOf(seed);
  DrawnRecording r(RecordedText(seed).Draw(), runtime);
  CHECK(CheckPlanOf(r, DrawnPlan(r.step(), runtime, seed)));
}

TEST_CASE("changed Programs of plans with gaps to the next step are judged rightly") {
  MutationTally tally;
  int programs = 0, resting = 0;
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  const TrainingStep step =
      BuildTrainingStep(BuildZooNetwork("cifar-alexnet", {.batch = 2}), StepOptionTable().front());
  const StepTables tables(step, costs);
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(3, 20); ++seed) {
    Random random(seed);
    Plan plan = RandomPlan(step, {.copy_streams = 1 + static_cast<int>(seed % 2)}, 20, random);
    AddRandomNextStepGaps(step, random, plan);
    if (seed % 3 == 0) plan.runtime.memory = MemoryModel::kPool;
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    resting += GapsToNextStep(plan);
    Program program = Lower(plan, tables, 0).program;
    if (program.memory == ProgramMemory::kArena) PlaceBuffers(program);
    INFO("seed " << seed);
    Judge(program, &step, tally);
    ++programs;
  }
  INFO(tally.Text());
  CHECK(tally.Total() >= 300 * programs);
  CHECK(resting > 5 * programs);
}

// Where the fake device objects to a Program without one of its copies, so does verify, and only there.
TEST_CASE("verify and the fake device agree on which copies between steps may be left out") {
  int refused = 0, accepted = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(150, 1500); ++seed) {
    DrawnRecording r(RecordedText(seed).Draw(), RuntimeByName("arena"));
    const Plan plan = DrawnPlan(r.step(), r.problem.runtime, seed);
    const Lowered lowered = Lower(plan, StepTables(r.step(), r.costs), 0);
    if (GapsToNextStep(plan) == 0 || lowered.Endless()) continue;
    Program program = lowered.program;
    PlaceBuffers(program);
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      if (program.code[i].opcode != Opcode::kCopy) continue;
      const Copy& copy = program.copies[program.code[i].arg];
      const TensorId tensor = program.buffers[copy.from].tensor;
      if (!r.step().tensors[Index(tensor)].Traits().resident) continue;
      Program changed = program;
      changed.code.erase(changed.code.begin() + static_cast<std::ptrdiff_t>(i));
      const bool safe = Verify(changed, &r.step()).empty();
      INFO("seed " << seed << ", copy " << i);
      CHECK(FakeRun(changed, &r.step(), {}, {.iterations = 2, .debug = true}).failure.has_value() == !safe);
      ++(safe ? accepted : refused);
    }
  }
  INFO(refused << " refused, " << accepted << " accepted");
  CHECK(refused >= Cases(40, 400));
}

}  // namespace
}  // namespace spillway
