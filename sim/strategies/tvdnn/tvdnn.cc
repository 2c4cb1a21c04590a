// tvdnn-heuristic and tvdnn-ilp: sections of tensors swapped over gaps, everything else kept (Park et al., PPoPP 2018). Who
// leaves is decided in a model of bytes and rates (section_model.h); when copies back start is the runtime's, as early as
// there is room. What fits and how fast it is, the full path says, for a few shares of the memory, since the model knows
// no addresses and no copies under way.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/strategies/tvdnn/section_model.h"

namespace spillway {
namespace {

constexpr std::int64_t kSectionMiB = 64, kProgramNodes = 100;
constexpr int kShares[] = {100, 98, 96, 93, 90, 86, 82, 77, 72};  // of the capacity, percent

struct CountsWithin {
  tvdnn::Counts counts;  // empty: none
  std::string search;    // how they were found, or why there are none
};
using CountsFor = std::function<CountsWithin(const tvdnn::SectionModel&, Bytes capacity)>;

std::string NoRoom(const Problem& problem, const StepTables& tables) {
  const OpId op = tables.LargestWorkingSet();
  if (tables.WorkingSet(op) <= problem.capacity) return "";
  return fmt::format("out_of_memory: needs {} at op {} with everything else moved out, {} are usable",
                     FormatBytes(tables.WorkingSet(op)), problem.step->ops[Index(op)].name,
                     FormatBytes(problem.capacity));
}

std::string NoCounts(Bytes capacity, const tvdnn::CountedProgram& counted, std::int64_t most_nodes) {
  if (counted.nodes < most_nodes) return "the integer program has no solution within " + FormatBytes(capacity);
  return fmt::format("the integer program has no solution within {} after {} nodes", FormatBytes(capacity),
                     counted.nodes);
}

Planned PlanSections(const Problem& problem, const char* name, const CountsFor& counts_for) {
  const Oracle oracle = OracleOf(problem);
  const StepTables& tables = oracle.facts().tables();
  Planned best;
  const Plan start = StartPlan(problem, name, "arena");
  if (start.runtime.memory != MemoryModel::kArena) {
    best.reason = "out_of_memory: sections are for arenas: no other memory takes back a part of an allocation";
    return best;
  }
  best.reason = NoRoom(problem, tables);
  if (!best.reason.empty()) return best;
  const tvdnn::SectionModel model =
      tvdnn::SectionModelOf(tables, *problem.costs, problem.capacity,
                            problem.parameters.Number("section", kSectionMiB) * kMiB, start.runtime.copy_streams);
  // What the other choice of sections comes to, where this one has none.
  const auto farthest = [&](const tvdnn::SectionModel& m) {
    Plan plan = start;
    tvdnn::AddSwaps(m, tvdnn::FarthestUse(m, problem.capacity), *problem.step, plan);
    const Evaluation judgement = oracle.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
    return "sections by farthest use: " + (judgement.feasible ? "the plan fits" : judgement.reason);
  };
  Nanos best_time = 0;
  std::int64_t judged = 0;
  for (const int share : kShares) {
    const CountsWithin within = counts_for(model, problem.capacity / 100 * share);
    if (within.counts.empty() && !model.gaps.empty()) {
      if (best.reason.empty()) best.reason = fmt::format("out_of_memory: {}; {}", within.search, farthest(model));
      break;
    }
    Plan plan = start;
    tvdnn::AddSwaps(model, within.counts, *problem.step, plan);
    plan.search = within.search;
    const Evaluation judgement = oracle.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
    ++judged;
    if (!judgement.feasible) {
      best.reason = best.feasible ? best.reason : judgement.reason;
      continue;
    }
    if (best.feasible && judgement.step_time >= best_time) continue;
    best.feasible = true;
    best_time = judgement.step_time;
    best.plan = std::move(plan);
    if (best.plan.gaps.empty()) break;
  }
  best.plan.evaluations = judged;
  if (best.feasible) best.reason.clear();
  return best;
}

}  // namespace

Planned PlanTvdnnHeuristic(const Problem& problem) {
  return PlanSections(problem, "tvdnn-heuristic", [](const tvdnn::SectionModel& model, Bytes capacity) {
    return CountsWithin{tvdnn::FarthestUse(model, capacity), "the use that is farthest leaves"};
  });
}

Planned PlanTvdnnProgram(const Problem& problem) {
  const std::int64_t nodes = problem.parameters.Number("nodes", kProgramNodes);
  Nanos compute = 0;
  return PlanSections(problem, "tvdnn-ilp", [&](const tvdnn::SectionModel& model, Bytes capacity) {
    if (compute == 0) {
      for (const Nanos time : model.time) compute += time;
    }
    const tvdnn::CountedProgram counted = tvdnn::LeastStall(model, capacity, nodes);
    if (!counted.found) return CountsWithin{{}, NoCounts(capacity, counted, nodes)};
    const double step = static_cast<double>(compute) + counted.stall;
    const double gap = 100 * (counted.stall - counted.bound) / step;
    const std::string stall = FormatDuration(static_cast<Nanos>(counted.stall));
    return CountsWithin{counted.counts, gap < 0.005
                                            ? fmt::format("stalls of {} in its model, the least there are", stall)
                                            : fmt::format("stalls of {} in its model, within {:.2f} % of the "
                                                          "step of the least there may be, after {} nodes",
                                                          stall, gap, counted.nodes)};
  });
}

}  // namespace spillway
