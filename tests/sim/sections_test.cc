// Plans that swap sections of tensors: what they are lowered to, where it lies, what it takes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "model/network/network.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "tests/deep.h"
#include "tests/random_sections.h"
#include "tests/sim/half_swapped.h"
#include "tests/sim/judge_mutations.h"
#include "tests/sim/parts_place.h"
#include "tests/sim/stream_all.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

std::vector<BufferId> BuffersOf(const Program& program, TensorId tensor) {
  std::vector<BufferId> found;
  for (BufferId b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].tensor == tensor && program.buffers[b].kind == BufferKind::kTensor) found.push_back(b);
  }
  return found;
}

}  // namespace

TEST_CASE("a section leaves and comes back to its place, the rest stays") {
  const PartsPlace p(LargeMaps());
  const Plan plan = HalfSwapped(p);
  REQUIRE(Says(p, plan) == "");
  const Program program = p.Lowered(plan);
  REQUIRE(ViolationsOf(program, p.step) == "");
  const Tensor& map = p.step.tensors[Index(plan.gaps[0].tensor)];
  const std::vector<BufferId> buffers = BuffersOf(program, plan.gaps[0].tensor);
  REQUIRE(buffers.size() == 3);  // what stays, and the section twice
  for (const BufferId b : buffers) CHECK(program.buffers[b].bytes == map.bytes / 2);
  CHECK(program.buffers[buffers[1]].offset == program.buffers[buffers[0]].offset + map.bytes / 2);
  CHECK(program.buffers[buffers[2]].offset == program.buffers[buffers[1]].offset);
  Bytes moved = 0;
  for (const Copy& copy : program.copies) {
    if (program.buffers[copy.from].tensor == plan.gaps[0].tensor) moved += copy.bytes;
  }
  CHECK(moved == map.bytes);  // half of it, out and in
  // Others lie where it was.
  const auto overlaps = [&](BufferId b) {
    const Buffer& other = program.buffers[b];
    const Buffer& section = program.buffers[buffers[1]];
    return other.tensor != section.tensor && other.kind != BufferKind::kHost &&
           other.offset < section.offset + section.bytes && section.offset < other.offset + other.bytes;
  };
  int there = 0;
  for (BufferId b = buffers[1] + 1; b < buffers[2]; ++b) there += overlaps(b) ? 1 : 0;
  CHECK(there > 0);
}

TEST_CASE("sections that are all swapped take what the tensor does") {
  const PartsPlace p(LargeMaps());
  Plan halves = HalfSwapped(p), whole = halves;
  halves.gaps.push_back(halves.gaps[0]);
  halves.gaps[1].samples = {0, 8};
  whole.gaps[0].samples = {};
  const Problem problem{.step = &p.step, .costs = &p.costs, .capacity = kGB, .runtime = {}};
  const Evaluation in_halves = Evaluate(halves, problem), at_once = Evaluate(whole, problem);
  REQUIRE(in_halves.feasible);
  REQUIRE(at_once.feasible);
  CHECK(in_halves.step_time == at_once.step_time);  // the unit machine: a byte a nanosecond, no latency
  CHECK(in_halves.bytes_out == at_once.bytes_out);
  CHECK(in_halves.bytes_in == at_once.bytes_in);
  CHECK(in_halves.classes.swap == at_once.classes.swap);
  CHECK(in_halves.scope.copy_chunk == kLeastCopyChunk);
}

