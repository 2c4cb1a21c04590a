// dtr: what dynamic tensor rematerialisation does of its own accord (dtr_play.h), played once over the step, written down as
// a Plan: a gap for each value that left in it, and an entry of the schedule for each one that ran again.
//
// Only results of forward ops leave: what backward computes a Plan cannot compute again. (The published simulator lets it
// leave too, and counts what nobody reads any more of it among what is missing.) What the ops of one backward unit read is
// brought back before the first of them, as every Plan has it.
//
// A value leaves as soon as nothing that runs again reads it, which may be well before DTR wants its bytes. Where the plan
// takes more memory than DTR did all the same (an op that gives several values gives them together), it is played in less.
// `search` of the plan has the time that DTR itself counted for what was played, and by how much what it does in all the
// memory is more than every op once.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
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
    for (Value& value : graph_.values) Order(value.sources);
    for (Event& event : graph_.events) Order(event.needs);
  }
  const Graph& graph() const { return graph_; }
  Bytes persistent() const { return persistent_; }

 private:
  // What is missing comes back in the order in which it was given first, as in the published simulator.
  void Order(std::vector<std::int32_t>& values) const {
    std::stable_sort(values.begin(), values.end(), [this](std::int32_t a, std::int32_t b) {
      return graph_.values[Index(a)].complete < graph_.values[Index(b)].complete;
    });
  }

  Bytes BytesOf(TensorId t) const { return tables_.persistent[Index(t)] ? 0 : tables_.bytes[Index(t)]; }

  const Launch& LaunchAgain(OpId op) const { return tables_.launches[tables_.launch_again[Index(op)]]; }

  Bytes WorkspaceOf(OpId op) const {
    Bytes touched = 0;
    for (const StepTables::Touch& touch : tables_.Touches(op)) touched += BytesOf(touch.tensor);
    return tables_.WorkingSet(op) - persistent_ - touched;
  }

  Value ValueOf(TensorId t) const {
    const Tensor& tensor = step_.tensors[Index(t)];
    const bool result = tensor.use == TensorClass::kFeatureMap || tensor.use == TensorClass::kTransient;
    const bool made = result && !tables_.uses.writers[Index(t)].empty();
    Value value{.bytes = BytesOf(t), .may_leave = made && step_.MayRecompute(t, tables_.uses.of[Index(t)].back())};
    if (!value.may_leave) return value;
    value.complete = tables_.uses.writers[Index(t)].back();
    for (const OpId writer : tables_.uses.writers[Index(t)]) {
      value.time += costs_.Kernel(LaunchAgain(writer), tables_.device).time;
      const bool differs = step_.ops[Index(writer)].recompute_differs;
      value.workspace = std::max(value.workspace, differs ? LaunchAgain(writer).workspace : WorkspaceOf(writer));
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

// From what happened to decisions: a gap where a value left for the first time since its last use, an entry where it ran
// again. Either stays for as long as something that runs again reads it, which is no longer than DTR kept it.
class DtrWriter {
 public:
  DtrWriter(const Graph& graph, const StepTables& tables, const Trace& trace, Plan& plan)
      : graph_(graph), tables_(tables), trace_(trace), plan_(plan), there_(graph.values.size()) {}

  void Write() {
    std::size_t next = 0;
    for (OpId op = 0; op < static_cast<OpId>(graph_.events.size()); ++op) {
      for (; next < trace_.happened.size() && trace_.happened[next].event == op; ++next) {
        const Happening& it = trace_.happened[next];
        if (it.again) {
          Enter(it.value, op);
        } else {
          Leave(it.value, op);
        }
      }
      for (const StepTables::Touch& touch : tables_.Touches(op)) there_[Index(touch.tensor)] = {};
    }
    for (const Stay& stay : there_) End(stay);
  }

 private:
  struct Stay {  // of a value, since its last use or since it ran again
    std::ptrdiff_t entry = -1;
    OpId read = kNoOp;  // before this op something that ran again read it
  };

  void Enter(TensorId t, OpId op) {
    for (const std::int32_t source : graph_.values[Index(t)].sources) there_[Index(source)].read = op;
    there_[Index(t)] = {.entry = static_cast<std::ptrdiff_t>(plan_.recompute.size())};
    plan_.recompute.push_back({.before = op, .run = tables_.uses.writers[Index(t)].back()});
  }

  void Leave(TensorId t, OpId op) {
    const Stay stay = std::exchange(there_[Index(t)], {});
    if (stay.entry >= 0) return End(stay);
    plan_.gaps.push_back({.tensor = t,
                          .after = tables_.uses.Previous(t, op),
                          .before = tables_.uses.Next(t, op - 1),
                          .action = GapAction::kRecompute,
                          .keep_passed = false,
                          .reason = fmt::format("the cheapest to lose for op {}", op),
                          .leaves_after = stay.read == kNoOp ? kNoOp : stay.read - 1});
  }

  // All that its op gives goes when the value does, but not before an op uses some of it.
  void End(const Stay& stay) {
    if (stay.entry < 0) return;
    Recomputation& entry = plan_.recompute[static_cast<std::size_t>(stay.entry)];
    const OpId used = NextUse(entry);
    if (used == entry.before) return;
    entry.keep = stay.read > entry.before;
    if (entry.keep) entry.leaves_after = std::min(stay.read, used) - 1;
  }

  // Of the entry's results, the number of ops where there is none.
  OpId NextUse(const Recomputation& entry) const {
    auto next = static_cast<OpId>(graph_.events.size());
    for (const StepTables::Touch& touch : tables_.Touches(entry.run)) {
      if (touch.access == Access::kRead || tables_.persistent[Index(touch.tensor)]) continue;
      const OpId use = tables_.uses.Next(touch.tensor, entry.before - 1);
      if (use != kNoOp) next = std::min(next, use);
    }
    return next;
  }

  const Graph& graph_;
  const StepTables& tables_;
  const Trace& trace_;
  Plan& plan_;
  std::vector<Stay> there_;  // by value
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
  const StepTables tables(*problem.step, *problem.costs, problem.device, problem.capacity);
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
