// ooc-tiled: ours. The placement of ooc-cudnn, what it streams in divisions of our own: those of one op searched over all axes
// together by the machine's costs (tile_search.h), within what is free while it runs, not a third of what always is; ops in a
// row that may be fused as one, in one number of parts; and then, by the full path, of each op or group twice and half as many
// parts, and each group apart.
//
// It begins with the plans of ooc-cudnn and ooc-cudnn-fused, on their runtimes and on its own, so that it is behind neither.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/cost/op_tiles.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/strategy.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/best/contest.h"
#include "sim/strategies/ooc_cudnn/fused_functions.h"
#include "sim/strategies/ooc_cudnn/tile_search.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

using ooc_cudnn::Divided;
using ooc_cudnn::FusedCall;
using ooc_cudnn::Steps;
using ooc_cudnn::TileSearch;

// Of the room that an op has: a layout needs some more than is live.
constexpr int kPercentsOfRoom[] = {95, 80, 60, 40};
// Kernels of the plans that are judged around the best one, for each op of the step: some 20 us each.
constexpr std::int64_t kJudgedKernels = 600;

std::int64_t KernelsOf(const OpDecision& decision) {
  return Steps{static_cast<std::int64_t>(decision.parts.size()), decision.tiles}.All();
}

class OocTiled {
 public:
  explicit OocTiled(const Problem& problem)
      : problem_(problem), oracle_(OracleOf(problem)), tables_(oracle_.facts().tables()), contest_(oracle_, {}) {}

  Planned Make() {
    Planned planned = Ask("ooc-cudnn");
    const Plan placed = planned.plan;
    if (!placed.ops.empty()) {
      Ask("ooc-cudnn-fused");
      Divide(placed);
      Settle();
    }
    if (contest_.decided()) planned.plan = contest_.plan();
    planned.feasible = true;  // whoever judges it says what is missing
    planned.plan.strategy = "ooc-tiled";
    planned.plan.capacity = problem_.capacity;
    planned.plan.evaluations = contest_.judged();
    planned.plan.search = fmt::format("{} plans judged, the fastest {}", contest_.judged(),
                                      contest_.decided() ? contest_.by() : placed.strategy);
    return planned;
  }

 private:
  Planned Ask(const char* name) {
    Planned planned = PlanWithHeadroom(StrategyByName(name), problem_, oracle_, memo_);
    contest_.Enter(planned.plan, fmt::format("as {} has it", name));
    if (planned.plan.runtime != OwnRuntime()) Enter(planned.plan, fmt::format("by {}", name));
    return planned;
  }

  const Runtime& OwnRuntime() const { return problem_.RuntimeOr("arena"); }

  bool Enter(Plan plan, const std::string& by) {
    for (const OpDecision& decision : plan.ops) kernels_ += KernelsOf(decision);
    plan.runtime = OwnRuntime();
    return contest_.Enter(plan, by);
  }

  // The largest tiles that fit, apart and fused.
  void Divide(const Plan& placed) {
    const std::vector<Bytes> rooms = RoomsOf(placed);
    for (const int percent : kPercentsOfRoom) {
      Plan plan = placed;
      const auto room = [&](OpId op) { return rooms[Index(op)] / 100 * percent; };
      for (OpDecision& decision : plan.ops) {
        const TileSearch search(problem_, tables_, decision);
        if (const auto steps = search.Find(room(decision.op)))
          decision = Divided(problem_, std::move(decision), *steps);
      }
      apart_ = plan;
      const std::int64_t judged = contest_.judged();
      const bool apart = Enter(plan, "by tiles searched together");
      ooc_cudnn::FuseFunctions(
          problem_, tables_,
          [&](std::span<const OpDecision> group, const FusedCall& call) { return PartsOf(group, call, room); }, plan);
      const bool fused = Enter(std::move(plan), "in groups with parts searched together");
      if (apart || fused || judged == contest_.judged()) return;
    }
  }

  // Bytes that tiles and workspace of an op may have, given what else is on the device while it runs.
  std::vector<Bytes> RoomsOf(const Plan& plan) const {
    const Lowered lowered = LowerItems(plan, tables_, 1);
    const std::vector<Bytes> sets = tables_.WorkingSets(plan.ops);
    std::vector<Bytes> rooms(sets.size(), 0);
    for (const OpDecision& decision : plan.ops) {
      const std::size_t op = Index(decision.op);
      Bytes fixed = tables_.WorkingSet(decision.op) - tables_.launches[tables_.launch[op]].workspace;
      for (const TensorId t : decision.streamed) fixed -= tables_.bytes[Index(t)];
      const Bytes others = std::max<Bytes>(0, lowered.live_at[op] - sets[op]);
      rooms[op] = std::max<Bytes>(0, problem_.capacity - others - fixed);
    }
    return rooms;
  }

