#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hw/text/lists.h"
#include "scenarios/validate/validate_parts.h"
#include "sim/plan/runtime.h"

namespace spillway {
namespace {

// What keeps the host of a modelled system waiting, and no device; nullptr: nothing.
const char* SimulatedAlone(const Runtime& runtime) {
  if (IsManaged(runtime.memory)) return "unified memory";
  if (runtime.collection_time > 0) return "the pauses of its runtime's collection_time";
  if (runtime.framework_time > 0) return "the pauses of its runtime's framework_time";
  if (runtime.host_percent < 100) return "the compression of its runtime's host_percent";
  return runtime.blocking_copies != BlockingCopies::kNone ? "the waits of its runtime's blocking_copies" : nullptr;
}

}  // namespace

namespace {

bool AreOfOnePlace(const Point& a, const Point& b) {
  return a.step == b.step && a.machine == b.machine && a.row.memory_limit == b.row.memory_limit;
}

}  // namespace

bool Place::Fits() const {
  return std::any_of(planned.begin(), planned.end(), [](const PlannedPoint& p) { return p.result.row.feasible; });
}

std::vector<std::span<const Point>> PlacesOf(const std::vector<Point>& points) {
  std::vector<std::span<const Point>> places;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    while (end < points.size() && AreOfOnePlace(points[begin], points[end])) ++end;
    places.emplace_back(&points[begin], end - begin);
  }
  return places;
}

namespace {

// By machine: what the finished cases had whose scenario states no memory.
std::map<std::size_t, Bytes> LimitsOf(const std::vector<FinishedCase>& known, const std::vector<Point>& points) {
  const std::vector<std::span<const Point>> places = PlacesOf(points);
  std::map<std::size_t, Bytes> limits;
  for (std::size_t k = 0; k < std::min(known.size(), places.size()); ++k) {
    const Point& first = places[k].front();
    if (first.own_memory) limits.try_emplace(first.machine, known[k].place.memory_limit);
  }
  return limits;
}

// The reserve is none of what is free.
Bytes UsableOf(Device device, Bytes free) {
  device.total_memory = std::min(device.total_memory, device.reserve + free);
  return device.UsableMemory();
}

}  // namespace

std::vector<std::string> LimitToFree(PreparedRun& run, const std::vector<FinishedCase>& known,
                                     const std::function<Bytes()>& free) {
  std::map<std::size_t, Bytes> limits = LimitsOf(known, run.points);
  std::optional<Bytes> found;
  std::vector<std::string> said;
  for (Point& point : run.points) {
    if (!point.own_memory) continue;
    const PreparedMachine& machine = *run.machines[point.machine];
    const Bytes own = point.row.memory_limit;
    if (limits.count(point.machine) == 0) {
      if (!found) found = free();
      limits[point.machine] = *found < 0 ? own : UsableOf(machine.machine.devices[0], *found);
    }
    const Bytes limit = limits[point.machine];
    if (limit >= own) continue;
    point.row.memory_limit = point.planned_capacity = limit;
    AddOnce(said, fmt::format("{}: {} of its {} are free, and taken; `memory:` states a limit", machine.label,
                              FormatBytes(limit), FormatBytes(own)));
  }
  return said;
}

std::vector<Place> PlanAll(const PreparedRun& run, int jobs, const std::function<void()>& each) {
  std::vector<Place> places;
  RunPoints(run, jobs, [&](const Point& point, PointResult& result) {
    if (places.empty() || !AreOfOnePlace(*places.back().planned.front().point, point)) {
      places.push_back({.step = point.step, .machine = point.machine, .limit = point.row.memory_limit, .planned = {}});
    }
    places.back().planned.push_back({&point, std::move(result)});
    each();
  });
  return places;
}

std::vector<ResultRow> RowsOf(const std::vector<Place>& places) {
  std::vector<ResultRow> rows;
  for (const Place& place : places) {
    for (const PlannedPoint& planned : place.planned) rows.push_back(planned.result.row);
  }
  return rows;
}

void UseArenas(PreparedRun& run) {
  for (Point& point : run.points) {
    if (!point.use_runtime) point.runtime = RuntimeByName("arena");
    point.use_runtime = true;
    if (const char* const what = SimulatedAlone(point.runtime)) {
      throw UserError(fmt::format("{}: no device carries out {}", point.row.point, what));
    }
    if (point.runtime.memory == MemoryModel::kArena) continue;
    const bool counted = point.runtime.memory == MemoryModel::kCounted;
    throw UserError(fmt::format("{}: its runtime {}; only arenas can be validated: use runtime: arena", point.row.point,
                                counted ? "counts memory" : "has a pool of memory"));
  }
}

}  // namespace spillway
