// A lower bound that a planner proved for its problem, and how a result combines it with the general bounds.
//
// A planner may know more of a step than LowerBounds does, because it has searched. Its claim covers every plan within
// the claim's scope, under the problem's costs and capacity. A simulated step that is faster refutes the claim
// (MustHold).
#ifndef SPILLWAY_SIM_BOUNDS_CLAIMED_BOUND_H_
#define SPILLWAY_SIM_BOUNDS_CLAIMED_BOUND_H_

#include <optional>
#include <string>

#include "sim/bounds/bounds.h"
#include "sim/bounds/scope.h"

namespace spillway {

struct ClaimedBound {
  Nanos time = 0;   // no plan in scope takes less
  Scope scope;      // including copy streams and pieces of copies: a claim for one stream does not cover two
  std::string how;  // in a few words: "integer program over 12 cuts"
};

// True if every plan in `narrow` is also in `wide`.
bool Holds(const Scope& wide, const Scope& narrow);

// The best known bounds for one row of results: `lower` for the plans that it was chosen from, `widest` for all plans.
struct KnownBounds {
  Nanos lower = 0;
  std::string binding;  // Bounds::Binding, or kClaimed
  std::string by;       // how it was found: kGeneralBounds, or ClaimedBound::how
  Nanos widest = 0;
};
inline constexpr const char* kGeneralBounds = "general bounds";
inline constexpr const char* kClaimed = "strategy";

// `in_scope`: the bounds in `scope`, from which the row was chosen. `widest`: the bounds in WidestLike(scope).
KnownBounds BetterOf(const Bounds& in_scope, const Bounds& widest, const Scope& scope,
                     const std::optional<ClaimedBound>& claim);

// Throws std::logic_error if a plan of the scope `decided` is within the claim's scope and takes less time than the
// claim. Then the planner has a bug, and its bound must not be shown.
void MustHold(const ClaimedBound& claim, const Scope& decided, Nanos step_time, const std::string& strategy);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_CLAIMED_BOUND_H_
