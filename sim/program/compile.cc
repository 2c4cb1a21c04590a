#include "sim/program/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/cost/kernel_form.h"
#include "sim/program/layout.h"
#include "sim/program/lower.h"

namespace spillway {

namespace {

constexpr int kLayoutTries = 6;

// Every map on the host between its forward and its backward uses.
Plan EveryMapSwapped(const StepTables& tables, const std::vector<OpDecision>& ops) {
  Plan plan;
  plan.ops = ops;
  for (OpDecision& decision : plan.ops) {  // where they are swapped, nothing of them is streamed
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
Bytes LeastOfSwapAll(const StepTables& tables, const std::vector<OpDecision>& ops) {
  Lowered lowered = LowerItems(EveryMapSwapped(tables, ops), tables, 1);
  return PlaceBuffers(lowered.skeleton, lowered.program, 0);
}

class ProgramMaker {
 public:
  ProgramMaker(const Plan& plan, const StepTables& tables, Bytes capacity)
      : plan_(plan), tables_(tables), capacity_(capacity) {}

  CompiledPlan Make() {
    if (IsManaged(plan_.runtime.memory)) {
      LayOutManaged();
    } else if (plan_.runtime.memory == MemoryModel::kArena) {
      LayOut();
    } else {
      Lowered lowered = Lower(plan_, tables_, 0);
      if (lowered.Endless())
        NoRoom(lowered);
      else
        room_.program = std::move(lowered.program);
    }
    return std::move(room_);
  }

 private:
  // Addresses go on behind the device's memory.
  void LayOutManaged() {
    Lowered lowered = LowerItems(plan_, tables_, 0);
    if (lowered.Endless()) return NoRoom(lowered);
    room_.managed_bytes = PlaceBuffers(lowered.skeleton, lowered.program, 0);
    room_.peak_bytes = std::min(room_.managed_bytes, capacity_);
    room_.program = std::move(lowered.program);
  }

  // A layout needs some bytes more than are live. Where that goes beyond the capacity, the plan is lowered again with
  // less room for prefetching, so that swap-ins come later.
  void LayOut() {
    Bytes limit = capacity_, fragmented_peak = 0;
    for (int attempt = 0; attempt < kLayoutTries; ++attempt) {
      Lowered lowered = LowerItems(plan_, tables_, limit);
      if (lowered.list_peak > capacity_ && !lowered.Endless() && limit > 1) {
        limit = 1;  // a swap-in moved forward may change what recomputation leaves on the device: without any
        continue;
      }
      if (lowered.list_peak > capacity_) return NoRoom(lowered);
      const Bytes peak = PlaceBuffers(lowered.skeleton, lowered.program, capacity_);
      if (peak <= capacity_) {
        room_.peak_bytes = peak;
        room_.program = std::move(lowered.program);
        return;
      }
      fragmented_peak = fragmented_peak == 0 ? peak : std::min(peak, fragmented_peak);
      if (limit == 1) break;  // without any prefetching, there is nothing left to try
      limit = std::max<Bytes>(1, limit - std::max<Bytes>(peak - capacity_, capacity_ / 200));
    }
    room_.smallest_limit = fragmented_peak;
    room_.reason = fmt::format("fragmentation: no layout below {} found", FormatBytes(fragmented_peak));
  }

  void NoRoom(const Lowered& lowered) {
    const std::string name = NameOfOp(*tables_.step, lowered.op);
    room_.reason =
        lowered.Endless()
            ? fmt::format("recomputation: before {} more than {} times all ops have run again", name, kRecomputeLimit)
            : fmt::format("out_of_memory: the plan needs {} at {}", FormatBytes(lowered.list_peak), name);
  }

  const Plan& plan_;
  const StepTables& tables_;
  const Bytes capacity_;
  CompiledPlan room_;
};

}  // namespace

CompiledPlan CheckWorkingSets(const Plan& plan, const StepTables& tables, Bytes capacity) {
  CompiledPlan room;
  const std::vector<Bytes> sets = tables.WorkingSets(plan.ops);
  const auto largest = std::max_element(sets.begin(), sets.end());
  const Bytes needed = *largest;
  if (needed <= capacity) return room;
  room.worst_op = static_cast<OpId>(largest - sets.begin());
  room.smallest_limit = std::max(needed, LeastOfSwapAll(tables, plan.ops));
  room.reason = fmt::format("working_set: {} needs {} with everything else moved out",
                            NameOfOp(*tables.step, room.worst_op), FormatBytes(needed));
  return room;
}

CompiledPlan CompileWithin(const Plan& plan, const StepTables& tables, Bytes capacity) {
  return ProgramMaker(plan, tables, capacity).Make();
}

std::string NameOfOp(const TrainingStep& step, OpId op) {
  return op == kNoOp ? "the end of the step" : step.ops[Index(op)].name;
}

}  // namespace spillway
