// The pieces of a validation (validate.h) around its cases: the places that become cases, what the device must know of the
// run, cases known from an earlier run, and what is shown of a case.
//
// Tested by cli_validate_test, cli_validate_pace_test, cli_validate_partial_test and cli_validate_resume_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_PARTS_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_PARTS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/device_as_found.h"
#include "calibrate/validate/journal.h"
#include "scenarios/run/run.h"

namespace spillway {

// ---- Places: where plans are compared with each other. Each place becomes a case (calibrate/validate/case.h).

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

// Limits the points whose scenario states no memory to what the profile's pool gives of what is free: of memory beside the
// device's reserve (DeviceBackend::FreeBytes). Points of cases that an earlier run finished keep their limit. `free`: asked
// once, if there is such a point; below 0: not told, nothing changes.
// A sentence for each machine whose points have less than its own.
std::vector<std::string> LimitToFree(PreparedRun& run, const std::vector<FinishedCase>& known,
                                     const std::function<Bytes()>& free);

// ---- The device.

// Points into `run`: its machines get the links and costs that are found.
ValidatedRun DeviceSideOf(PreparedRun& run, const DeviceBackend& backend);

// ---- Cases that an earlier run finished, for `--resume`.

// Compares the cases of the earlier run with those of this one, so that a journal that was changed is refused before
// anything runs. Throws UserError, with the line, at the first that is not the case of these points at its position:
// another scenario, network, batch, machine, limit, other strategies, or figures that are missing.
void CheckKnown(const std::vector<FinishedCase>& known, const std::vector<Point>& points,
                const ValidationJournal& journal);

// Rows of a plan that was given, by the name that its file has now. REQUIRES: checked.
void NameByFile(const std::vector<Point>& points, std::vector<FinishedCase>& known);

// ---- A case that was measured, for the page and Perfetto: of each strategy's plan both timelines, and its ops.

// Texts of timelines/POINT.trace.json and ops/POINT.csv (reports/trace/trace.h), of the points that were measured. Of the
// steps with instruments the trace shows the one of median time. Its lower_bound_ns is 0 where the bound was proven under
// other costs than `costs`, which the rows are compared with.
std::vector<ObservedTexts> ObservedOf(const Place& place, const CaseSetup& setup, const CostModel& costs,
                                      const CaseResult& found);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_PARTS_H_
