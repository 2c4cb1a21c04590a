#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "model/recorded/recorded_step.h"
#include "scenarios/run/prepare_internal.h"
#include "scenarios/run/run.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

constexpr Bytes kCard = 8 * kGB, kMoreOfCard = 4 * kGB, kShareOfLess = 4;
constexpr double kLinkShare = 8;                  // a link is an eighth faster
constexpr int kRungsAnOctave = 4, kOctaves = 10;  // of link rates, from 1 GB/s
constexpr Nanos kFree = 100;                      // of a step: what copies may cost and are called free
constexpr const char* kSwapping = "swap-all";

// Index of the fastest row of each place, of those with the numbers of the whole batch.
std::vector<std::size_t> FastestOfPlaces(const std::vector<ResultRow>& rows) {
  std::vector<std::size_t> fastest;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    std::size_t best = rows.size();  // none
    for (; end < rows.size() && SamePlace(rows[begin], rows[end]); ++end) {
      const bool faster = best == rows.size() || rows[end].times.step < rows[best].times.step;
      if (rows[end].feasible && rows[end].SameNumbers() && faster) best = end;
    }
    if (best < rows.size()) fastest.push_back(best);
  }
  return fastest;
}

bool PlannedHere(const Point& point) { return point.strategy != nullptr && point.planned_on == point.machine; }

// So many of the places, in the order of the rows: of each setting the largest batches.
void TakeLargest(const std::vector<ResultRow>& rows, std::size_t most, std::vector<std::size_t>& places) {
  if (places.size() <= most) return;
  const auto setting = [&](std::size_t i) {
    return std::tie(rows[i].scenario, rows[i].network, rows[i].machine, rows[i].memory_limit);
  };
  const auto larger_batches = [&](std::size_t i) {
    return std::count_if(places.begin(), places.end(), [&](std::size_t other) {
      return setting(other) == setting(i) && rows[other].batch > rows[i].batch;
    });
  };
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> wanted;
  for (const std::size_t i : places) wanted.emplace_back(larger_batches(i), i);
  std::sort(wanted.begin(), wanted.end());
  places.clear();
  for (const auto& [rank, i] : wanted) {
    if (places.size() < most) places.push_back(i);
  }
  std::sort(places.begin(), places.end());
}

// Points of a run as they would be with another link or more memory.
class Questions {
 public:
  explicit Questions(const PreparedRun& run) : run_(run) { asked_.keep_steps = run.keep_steps; }

  // Of the point, behind a link of that rate in both directions; 0: as it is.
  void Add(const Point& of, const Strategy& strategy, double rate, Bytes capacity) {
    Point point = of;
    point.strategy = &strategy;
    if (&strategy != of.strategy) point.parameters = {};
    point.step = Step(of.step);
    point.machine = point.planned_on = Machine(of, rate);
    point.planned_capacity = point.row.memory_limit = capacity;
    asked_.points.push_back(std::move(point));
  }
  // To all that was added since the last ones, with bounds or without; fewer where it was time to stop.
  std::vector<StepAndBound> OnceCache(
      bool bounds, int jobs, const std::function<bool()>& stop, const std::function<void()>& told = [] {}) {
    std::vector<StepAndBound> answers;
    asked_.bounds = bounds;
    const auto add = [&](const Point&, PointResult& result) {
      const ResultRow& row = result.row;
      answers.push_back(row.feasible ? StepAndBound{row.times.step, row.bounds.lower} : StepAndBound{});
      told();
    };
    RunPoints(asked_, jobs, add, 0, stop);
    asked_.points.clear();
    return answers;
  }

