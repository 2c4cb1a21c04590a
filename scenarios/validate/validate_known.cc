#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "calibrate/validate/falsify.h"
#include "scenarios/validate/validate_parts.h"

namespace spillway {

namespace {

bool IsThePlace(const ValidationCase& found, const ResultRow& wanted) {
  return found.scenario == wanted.scenario && found.network == wanted.network && found.batch == wanted.batch &&
         found.machine == wanted.machine && found.memory_limit == wanted.memory_limit;
}

// A row for each of the strategies, then random plans'.
bool HasTheRows(const std::vector<ValidationRow>& rows, std::span<const Point> points) {
  if (rows.size() < points.size()) return false;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows[k].random != (k >= points.size())) return false;
    // A plan that was given is called by its file, which may have another name by now.
    const bool named = k < points.size() && points[k].plan == nullptr;
    if (named && rows[k].strategy != points[k].row.strategy) return false;
  }
  return true;
}

bool HasTheFigures(const FinishedCase& found, std::size_t strategies) {
  const auto measured =
      std::count_if(found.rows.begin(), found.rows.end(), [](const ValidationRow& row) { return row.Measured(); });
  return found.classes.size() == strategies && found.models.size() == static_cast<std::size_t>(measured) &&
         std::all_of(found.models.begin(), found.models.end(),
                     [](const auto& by_model) { return by_model.size() == StepModels().size(); });
}

}  // namespace

void CheckKnown(const std::vector<FinishedCase>& known, const std::vector<Point>& points,
                const ValidationJournal& journal) {
  const std::vector<std::span<const Point>> places = PlacesOf(points);
  const std::string anew = "the file was changed; leave --resume away to measure all cases anew";
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (k >= places.size()) {
      throw UserError(fmt::format("{}: error: there are {} cases, and this is one more: {}", journal.LineOf(k),
                                  places.size(), anew));
    }
    const ResultRow& row = places[k].front().row;
    if (IsThePlace(known[k].place, row) && HasTheRows(known[k].rows, places[k]) &&
        HasTheFigures(known[k], places[k].size())) {
      continue;
    }
    throw UserError(fmt::format("{}: error: this is not case {}, {} at batch {} on {} with {}: {}", journal.LineOf(k),
                                k + 1, row.network, row.batch, row.machine, FormatBytes(row.memory_limit), anew));
  }
}

void NameByFile(const std::vector<Point>& points, std::vector<FinishedCase>& known) {
  const std::vector<std::span<const Point>> places = PlacesOf(points);
  for (std::size_t k = 0; k < known.size(); ++k) {
    ValidationCase& place = known[k].place;
    for (std::size_t i = 0; i < places[k].size(); ++i) {
      const std::string then = std::exchange(known[k].rows[i].strategy, places[k][i].row.strategy);
      for (std::string* best : {&place.best_predicted, &place.best_measured}) {
        if (*best == then) *best = places[k][i].row.strategy;
      }
    }
  }
}

}  // namespace spillway
