#include "sim/evaluate/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/kernels/kernel_form.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"

namespace spillway {

namespace {

constexpr int kLayoutTries = 6;
constexpr Bytes kSmallestSteps = 200;  // each try has at least capacity / 200 less for prefetching
constexpr Bytes kNoPrefetching = 1;    // a live limit below everything
constexpr Bytes kNoGrants = 0;         // a room in which the library takes the least workspace everywhere

// Every map on the host between its forward and its backward uses. Nothing of a map that is swapped is streamed.
// What lies on the host between steps does so here, too.
Plan EveryMapSwapped(const StepTables& tables, const Plan& of) {
  Plan plan;
  plan.ops = of.ops;
  std::copy_if(of.gaps.begin(), of.gaps.end(), std::back_inserter(plan.gaps),
               [](const GapDecision& gap) { return gap.EndsInNextStep(); });
  for (OpDecision& decision : plan.ops) {
    if (!HasAlgorithms(tables.step->ops[Index(decision.op)].kind)) decision.parts.clear();
    if (decision.parts.empty()) decision.tiles = {};
    decision.streamed.clear();
    decision.depth = kTilesDeep;
    decision.fused = false;
  }
  for (const TensorId map : tables.step->maps) {
    const MapGap ends = ForwardBackwardGap(*tables.step, tables.uses, map);
    if (ends.before == kNoOp) continue;
    plan.gaps.push_back({.tensor = map,
                         .after = ends.after,
                         .before = ends.before,
                         .out_after = ends.after,
                         .in_at = ends.before,
                         .reason = ""});
  }
  return plan;
}

// The arena in which the step runs with every map swapped and brought back no sooner than it is needed.
Bytes LeastOfSwapAll(const StepTables& tables, const Plan& of) {
  Lowered lowered = LowerItems(EveryMapSwapped(tables, of), tables, kNoPrefetching, kNoGrants);
  return PlaceBuffers(lowered.skeleton, lowered.program, 0);
}

// Too many bytes are live for any layout, or recomputation does not end.
CompiledPlan Refused(const Lowered& lowered, const TrainingStep& step) {
  const std::string name = NameOfOp(step, lowered.op);
  return {.reason = lowered.Endless()
                        ? fmt::format("recomputation: before {} more than {} times all ops have run again", name,
                                      kRecomputeLimit)
                        : fmt::format("out_of_memory: the plan needs {} at {}", FormatBytes(lowered.list_peak), name)};
}

CompiledPlan CompileForPool(const Plan& plan, const StepTables& tables, Bytes room) {
  Lowered lowered = Lower(plan, tables, 0, room);
  if (lowered.Endless()) return Refused(lowered, *tables.step);
  return {.program = std::move(lowered.program)};
}

// A swap-in moved forward may change which recomputed tensors stay on the device, as in an arena.
CompiledPlan CompileForCounted(const Plan& plan, const StepTables& tables, Bytes capacity) {
  Lowered lowered = Lower(plan, tables, capacity, capacity);
  if (lowered.list_peak > capacity && !lowered.Endless()) lowered = Lower(plan, tables, kNoPrefetching, capacity);
  if (lowered.list_peak > capacity) return Refused(lowered, *tables.step);
  return {.program = std::move(lowered.program), .peak_bytes = lowered.counted_peak};
}

// Addresses go on beyond the device's memory.
CompiledPlan CompileForManaged(const Plan& plan, const StepTables& tables, Bytes capacity) {
  Lowered lowered = LowerItems(plan, tables, 0);
  if (lowered.Endless()) return Refused(lowered, *tables.step);
  const Bytes all = PlaceBuffers(lowered.skeleton, lowered.program, 0);
  return {.program = std::move(lowered.program), .peak_bytes = std::min(all, capacity), .managed_bytes = all};
}

enum class Grants : std::uint8_t { kWhole, kCut };

// With kCut, grants have as much room as prefetching has, and none in the last try.
CompiledPlan CompileForArena(const Plan& plan, const StepTables& tables, Bytes capacity, Grants grants) {
  const bool cut = grants == Grants::kCut;
  Bytes limit = capacity, room = capacity, lowest = 0, live = 0;  // the lowest layout, and what was live of that try
  for (int attempt = 0; attempt < kLayoutTries; ++attempt) {
    Lowered lowered = LowerItems(plan, tables, limit, cut ? room : kEndlessBytes);
    if (lowered.list_peak > capacity) {
      if (lowered.Endless() || limit == kNoPrefetching) return Refused(lowered, *tables.step);
      limit = kNoPrefetching;  // a swap-in moved forward may change which recomputed tensors stay on the device
      continue;
    }
    const Bytes peak = PlaceBuffers(lowered.skeleton, lowered.program, capacity);
    if (peak <= capacity) return {.program = std::move(lowered.program), .peak_bytes = peak};
    if (lowest == 0 || peak < lowest) lowest = peak, live = lowered.list_peak;
    if (limit == kNoPrefetching && (!cut || room == kNoGrants)) break;
    const Bytes step = std::max(peak - capacity, capacity / kSmallestSteps);
    const bool last = cut && attempt + 2 == kLayoutTries;
    limit = last ? kNoPrefetching : std::max(kNoPrefetching, limit - step);
    room = last ? kNoGrants : std::max(kNoGrants, room - step);
  }
  return {.reason = fmt::format("fragmentation: no layout below {} found, where {} are live", FormatBytes(lowest),
                                FormatBytes(live)),
          .smallest_limit = lowest};
}

// Whether the library chooses for some op that it has workspace for.
bool MayCut(const Plan& plan, const StepTables& tables) {
  std::vector<bool> chosen(tables.launch.size(), true);
  for (std::size_t op = 0; op < chosen.size(); ++op)
    chosen[op] =
        tables.launches[tables.launch[op]].workspace > 0 || tables.launches[tables.launch_again[op]].workspace > 0;
  for (const OpDecision& decision : plan.ops) {
    const auto free = [](const OpPart& part) { return part.algorithm == 0 && part.workspace > 0; };
    const bool parts = std::any_of(decision.parts.begin(), decision.parts.end(), free);
    const bool whole = decision.parts.empty() && decision.algorithm == 0 && decision.workspace > 0;
    const bool again = std::any_of(decision.again.begin(), decision.again.end(),
                                   [](const OpAgain& way) { return way.algorithm == 0 && way.workspace > 0; });
    chosen[Index(decision.op)] = parts || whole || again;
  }
  return std::find(chosen.begin(), chosen.end(), true) != chosen.end();
}

// Working sets by op, without what is on the host before its first use and behind its last one.
std::vector<Bytes> SetsOf(const Plan& plan, const StepTables& tables, StepTables::Grants grants) {
  std::vector<Bytes> sets = tables.WorkingSets(plan.ops, grants);
  for (const GapDecision& gap : plan.gaps) {
    if (!gap.EndsInNextStep()) continue;
    const std::vector<OpId>& uses = tables.uses.of[Index(gap.tensor)];
    for (std::size_t op = 0; op < sets.size(); ++op) {
      const bool used = Index(uses.front()) <= op && op <= Index(uses.back());
      if (!used) sets[op] -= tables.bytes[Index(gap.tensor)];
    }
  }
  return sets;
}

}  // namespace

CompiledPlan CheckWorkingSets(const Plan& plan, const StepTables& tables, Bytes capacity) {
  const auto fits = [capacity](Bytes bytes) { return bytes <= capacity; };
  std::vector<Bytes> sets = SetsOf(plan, tables, StepTables::Grants::kFull);
  if (std::all_of(sets.begin(), sets.end(), fits)) return {};
  sets = SetsOf(plan, tables, StepTables::Grants::kLeast);
  const auto largest = std::max_element(sets.begin(), sets.end());
  const Bytes needed = *largest;
  if (needed <= capacity) return {};
  const auto op = static_cast<OpId>(largest - sets.begin());
  return {.reason = fmt::format("working_set: {} needs {} with everything else moved out", NameOfOp(*tables.step, op),
                                FormatBytes(needed)),
          .worst_op = op,
          .smallest_limit = std::max(needed, LeastOfSwapAll(tables, plan))};
}

CompiledPlan CompileWithin(const Plan& plan, const StepTables& tables, Bytes capacity, Bytes room) {
  if (IsManaged(plan.runtime.memory)) return CompileForManaged(plan, tables, capacity);
  if (plan.runtime.memory == MemoryModel::kPool) return CompileForPool(plan, tables, room);
  if (plan.runtime.memory == MemoryModel::kCounted) return CompileForCounted(plan, tables, capacity);
  CompiledPlan compiled = CompileForArena(plan, tables, capacity, Grants::kWhole);
  if (compiled.reason.empty() || !MayCut(plan, tables)) return compiled;
  return CompileForArena(plan, tables, capacity, Grants::kCut);
}

std::string NameOfOp(const TrainingStep& step, OpId op) {
  return op == kNoOp ? "the end of the step" : step.ops[Index(op)].name;
}

}  // namespace spillway
