#include "sim/bounds/claimed_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace spillway {

bool Holds(const Scope& wide, const Scope& narrow) {
  return wide.accumulate == narrow.accumulate && Union(wide, narrow) == wide;
}

KnownBounds BetterOf(const Bounds& in_scope, const Bounds& widest, const Scope& scope,
                     const std::optional<ClaimedBound>& claim) {
  KnownBounds known{
      .lower = in_scope.Best(), .binding = in_scope.Binding(), .by = kGeneralBounds, .widest = widest.Best()};
  if (!claim || !Holds(claim->scope, scope)) return known;
  if (claim->time > known.lower) {
    known.lower = claim->time;
    known.binding = kClaimed;
    known.by = claim->how;
  }
  if (Holds(claim->scope, WidestLike(scope))) known.widest = std::max(known.widest, claim->time);
  return known;
}

void MustHold(const ClaimedBound& claim, const Scope& decided, Nanos step_time, const std::string& strategy) {
  if (step_time >= claim.time || !Holds(claim.scope, decided)) return;
  throw std::logic_error(
      fmt::format("strategy '{}' claims that no plan takes less than {} ({}; {}), and its own takes {}", strategy,
                  FormatDurationExact(claim.time), claim.how, claim.scope.Text(), FormatDurationExact(step_time)));
}

}  // namespace spillway