TEST_CASE("what leaves in part saves that part of the memory") {
  const PartsPlace p(LargeMaps());
  const auto peak = [&](const Plan& plan) { return LowerItems(plan, p.tables, 1).list_peak; };
  Plan plan = p.Whole();
  const Bytes kept = peak(plan);
  for (const TensorId map : p.step.maps) {
    const MapGap gap = ForwardBackwardGap(p.step, p.tables.uses, map);
    const Tensor& tensor = p.step.tensors[Index(map)];
    if (gap.after == kNoOp || tensor.bytes < 2 * kLeastCopyChunk || tensor.Traits().on_host) continue;
    plan.gaps.push_back(SwappedByHand(map, gap));
    plan.gaps.back().samples = {8, 16};
  }
  REQUIRE(Says(p, plan) == "");
  const Bytes halves = peak(plan);
  for (GapDecision& gap : plan.gaps) gap.samples = {};
  const Bytes swapped = peak(plan);
  INFO(kept << " kept, " << halves << " with halves swapped, " << swapped << " swapped");
  CHECK(swapped < halves);
  CHECK(halves < kept);
  CHECK(halves - swapped > (kept - swapped) / 3);
  CHECK(kept - halves > (kept - swapped) / 3);
}

TEST_CASE("random plans with sections are lowered to Programs that verify proves, in every arena") {
  Random random(5);
  const int per_runtime = Cases(4, 8);  // of all kinds
  int programs = 0, sections = 0;
  const std::vector<Runtime> runtimes = {
      {},
      {.copy_streams = 1},
      {.copy_chunk = kLeastCopyChunk},
      {.barrier = Barrier::kOp, .part_waits = PartWaits::kHost},
      {.barrier = Barrier::kPhase, .blocking_copies = BlockingCopies::kAll},
      {.swap_in_waits = SwapInWaits::kBackwardLayer, .backward_units = BackwardUnits::kBreakPoints}};
  for (const char* options : {"plain", "chainer", "torch"}) {
    for (const Network& network : {LargeMaps(), Modules(), Vgg()}) {
      const PartsPlace p(network, options);
      for (const Runtime& runtime : runtimes) {
        for (int k = 0; k < per_runtime; ++k) {
          Plan plan = RandomPlan(p.step, runtime, 20 + 10 * random.Below(9), random);
          if (k % 2 == 0) std::erase_if(plan.gaps, [](const auto& gap) { return gap.action != GapAction::kSwap; });
          sections += AddRandomSections(p.step, 80, random, plan);
          if (k % 4 == 3) AddRandomParts(p.step, 30, random, plan);
          INFO(network.name << " " << options << " " << PlanToYaml(plan, p.step));
          REQUIRE(Says(p, plan) == "");
          REQUIRE(ParsePlan(PlanToYaml(plan, p.step), "plan.yaml", p.step) == plan);
          const Bytes peak = Lower(plan, p.tables, 0).list_peak;
          for (const Bytes limit : {Bytes{0}, peak * 9 / 10, peak / 2}) {
            Program program = Lower(plan, p.tables, limit).program;
            PlaceBuffers(program, peak * 12 / 10);
            REQUIRE(ViolationsOf(program, p.step) == "");
            REQUIRE(ImpliedWaits(program).empty());
            ++programs;
          }
        }
      }
    }
  }
  INFO(programs << " Programs, " << sections << " sections");
  CHECK(programs == 3 * 3 * 6 * per_runtime * 3);
  CHECK(sections > Cases(1400, 3000));
}

TEST_CASE("Programs with sections wait for nothing that they could do without") {
  Random random(19);
  std::size_t waits = 0;
  for (int k = 0; k < 6; ++k) {
    const PartsPlace p(k % 2 == 0 ? LargeMaps() : Vgg());
    Plan plan = RandomPlan(p.step, {}, 60, random);
    AddRandomSections(p.step, 100, random, plan);
    const Program program = p.Lowered(plan);
    REQUIRE(ViolationsOf(program, p.step) == "");
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      if (program.code[i].opcode != Opcode::kWait) continue;
      Program without = program;
      without.code.erase(without.code.begin() + static_cast<std::ptrdiff_t>(i));
      INFO("plan " << k << ": without instruction " << i);
      REQUIRE(ViolationsOf(without, p.step) != "");
      ++waits;
    }
  }
  INFO(waits << " waits");
  CHECK(waits > 300);
}

