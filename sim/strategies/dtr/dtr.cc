// dtr: what dynamic tensor rematerialisation does of its own accord (dtr_play.h), played once over the step, written down as
// a Plan: a gap for each value that left in it, and an entry of the schedule for each one that ran again.
//
// Only results of forward ops leave: what backward computes a Plan cannot compute again. What the ops of one backward unit
// read is brought back before the first of them, as every Plan has it.
//
// A Plan cannot let a value leave in the middle of a gap: one that left in it leaves at its beginning, and one that ran again
// and left once more is freed behind the entries of that op. Where it was a source in between it is computed once more than
// DTR would, and where the plan takes more memory than DTR did, it is played in less. `search` of the plan has the time that
// DTR itself counted for what was played, and by how much what it does in all the memory is more than every op once.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "sim/program/lower.h"
#include "sim/strategies/classify.h"
#include "sim/strategies/dtr/dtr_play.h"

namespace spillway {
namespace {

using dtr::Event;
using dtr::Graph;
using dtr::Happening;
using dtr::Trace;
using dtr::Value;

constexpr int kBudgetTries = 12;

class DtrGraph {
 public:
  DtrGraph(const TrainingStep& step, const StepTables& tables, const CostModel& costs)
      : step_(step), tables_(tables), costs_(costs) {
    for (std::size_t t = 0; t < step.tensors.size(); ++t) persistent_ += tables.persistent[t] ? tables.bytes[t] : 0;
    for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) graph_.values.push_back(ValueOf(t));
    for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) graph_.events.push_back(EventOf(op));
    for (const TensorId t : tables.inputs) graph_.there.push_back(t);
  }
  const Graph& graph() const { return graph_; }
  Bytes persistent() const { return persistent_; }

 private:
  Bytes BytesOf(TensorId t) const { return tables_.persistent[Index(t)] ? 0 : tables_.bytes[Index(t)]; }

  Bytes WorkspaceOf(OpId op) const {
    Bytes touched = 0;
    for (const StepTables::Touch& touch : tables_.Touches(op)) touched += BytesOf(touch.tensor);
    return tables_.WorkingSet(op) - persistent_ - touched;
  }

  Value ValueOf(TensorId t) const {
    const Tensor& tensor = step_.tensors[Index(t)];
    const bool result = tensor.use == TensorClass::kFeatureMap || tensor.use == TensorClass::kTransient;
    Value value{.bytes = BytesOf(t), .may_leave = result && !tables_.uses.writers[Index(t)].empty()};
    if (!value.may_leave) return value;
    value.complete = tables_.uses.writers[Index(t)].back();
    for (const OpId writer : tables_.uses.writers[Index(t)]) {
      value.time += costs_.Kernel(tables_.launches[tables_.launch[Index(writer)]], tables_.device).time;
      value.workspace = std::max(value.workspace, WorkspaceOf(writer));
      for (const TensorId source : step_.ops[Index(writer)].reads) {
        if (source != t && !tables_.persistent[Index(source)]) AddOnce(value.sources, source);
      }
    }
    return value;
  }

  bool Leaves(TensorId t) const { return graph_.values[Index(t)].may_leave; }

  Event EventOf(OpId op) const {
    Event event{.time = costs_.Kernel(tables_.launches[tables_.launch[Index(op)]], tables_.device).time,
                .workspace = WorkspaceOf(op)};
    for (const StepTables::Touch& touch : tables_.Touches(op)) {
      if (tables_.persistent[Index(touch.tensor)]) continue;
      if (touch.access != Access::kWrite) event.needs.push_back(touch.tensor);
      if (touch.access != Access::kRead) event.writes.push_back(touch.tensor);
      if (touch.last) event.dies.push_back(touch.tensor);
    }
    const std::vector<std::int32_t>& unit = tables_.unit[static_cast<std::size_t>(BackwardUnits::kLayers)];
    for (OpId later = op + 1; step_.IsBackward(op) && Index(later) < unit.size(); ++later) {
      if (unit[Index(later)] != unit[Index(op)]) break;
      for (const TensorId t : step_.ops[Index(later)].reads) {
        if (Leaves(t)) AddOnce(event.needs, t);
      }
    }
    return event;
  }

