#include "scenarios/run/what_helps.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "model/recorded/recorded_costs.h"
#include "scenarios/run/prepare_parts.h"
#include "scenarios/run/step_cache.h"

namespace spillway {

namespace {

constexpr Bytes kShareMore = 8;
constexpr int kRungsAnOctave = 4, kOctaves = 10;  // of link rates, from 1 GB/s
constexpr Nanos kFree = 100;                      // of a step: what copies may cost and are called free
constexpr const char* kSwapping = "swap-all";

// Index of the fastest row of each place.
std::vector<std::size_t> FastestOfPlaces(const std::vector<ResultRow>& rows) {
  std::vector<std::size_t> fastest;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    std::size_t best = begin;
    for (; end < rows.size() && SamePlace(rows[begin], rows[end]); ++end) {
      const bool faster = !rows[best].feasible || rows[end].step_time < rows[best].step_time;
      if (rows[end].feasible && faster) best = end;
    }
    if (rows[best].feasible) fastest.push_back(best);
  }
  return fastest;
}

bool PlannedHere(const Point& point) { return point.strategy != nullptr && point.planned_on == point.machine; }

// A run of one step, what is asked about a place in it.
class Questions {
 public:
  Questions(const PreparedRun& run, const Point& point) : from_(*run.machines[point.machine]), point_(point) {
    asked_.steps.push_back(std::make_unique<PreparedStep>(*StepOf(run, point.step)));
    point_.step = 0;
  }

  // Behind a link of that rate in both directions; 0: as it is.
  std::size_t Machine(double rate) {
    auto machine = std::make_unique<PreparedMachine>();
    machine->label = from_.label;
    machine->machine = rate > 0 ? WithLinkRate(from_.machine, rate) : from_.machine;
    const CostOptions& options = from_.costs->options();
    const auto& recorded = asked_.steps[0]->source->recorded;
    machine->costs = recorded ? std::make_unique<RecordedCosts>(machine->machine, options, recorded)
                              : std::make_unique<CostModel>(machine->machine, options);
    asked_.machines.push_back(std::move(machine));
    return asked_.machines.size() - 1;
  }
  void Add(const Strategy& strategy, std::size_t machine, Bytes capacity) {
    Point point = point_;
    point.strategy = &strategy;
    if (&strategy != point_.strategy) point.parameters = {};
    point.machine = point.planned_on = machine;
    point.planned_capacity = point.row.memory_limit = capacity;
    asked_.points.push_back(std::move(point));
  }
  // To all that was added since the last ones, with bounds or without. Nothing: it was time to stop.
  std::vector<StepAndBound> Answers(bool bounds, int jobs, const std::function<bool()>& stop) {
    std::vector<StepAndBound> answers;
    asked_.bounds = bounds;
    const auto add = [&](const Point&, PointResult& result) {
      const ResultRow& row = result.row;
      answers.push_back(row.feasible ? StepAndBound{row.step_time, row.lower_bound} : StepAndBound{});
    };
    if (!RunPoints(asked_, jobs, add, 0, stop)) answers.clear();
    asked_.points.clear();
    return answers;
  }

 private:
  const PreparedMachine& from_;
  Point point_;
  PreparedRun asked_;
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

std::optional<WhatHelps> Find(const PreparedRun& run, const Point& point, const ResultRow& row, int jobs,
                              const std::function<bool()>& stop) {
  WhatHelps place{.row = row, .more = row.memory_limit / kShareMore, .even_rate = row.link_rate};
  place.faster_rate = place.even_rate + place.even_rate / kShareMore;
  Questions questions(run, point);
  questions.Add(*point.strategy, questions.Machine(0), row.memory_limit + place.more);
  for (const double rate : {place.even_rate, place.faster_rate}) {
    questions.Add(*point.strategy, questions.Machine(rate), row.memory_limit);
  }
  const std::vector<StepAndBound> answers = questions.Answers(true, jobs, stop);
  for (int rung = 0; rung <= kRungsAnOctave * kOctaves; ++rung) {
    questions.Add(StrategyByName(kSwapping), questions.Machine(RateOfRung(rung)), row.memory_limit);
  }
  const std::vector<StepAndBound> swapping = questions.Answers(false, jobs, stop);
  if (answers.empty() || swapping.empty()) return std::nullopt;
  place.memory = answers[0];
  place.even = answers[1];
  place.faster = answers[2];
  place.free_from = FreeFrom(swapping);
  return place;
}

}  // namespace

std::vector<WhatHelps> FindWhatHelps(const PreparedRun& run, const std::vector<ResultRow>& rows, int jobs,
                                     Console& console, const std::function<bool()>& stop) {
  std::vector<std::size_t> fastest = FastestOfPlaces(rows);
  std::erase_if(fastest, [&](std::size_t i) { return !PlannedHere(run.points[i]); });
  std::vector<WhatHelps> places;
  Progress progress(console, "what would help", fastest.size());
  for (const std::size_t i : fastest) {
    std::optional<WhatHelps> place = Find(run, run.points[i], rows[i], jobs, stop);
    if (!place) break;
    places.push_back(*std::move(place));
    progress.Step();
  }
  return places;
}

}  // namespace spillway
