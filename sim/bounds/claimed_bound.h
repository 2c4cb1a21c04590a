// A lower bound that a planner proved for the problem it was asked, and what a result takes from it.
//
// A planner may know more of a step than LowerBounds does: it has searched. What it claims holds for every plan within the
// claim's scope, on the problem's costs, in its memory; it is not believed blindly, a step that is faster refutes it.
#ifndef SPILLWAY_SIM_BOUNDS_CLAIMED_BOUND_H_
#define SPILLWAY_SIM_BOUNDS_CLAIMED_BOUND_H_

#include <optional>
#include <string>

#include "sim/bounds/bounds.h"
#include "sim/bounds/scope.h"

namespace spillway {

struct ClaimedBound {
  Nanos time = 0;   // no plan in scope takes less
  Scope scope;      // the copy streams and pieces of copies too: a claim for one stream says nothing of two
  std::string how;  // in a few words: "integer program over 12 cuts"
};

// Whether every plan in `narrow` is in `wide`.
bool Holds(const Scope& wide, const Scope& narrow);

// The best that is known of one row: of the plans it was chosen from, and of all plans.
struct KnownBounds {
  Nanos lower = 0;
  std::string binding;  // Bounds::Binding, or kClaimed
  std::string by;       // how it was found: kGeneralBounds, or ClaimedBound::how
  Nanos widest = 0;
};
inline constexpr const char* kGeneralBounds = "general bounds";
inline constexpr const char* kClaimed = "strategy";

// `in_scope`: bounds in `scope`, what the row was chosen from; `widest`: those in the WidestScope that has
// parts where `scope` has.
KnownBounds BetterOf(const Bounds& in_scope, const Bounds& widest, const Scope& scope,
                     const std::optional<ClaimedBound>& claim);

// Throws std::logic_error where a plan of the scope `decided` takes less than what is claimed for its like: the planner has
// a bug, and its bound must not be shown.
void MustHold(const ClaimedBound& claim, const Scope& decided, Nanos step_time, const std::string& strategy);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_CLAIMED_BOUND_H_
