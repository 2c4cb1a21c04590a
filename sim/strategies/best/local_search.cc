#include "sim/strategies/best/local_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "model/cost/menu.h"
#include "sim/random.h"

namespace spillway {

namespace {

constexpr std::uint32_t kMostChanged = 4;        // maps at once
constexpr double kThresholds[] = {0.02, 0.003};  // of the step, to begin with: first across hills, then around the best

// Ops by which a copy back is moved.
constexpr OpId kShifts[] = {-1, 1, -3, 3, -10, 10, -30};

// Every map that has more than one way.
struct OpenMap {
  std::size_t map = 0;
  std::vector<MapClass> ways;
};

std::vector<OpenMap> OpenMaps(const ClassPlans& plans, const Allowed& allowed) {
  std::vector<OpenMap> open;
  for (std::size_t m = 0; m < plans.profile().maps.size(); ++m) {
    std::vector<MapClass> ways = plans.WaysOf(m, allowed);
    if (ways.size() > 1) open.push_back({m, std::move(ways)});
  }
  return open;
}

// One way after the other of each map by itself, again until none gains.
Simulation Sweep(Search& search, const std::vector<OpenMap>& open, std::int64_t stop, Classes& classes) {
  Simulation now = search.Simulate(classes);
  for (bool gained = true; gained;) {
    gained = false;
    for (const OpenMap& one : open) {
      for (const MapClass way : one.ways) {
        if (way == classes[one.map] || search.simulations >= stop) continue;
        const MapClass before = std::exchange(classes[one.map], way);
        const Simulation changed = search.Simulate(classes);
        if (changed.total < now.total) {
          now = changed;
          gained = true;
        } else {
          classes[one.map] = before;
        }
      }
    }
  }
  return now;
}

struct Move {
  std::size_t map = 0;
  MapClass way = MapClass::kKeep;
  Nanos expected = 0;  // by the model
};

// That the model has no objection to, the fastest first.
std::vector<Move> SingleMoves(ClassPlans& plans, const Allowed& allowed, Classes& classes) {
  std::vector<Move> moves;
  for (const OpenMap& one : OpenMaps(plans, allowed)) {
    const MapClass now = classes[one.map];
    for (const MapClass way : one.ways) {
      if (way == now) continue;
      classes[one.map] = way;
      const Simulation simulation = plans.search().Simulate(classes);
      if (simulation.feasible && !simulation.endless) moves.push_back({one.map, way, simulation.total});
    }
    classes[one.map] = now;
  }
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.expected < b.expected; });
  return moves;
}

// Another way to run an op than the one it has, and what it would save of the op's own time.
struct OtherWay {
  OpDecision decision;
  Nanos saved = 0;
};

std::vector<OtherWay> OtherWaysOf(const Contest& contest) {
  const StepFacts& facts = contest.oracle().facts();
  const StepTables& tables = facts.tables();
  std::vector<Nanos> now;
  for (const std::uint32_t row : tables.launch) now.push_back(facts.costs().Kernel(tables.launches[row]).time);
  for (const OpDecision& decision : contest.plan().ops) {
    Launch launch = tables.launches[tables.launch[Index(decision.op)]];
    launch.algorithm = decision.algorithm;
    launch.workspace = decision.workspace;
    now[Index(decision.op)] = facts.costs().Kernel(launch).time;
  }
  std::vector<OtherWay> ways;
  for (OpId op = 0; op < static_cast<OpId>(tables.launch.size()); ++op) {
    for (const MenuEntry& entry : ParetoSet(facts.menus()[tables.launch[Index(op)]])) {
      ways.push_back(
          {{.op = op, .algorithm = entry.algorithm, .workspace = entry.workspace}, now[Index(op)] - entry.cost.time});
    }
  }
  std::stable_sort(ways.begin(), ways.end(), [](const OtherWay& a, const OtherWay& b) { return a.saved > b.saved; });
  return ways;
}

Plan WithOp(Plan plan, const OpDecision& decision) {
  std::erase_if(plan.ops, [&](const OpDecision& known) { return known.op == decision.op; });
  plan.ops.push_back(decision);
  std::sort(plan.ops.begin(), plan.ops.end(), [](const OpDecision& a, const OpDecision& b) { return a.op < b.op; });
  return plan;
}

}  // namespace

Simulation SettleInModel(ClassPlans& plans, const Allowed& allowed, std::int64_t simulations, Classes& classes) {
  Search& search = plans.search();
  return Sweep(search, OpenMaps(plans, allowed), search.simulations + simulations, classes);
}