TEST_CASE("small changes of Programs with sections are judged rightly") {
  Random random(29);
  MutationTally tally;
  for (int k = 0; k < Cases(2, 4); ++k) {
    const PartsPlace p(Vgg());
    Plan plan = RandomPlan(p.step, {.copy_streams = 1 + k % 2}, 60, random);
    AddRandomSections(p.step, 100, random, plan);
    Judge(p.Lowered(plan), &p.step, tally);
  }
  INFO(tally.Text());
  CHECK(tally.Total() > Cases(1000, 2000));
}

// Every buffer of every section, a unit further on, or left out of its kernel, or in another order.
TEST_CASE("sections that do not lie side by side are refused") {
  Random random(37);
  int moved = 0, left_out = 0, exchanged = 0;
  for (int k = 0; k < 3; ++k) {
    const PartsPlace p(LargeMaps());
    Plan plan = RandomPlan(p.step, {}, 50, random);
    AddRandomSections(p.step, 100, random, plan);
    const Program program = p.Lowered(plan);
    REQUIRE(ViolationsOf(program, p.step) == "");
    const Bytes beyond = program.PeakAddress();
    for (BufferId b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].frame == kNoFrame) continue;
      Program changed = program;  // where nobody is, so that nothing else can be wrong
      changed.buffers[b].offset = beyond;
      INFO(DumpProgram(program, &p.step) << "\nbuffer " << b);
      REQUIRE(ViolationsOf(changed, p.step).find("clause 9") != std::string::npos);
      ++moved;
    }
    for (const Kernel& kernel : program.kernels) {
      for (std::uint32_t o = kernel.operands; o + 1 < kernel.operands + kernel.operand_count; ++o) {
        const auto tensor = [&](std::uint32_t at) { return program.buffers[program.operands[at].buffer].tensor; };
        if (tensor(o) != tensor(o + 1) || tensor(o) == kNoTensor) continue;
        Program changed = program;
        std::swap(changed.operands[o], changed.operands[o + 1]);
        REQUIRE(ViolationsOf(changed, p.step) != "");
        ++exchanged;
        changed = program;
        changed.operands[o].buffer = changed.operands[o + 1].buffer;
        REQUIRE(ViolationsOf(changed, p.step) != "");
        ++left_out;
      }
    }
  }
  INFO(moved << " moved, " << exchanged << " exchanged, " << left_out << " left out");
  CHECK(moved > 100);
  CHECK(exchanged > 100);
}

TEST_CASE("no plan with sections is faster than the bounds") {
  Random random(41);
  int cases = 0, close = 0, sections = 0;
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const PartsPlace p(seed % 2 == 0 ? LargeMaps() : Vgg());
    const DiceCosts costs(p.machine, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, costs);
    const Bytes most = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    for (const Bytes capacity : {most * 5 / 4, most * 3 / 2, most * 3}) {
      const Oracle oracle(facts, capacity);
      for (int k = 0; k < 12; ++k) {
        Runtime runtime;
        runtime.copy_streams = random.Between(1, 2);
        if (random.Below(3) == 0) runtime.copy_chunk = kLeastCopyChunk;
        Plan plan = RandomPlan(p.step, runtime, 30 + 10 * random.Below(8), random);
        if (k % 2 == 0) std::erase_if(plan.gaps, [](const auto& gap) { return gap.action != GapAction::kSwap; });
        const int drawn = AddRandomSections(p.step, 100, random, plan);
        const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
        if (!e.feasible) continue;
        INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, p.step));
        REQUIRE(e.widest.Best() <= e.bounds.Best());
        REQUIRE(e.bounds.Best() <= e.step_time);
        ++cases;
        sections += drawn;
        close += e.bounds.Best() * 10 > e.step_time * 6 ? 1 : 0;
      }
    }
  }
  INFO(cases << " plans, " << sections << " sections, " << close << " within 1.7 times their bound");
  CHECK(cases > 300);
  CHECK(sections > 3000);
  CHECK(close > cases / 20);
}

}  // namespace spillway
