// The plans that a planner compares, each judged by the full path at the capacity that there is: the fastest so far wins.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_CONTEST_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_CONTEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/evaluate/oracle.h"
#include "sim/plan/plan.h"
#include "sim/planning/strategy_parameters.h"
#include "sim/strategies/best/robust.h"

namespace spillway {

// The means that a plan may use.
struct Allowed {
  bool swap = true;
  bool recompute = true;
  bool algorithms = true;  // algorithms and workspaces other than usual
  bool parts = true;
  bool operator==(const Allowed&) const = default;
  bool Holds(const Plan& plan) const;
};
// By the parameters of those names, and by what the runtime can carry out.
Allowed AllowedBy(const StrategyParameters& told, const Runtime& runtime);
// The scope of plans that use only these means, with every op whole.
Scope ScopeFor(const Allowed& allowed, const Runtime& runtime);

// The figures of a plan, by the full path, that a contest compares.
struct PlanJudgement {
  bool counts = false;  // it uses nothing that is not allowed, and is a plan of the step
  bool feasible = false;
  std::string reason;
  Nanos time = 0;
  Bytes bytes_out = 0;
};

class Contest {
 public:
  Contest(const Oracle& oracle, const Allowed& allowed) : oracle_(&oracle), allowed_(allowed) {}

  // Does not depend on the plans entered so far. Any thread may call it.
  PlanJudgement Judge(const Plan& plan) const;
  // Judges the plan, unless it uses what is not allowed. True: it runs, and faster than all before it. `by`: who made it.
  bool Enter(const Plan& plan, const std::string& by) { return Enter(plan, by, Judge(plan)); }
  // As above, for a plan that was judged already.
  bool Enter(const Plan& plan, const std::string& by, const PlanJudgement& judged);

  bool decided() const { return time_ > 0; }
  Nanos time() const { return time_; }  // of the fastest; 0: none runs
  const Plan& plan() const { return plan_; }
  const std::string& by() const { return by_; }
  std::int64_t judged() const { return judged_; }
  const std::string& last_reason() const { return reason_; }  // why the last one that does not run does not
  // The widest of the plans that run; those that stream operands count where one of them wins, as bounds over them say
  // little about all others.
  PartScope parts() const { return std::max(parts_, ScopeOf(plan_).parts); }
  // From here on the plans that a robust choice is made from are remembered.
  void RememberShortlist();
  const std::optional<Shortlist>& shortlist() const { return shortlist_; }
  const Allowed& allowed() const { return allowed_; }
  const Oracle& oracle() const { return *oracle_; }

 private:
  const Oracle* oracle_;
  Allowed allowed_;
  Nanos time_ = 0;
  Plan plan_;
  std::string by_, reason_;
  std::int64_t judged_ = 0;
  PartScope parts_ = PartScope::kNone;
  std::optional<Shortlist> shortlist_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_CONTEST_H_