namespace {

struct Found {
  Classes classes;
  Simulation simulation;
};

// One random change, mended until it fits: one map takes another one's place. kNever: it never does.
Simulation Change(Search& search, const std::vector<OpenMap>& open, Random& random, Classes& classes) {
  const auto any = [&]() -> const OpenMap& { return open[random.Below(static_cast<std::uint32_t>(open.size()))]; };
  const OpenMap& first = any();
  classes[first.map] = first.ways[random.Below(static_cast<std::uint32_t>(first.ways.size()))];
  Simulation simulation = search.Simulate(classes);
  const std::vector<PoochProfile::Map>& maps = search.model->profile().maps;
  const auto distance = [&](const OpenMap& o) { return std::abs(maps[o.map].bytes - maps[first.map].bytes); };
  for (std::uint32_t k = 1; k < kMostChanged && simulation.total == kNever; ++k) {
    const OpenMap *one = &any(), *two = &any();
    const OpenMap& other = distance(*one) <= distance(*two) ? *one : *two;
    if (other.map == first.map) continue;
    classes[other.map] = other.ways[1 + random.Below(static_cast<std::uint32_t>(other.ways.size()) - 1)];
    simulation = search.Simulate(classes);
  }
  return simulation;
}

// Threshold accepting (Dueck and Scheuer, Journal of Computational Physics 90, 1990): a change is kept unless it is slower
// by more than a threshold that sinks to nothing.
Found Anneal(Search& search, const std::vector<OpenMap>& open, double threshold, std::int64_t simulations,
             Found start) {
  Found best = start, now = std::move(start);
  const std::int64_t stop = search.simulations + simulations;
  Random random(1);
  while (search.simulations < stop) {
    const double left = static_cast<double>(stop - search.simulations) / static_cast<double>(simulations);
    const double slower = threshold * left * left * static_cast<double>(best.simulation.total);
    Found changed = now;
    changed.simulation = Change(search, open, random, changed.classes);
    if (changed.simulation.total == kNever) continue;
    if (changed.simulation.total > now.simulation.total + static_cast<Nanos>(slower)) continue;
    now = std::move(changed);
    if (now.simulation.total < best.simulation.total) best = now;
  }
  return best;
}

}  // namespace

Simulation ImproveInModel(ClassPlans& plans, const Allowed& allowed, std::int64_t simulations, Classes& classes) {
  Search& search = plans.search();
  const std::vector<OpenMap> open = OpenMaps(plans, allowed);
  Found best{classes, search.Simulate(classes)};
  if (open.empty()) return best.simulation;
  for (const double threshold : kThresholds) {
    best = Anneal(search, open, threshold, simulations / static_cast<std::int64_t>(std::size(kThresholds)),
                  std::move(best));
  }
  classes = std::move(best.classes);
  return Sweep(search, open, search.simulations + static_cast<std::int64_t>(3 * open.size()), classes);
}

void ImproveOnFullPath(ClassPlans& plans, const std::string& by, std::int64_t most, Classes classes, Contest& contest) {
  const std::int64_t stop = contest.judged() + most;
  contest.Enter(plans.PlanOf(classes, by), by);
  for (bool won = true; won && contest.judged() < stop;) {
    won = false;
    for (const Move& move : SingleMoves(plans, contest.allowed(), classes)) {
      if (contest.judged() >= stop) break;
      const MapClass before = std::exchange(classes[move.map], move.way);
      const Simulation changed = plans.search().Simulate(classes);
      if (changed.feasible && contest.Enter(plans.PlanOf(classes, by), by)) {
        won = true;
      } else {
        classes[move.map] = before;
      }
    }
  }
}

void ImproveMoments(std::int64_t most, Contest& contest) {
  const std::int64_t stop = contest.judged() + most;
  for (bool won = true; won && contest.judged() < stop;) {
    won = false;
    for (std::size_t k = 0; k < contest.plan().gaps.size() && contest.judged() < stop; ++k) {
      const GapDecision gap = contest.plan().gaps[k];
      if (gap.action != GapAction::kSwap) continue;
      for (const OpId shift : kShifts) {
        const OpId moment = std::clamp<OpId>(gap.in_at + shift, gap.after + 1, gap.before);
        if (moment == contest.plan().gaps[k].in_at || contest.judged() >= stop) continue;
        Plan plan = contest.plan();
        plan.gaps[k].in_at = moment;
        won = contest.Enter(plan, contest.by()) || won;
      }
    }
  }
}

void ImproveOps(std::int64_t most, Contest& contest) {
  if (!contest.allowed().algorithms) return;
  const std::int64_t stop = contest.judged() + most;
  const std::string by = contest.by();
  for (const OtherWay& way : OtherWaysOf(contest)) {
    if (way.saved <= 0 || contest.judged() >= stop) break;
    const std::vector<OpDecision>& ops = contest.plan().ops;
    const auto known =
        std::find_if(ops.begin(), ops.end(), [&](const OpDecision& o) { return o.op == way.decision.op; });
    if (known != ops.end() && (!known->parts.empty() || *known == way.decision)) continue;
    contest.Enter(WithOp(contest.plan(), way.decision), by);
  }
}

}  // namespace spillway
