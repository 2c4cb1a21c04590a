// Where a validation compares plans with each other: the points of one step, machine and memory limit, planned. Each
// place becomes a case (calibrate/validate/case.h).
//
// Tested by cli_validate_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_PLACES_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_PLACES_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "scenarios/run/run.h"

namespace spillway {

struct PlannedPoint {
  const Point* point = nullptr;  // of the run
  PointResult result;
};

// Points of one step, machine and limit; they follow each other.
struct Place {
  std::size_t step = 0, machine = 0;  // indices into the run
  Bytes limit = 0;
  std::vector<PlannedPoint> planned;  // in order of points, at least one
  bool Fits() const;                  // any of them
};

// The points of each place, in order.
std::vector<std::span<const Point>> PlacesOf(const std::vector<Point>& points);

// Plans every point, in order. `each` is called behind each one; what it throws ends the planning and passes.
std::vector<Place> PlanAll(const PreparedRun& run, int jobs, const std::function<void()>& each);

std::vector<ResultRow> RowsOf(const std::vector<Place>& places);

// A plan that execute() can carry out needs an arena: points without a runtime get one. Throws UserError where a
// scenario asks for a pool, or for pauses and waits of the host that no device makes.
void UseArenas(PreparedRun& run);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_PLACES_H_
