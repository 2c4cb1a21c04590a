#include <fmt/format.h>

#include <algorithm>

#include "scenarios/validate/validate_places.h"

namespace spillway {

namespace {

void NoteNumerics(const std::string& where, const Numerics& numerics, double tolerance, Validated& result) {
  tolerance = std::max(tolerance, numerics.allowed);
  if (tolerance > 0 && numerics.largest_difference <= tolerance) {
    result.set.notes.push_back(
        fmt::format("{}: not in-core training's bits: {} differs by {:.2g}, rounding may by {:.2g}", where,
                    numerics.tensor, numerics.largest_difference, tolerance));
    return;
  }
  result.failures.push_back(fmt::format("{}: computes something else than in-core training: {} differs by {:.2g}",
                                        where, numerics.tensor, numerics.largest_difference));
}

}  // namespace

void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Validated& result) {
  const std::string where = fmt::format("{} at batch {} with {}, {}", place.network, place.batch,
                                        FormatBytes(place.memory_limit), row.strategy);
  if (row.failed) {
    result.failures.push_back(fmt::format("{} {}: {}", where, row.refused ? "not run" : "failed", row.reason));
  }
  if (!row.feasible || row.failed) return;
  if (row.measured_peak > row.predicted_peak) {
    result.failures.push_back(fmt::format("{}: byte {} of the arena was written; the highest address is {}", where,
                                          row.measured_peak, row.predicted_peak));
  }
  if (row.numerics.kind == Numerics::Kind::kDiffers) NoteNumerics(where, row.numerics, tolerance, result);
}

}  // namespace spillway
