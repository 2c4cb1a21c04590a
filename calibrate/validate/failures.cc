#include "calibrate/validate/failures.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

namespace {

void NoteNumerics(const std::string& where, const Numerics& numerics, double tolerance, Judgement& judgement) {
  tolerance = std::max(tolerance, numerics.allowed);
  if (tolerance > 0 && numerics.largest_difference <= tolerance) {
    judgement.notes.push_back(
        fmt::format("{}: differs from in-core training by rounding: {} by {:.2g}, allowed are {:.2g}", where,
                    numerics.tensor, numerics.largest_difference, tolerance));
    return;
  }
  judgement.failures.push_back(fmt::format("{}: does not compute what in-core training computes: {} differs by {:.2g}",
                                           where, numerics.tensor, numerics.largest_difference));
}

}  // namespace

void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Judgement& judgement) {
  const std::string where = fmt::format("{} at batch {} with {}, {}", place.network, place.batch,
                                        FormatBytes(place.memory_limit), row.strategy);
  if (row.failed) {
    judgement.failures.push_back(fmt::format("{} {}: {}", where, row.refused ? "not run" : "failed", row.reason));
  }
  if (!row.feasible || row.failed) return;
  if (row.measured_peak > row.predicted_peak) {
    judgement.failures.push_back(fmt::format("{}: byte {} of the arena was written; the highest address is {}", where,
                                             row.measured_peak, row.predicted_peak));
  }
  if (row.numerics.kind == Numerics::Kind::kDiffers) NoteNumerics(where, row.numerics, tolerance, judgement);
}

}  // namespace spillway