  const TrainingStep& step_;
  const StepTables& tables_;
  const CostModel& costs_;
  Graph graph_;
  Bytes persistent_ = 0;
};

// From what happened to decisions.
class DtrWriter {
 public:
  DtrWriter(const Graph& graph, const StepTables& tables, const Trace& trace, Plan& plan)
      : graph_(graph), uses_(tables.uses), trace_(trace), plan_(plan), open_(graph.values.size(), kNoOp) {}

  void Write() {
    for (const Happening& it : trace_.happened) {
      if (it.again) continue;
      const MapGap gap = GapAt(it.value, it.event);
      if (gap.before == kNoOp || !away_.insert({it.value, gap.before}).second) continue;
      plan_.gaps.push_back({.tensor = it.value,
                            .after = gap.after,
                            .before = gap.before,
                            .action = GapAction::kRecompute,
                            .keep_passed = false,
                            .reason = fmt::format("the cheapest to lose for op {}", it.event)});
    }
    for (std::size_t i = 0; i < trace_.happened.size();) {
      const std::int32_t event = trace_.happened[i].event;
      std::size_t end = i;
      while (end < trace_.happened.size() && trace_.happened[end].event == event) ++end;
      WriteEvent(i, end);
      i = end;
    }
  }

 private:
  // The gap that is open while the op runs; `before` is kNoOp where nobody reads the value any more.
  MapGap GapAt(TensorId t, OpId op) const {
    const OpId next = uses_.Next(t, op - 1);
    return {uses_.Previous(t, op), next};
  }

  // Entries for what ran again between `begin` and `end` of the trace, all of one event, and is wanted there.
  void WriteEvent(std::size_t begin, std::size_t end) {
    here_.clear();
    const std::size_t entries = plan_.recompute.size();
    for (std::size_t i = begin; i < end; ++i) {
      const Happening& it = trace_.happened[i];
      if (it.again && !Contains(here_, it.value)) Enter(it.value, it.event, StaysBehind(i));
    }
    if (plan_.recompute.size() == entries + 1 && ends_gap_)
      plan_.recompute.pop_back();  // the gap says as much by itself
  }

  // Whether it does not leave again before the gap ends.
  bool StaysBehind(std::size_t i) const {
    const Happening& now = trace_.happened[i];
    const OpId before = GapAt(now.value, now.event).before;
    for (std::size_t later = i + 1; later < trace_.happened.size() && trace_.happened[later].event <= before; ++later) {
      if (trace_.happened[later].value == now.value && !trace_.happened[later].again) return false;
    }
    return true;
  }

  // With what it is made from before it. What nobody reads any more has no gap, and is brought back in passing, as lowering
  // does by itself.
  void Enter(TensorId t, OpId event, bool stays) {
    const MapGap gap = GapAt(t, event);
    here_.push_back(t);
    for (const std::int32_t source : graph_.values[Index(t)].sources) {
      if (graph_.values[Index(source)].may_leave && IsAway(source, event)) Enter(source, event, false);
    }
    if (gap.before == kNoOp || !away_.contains({t, gap.before})) return;
    ends_gap_ = gap.before == event;
    const bool keep = stays || ends_gap_;
    plan_.recompute.push_back({.before = event, .run = uses_.writers[Index(t)].back(), .keep = keep});
    if (keep) open_[Index(t)] = gap.before;
  }

  // In the plan, at this op: in a gap that it left in, and not brought back for good.
  bool IsAway(TensorId t, OpId event) const {
    if (Contains(here_, t)) return false;
    const MapGap gap = GapAt(t, event);
    return gap.before != kNoOp && away_.contains({t, gap.before}) && open_[Index(t)] != gap.before;
  }