 private:
  std::size_t Step(std::size_t of) {
    const auto [at, added] = steps_.try_emplace(of, asked_.steps.size());
    if (added) asked_.steps.push_back(std::make_unique<PreparedStep>(*run_.steps[of]));
    return at->second;
  }
  std::size_t Machine(const Point& of, double rate) {
    const PreparedMachine& from = *run_.machines[of.machine];
    const auto& recorded = run_.steps[of.step]->source->recorded;
    const auto [at, added] = machines_.try_emplace({of.machine, rate, recorded.get()}, asked_.machines.size());
    if (!added) return at->second;
    auto machine = std::make_unique<PreparedMachine>();
    machine->label = from.label;
    machine->machine = rate > 0 ? WithLinkRate(from.machine, rate) : from.machine;
    const CostOptions& options = from.costs->options();
    machine->costs = recorded ? std::make_unique<RecordedCosts>(machine->machine, options, recorded)
                              : std::make_unique<CostModel>(machine->machine, options);
    asked_.machines.push_back(std::move(machine));
    return at->second;
  }

  const PreparedRun& run_;
  PreparedRun asked_;
  std::map<std::size_t, std::size_t> steps_;
  std::map<std::tuple<std::size_t, double, const RecordedStep*>, std::size_t> machines_;
};

double RateOfRung(int rung) { return std::exp2(static_cast<double>(rung) / kRungsAnOctave); }

// The first rung of the ladder from which on swapping everything costs next to nothing; 0: it does not run. `steps`: by rung.
double FreeFrom(const std::vector<StepAndBound>& steps) {
  const Nanos least = steps.back().step;
  if (least == 0) return 0;
  const auto costs = [&](const StepAndBound& at) { return at.step == 0 || at.step > least + least / kFree; };
  const auto dearest = std::find_if(steps.rbegin(), steps.rend(), costs);
  return RateOfRung(static_cast<int>(steps.rend() - dearest));
}

// All that is asked about links. Whether there was time for it.
bool AskAboutLinks(const PreparedRun& run, const ResultRow& row, int jobs, const std::function<bool()>& stop,
                   WhatHelps& place) {
  const Point& point = run.points[place.row];
  place.even_rate = row.grouping.link_rate;
  place.faster_rate = place.even_rate + place.even_rate / kLinkShare;
  Questions questions(run);
  for (const double rate : {place.even_rate, place.faster_rate}) {
    questions.Add(point, *point.strategy, rate, row.memory_limit);
  }
  const std::vector<StepAndBound> answers = questions.OnceCache(true, jobs, stop);
  for (int rung = 0; rung <= kRungsAnOctave * kOctaves; ++rung) {
    questions.Add(point, StrategyByName(kSwapping), RateOfRung(rung), row.memory_limit);
  }
  const std::vector<StepAndBound> swapping = questions.OnceCache(false, jobs, stop);
  if (answers.size() < 2 || swapping.size() <= kRungsAnOctave * kOctaves) return false;
  place.even = answers[0];
  place.faster = answers[1];
  place.free_from = FreeFrom(swapping);
  return place.links = true;
}

}  // namespace

Bytes MoreMemory(Bytes limit) { return limit >= kCard ? kMoreOfCard : limit / kShareOfLess; }

std::vector<WhatHelps> FindWhatHelps(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                     const HelpsAsked& asked, int jobs, Console& console,
                                     const std::function<bool()>& stop) {
  std::vector<std::size_t> fastest = FastestOfPlaces(rows);
  std::erase_if(fastest, [&](std::size_t i) { return !PlannedHere(run.points[i]); });
  TakeLargest(rows, asked.places, fastest);
  Progress progress(console, "what would help", fastest.size() * (asked.links ? 2 : 1));
  Questions questions(run);
  for (const std::size_t i : fastest) {
    const Bytes limit = rows[i].memory_limit;
    questions.Add(run.points[i], *run.points[i].strategy, 0, limit + MoreMemory(limit));
  }
  const std::vector<StepAndBound> memory = questions.OnceCache(true, jobs, stop, [&] { progress.Step(); });
  std::vector<WhatHelps> places;
  for (std::size_t k = 0; k < memory.size(); ++k) {
    const ResultRow& row = rows[fastest[k]];
    WhatHelps place{.row = fastest[k], .more = MoreMemory(row.memory_limit), .memory = memory[k]};
    if (asked.links) {
      if (!AskAboutLinks(run, row, jobs, stop, place)) break;
      progress.Step();
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace spillway