  // The fastest for the group as one call, by the machine's costs.
  template <typename Room>
  std::int64_t PartsOf(std::span<const OpDecision> group, const FusedCall& call, const Room& room) const {
    Bytes least = room(group.front().op);
    for (const OpDecision& decision : group) least = std::min(least, room(decision.op));
    std::int64_t best = 0;
    double time = 0;
    for (const std::int64_t parts : ooc_cudnn::UsefulCounts(call.batch, ooc_cudnn::kMostTilesPlanned)) {
      if (best > 0 && parts > ooc_cudnn::kEnoughTiles) break;
      const double now = TimeOfGroup(group, call, (call.batch + parts - 1) / parts, least);
      if (now < TileSearch::kTooLong && (best == 0 || now < time)) best = parts, time = now;
    }
    return best;
  }

  // As TileSearch::TimeOf.
  double TimeOfGroup(std::span<const OpDecision> group, const FusedCall& call, std::int64_t samples, Bytes room) const {
    const auto n = static_cast<double>(samples);
    const double parts = static_cast<double>(call.batch) / n;
    const auto copies = [&](double sample, int count, Direction direction) {
      if (count == 0) return 0.0;
      const auto bytes = static_cast<Bytes>(sample * n / count);
      return count * static_cast<double>(problem_.costs->Copy(bytes, direction, problem_.device).time);
    };
    const double in = copies(call.sample_in, call.copies_in, Direction::kHostToDevice);
    const double out = copies(call.sample_out, call.copies_out, Direction::kDeviceToHost);
    double run = 0;
    Bytes workspace = 0;
    for (const OpDecision& decision : group) {
      const Launch part = PartOf(LaunchOf(problem_.step->ops[Index(decision.op)]), samples, parts == 1);
      const Cost cost = problem_.costs->Kernel(part, problem_.device);
      run += static_cast<double>(cost.time);
      workspace = std::max(workspace, cost.workspace);
    }
    if (static_cast<Bytes>(2 * call.sample_held * n) + workspace > room) return TileSearch::kTooLong;
    if (problem_.use_runtime && problem_.runtime.copy_streams == 1) {
      return std::max((in + out) * parts + run, in + run * parts + out);
    }
    return std::max({in * parts + run + out, in + run * parts + out, in + run + out * parts});
  }

  // Group by group, an op by itself being one, as long as that helps: the ones that move most first.
  void Settle() {
    if (!contest_.decided()) return;
    const std::int64_t until = kernels_ + kJudgedKernels * static_cast<std::int64_t>(problem_.step->ops.size());
    for (const Group& group : GroupsOf(contest_.plan())) {
      for (const bool finer : {false, true}) {
        while (kernels_ < until && EnterOtherParts(group, finer)) {
        }
      }
      if (kernels_ < until && group.end > group.first + 1) EnterApart(group);
    }
  }

  struct Group {
    std::size_t first = 0, end = 0;  // of Plan::ops
    Bytes streamed = 0;
  };
  std::vector<Group> GroupsOf(const Plan& plan) const {
    std::vector<Group> groups;
    for (std::size_t k = 0; k < plan.ops.size(); ++k) {
      if (!plan.ops[k].fused) groups.push_back({.first = k});
      groups.back().end = k + 1;
      for (const TensorId t : plan.ops[k].streamed) groups.back().streamed += tables_.bytes[Index(t)];
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.streamed > b.streamed; });
    return groups;
  }

  // True: it is faster.
  bool EnterOtherParts(const Group& group, bool finer) {
    Plan plan = contest_.plan();
    for (std::size_t k = group.first; k < group.end; ++k) {
      OpDecision& decision = plan.ops[k];
      const auto parts = static_cast<std::int64_t>(decision.parts.size());
      const Steps steps{finer ? 2 * parts : parts / 2, decision.tiles};
      const std::int64_t batch = problem_.step->ops[Index(decision.op)].shape.in.n;
      if (steps.samples < 1 || steps.samples > batch || steps.All() > ooc_cudnn::kMostTilesPlanned) return false;
      decision = Divided(problem_, std::move(decision), steps);
    }
    return Enter(std::move(plan), "with other numbers of parts");
  }

  void EnterApart(const Group& group) {
    Plan plan = contest_.plan();
    if (apart_.ops.size() != plan.ops.size()) return;
    for (std::size_t k = group.first; k < group.end; ++k) plan.ops[k] = apart_.ops[k];
    Enter(std::move(plan), "with fewer groups");
  }

  const Problem& problem_;
  const Oracle oracle_;
  const StepTables& tables_;
  Contest contest_;
  PlanCache memo_;
  Plan apart_;                // each op by itself
  std::int64_t kernels_ = 0;  // of ops in parts, of all plans judged on its own runtime
};

}  // namespace

Planned PlanOocTiled(const Problem& problem) { return OocTiled(problem).Make(); }

}  // namespace spillway