  const Graph& graph_;
  const Uses& uses_;
  const Trace& trace_;
  Plan& plan_;
  std::set<std::pair<TensorId, OpId>> away_;  // by the use that ends the gap
  std::vector<OpId> open_;                    // by value: the end of the gap that it stays until
  std::vector<TensorId> here_;                // entered for the op at hand
  bool ends_gap_ = false;                     // the last entry
};

// Why a play came to no end.
std::string WhyPlayFailed(const Trace& trace, const TrainingStep& step) {
  const std::string& op = step.ops[Index(trace.failed)].name;
  if (trace.too_often) {
    return fmt::format("recomputation: before {} more than {} times all ops have run again", op, dtr::kMostAgain);
  }
  return fmt::format("out_of_memory: nothing is left to leave at {}", op);
}

// Why what was played is no plan for the memory that it was played in.
std::string WhyNoPlan(const Lowered& lowered, const TrainingStep& step) {
  const std::string& op = step.ops[Index(lowered.op)].name;
  if (lowered.Endless()) {
    return fmt::format("recomputation: DTR itself fits; as a plan more than {} times all ops have run again before {}",
                       kRecomputeLimit, op);
  }
  return fmt::format("out_of_memory: DTR itself fits; as a plan it needs {} at {}", FormatBytes(lowered.list_peak), op);
}

// The budgets to play in, from the capacity down: less by what the plan was too large, and once a play has failed in the
// middle between that and the last that came to its end.
struct Budgets {
  Bytes capacity = 0, least = 0;
  Bytes played = 0, failed = 0;  // the last ones; failed 0: none has

  Bytes AfterLargePlan(Bytes budget, Bytes plan_peak) {
    played = budget;
    if (failed > 0) return (played + failed) / 2;
    return std::max(least, budget - std::max(plan_peak - capacity, capacity / 200));
  }
  Bytes AfterFailure(Bytes budget) {
    failed = budget;
    return (played + failed) / 2;
  }
};

}  // namespace

Planned PlanDtr(const Problem& problem) {
  const StepTables tables(*problem.step, *problem.costs, problem.device);
  const DtrGraph dtr(*problem.step, tables, *problem.costs);
  Planned planned;
  Budgets budgets{.capacity = problem.capacity, .least = std::max<Bytes>(1, dtr.persistent())};
  Bytes budget = problem.capacity;
  Nanos once = 0, whole = 0;  // of all ops; of what DTR itself does in all the memory
  for (const Event& event : dtr.graph().events) once += event.time;
  for (int tries = 1; tries <= kBudgetTries; ++tries) {
    const Trace trace = Play(dtr.graph(), budget - dtr.persistent());
    if (trace.failed >= 0) {
      if (tries == 1) {  // what DTR itself says
        planned.reason = WhyPlayFailed(trace, *problem.step);
        return planned;
      }
      budget = budgets.AfterFailure(budget);
      continue;
    }
    if (tries == 1) whole = trace.time;
    Plan plan = StartPlan(problem, "dtr", "arena");
    DtrWriter(dtr.graph(), tables, trace, plan).Write();
    const Lowered lowered = Lower(plan, tables, 1);
    if (lowered.list_peak > problem.capacity) {
      if (planned.reason.empty()) planned.reason = WhyNoPlan(lowered, *problem.step);
      budget = budgets.AfterLargePlan(budget, lowered.list_peak);
      continue;
    }
    const auto again =
        std::count_if(trace.happened.begin(), trace.happened.end(), [](const Happening& it) { return it.again; });
    plan.search = fmt::format(
        "{} values left, {} ran again, {} of kernels by its own count; in all the memory DTR itself +{:.2f} %",
        trace.happened.size() - static_cast<std::size_t>(again), again, FormatDuration(trace.time),
        100 * (static_cast<double>(whole) / static_cast<double>(std::max<Nanos>(1, once)) - 1));
    plan.evaluations = tries;
    planned.feasible = true;
    planned.reason.clear();
    planned.plan = std::move(plan);
    return planned;
  }
  return planned;
}

}  // namespace spillway
