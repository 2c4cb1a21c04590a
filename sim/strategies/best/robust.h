// The plan that is fastest when things go worse than predicted.
//
// Of plans judged on the way, each by the cost model's own times, those that are close to the fastest and differ in how much
// they copy; of these the one whose 90th percentile over the common draws of the model's errors is least
// (sim/uncertainty/uncertainty.h). A plan that leans on the link may be fastest by the model and late on a host whose copies
// are slower.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_ROBUST_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_ROBUST_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sim/evaluate.h"

namespace spillway {

struct RankedPlan {
  Nanos time = 0;  // by the full path, without errors
  Plan plan;
  std::string by;  // who made it
};

// The fastest few plans of each amount of copying, in shares of the most that could be copied.
class Shortlist {
 public:
  // `all`: bytes that a plan may copy out, at least 1.
  explicit Shortlist(Bytes all) : all_(all) {}
  void Enter(Nanos time, Bytes copied, const Plan& plan, const std::string& by);
  // Those within a tenth of the fastest, the fastest first: 64 at most.
  std::vector<RankedPlan> Close() const;

 private:
  Bytes all_;
  std::map<Bytes, std::vector<RankedPlan>> by_share_;  // each the fastest first
};

struct RobustChoice {
  std::size_t index = 0;  // into the plans
  Nanos p90 = 0, median = 0;
  Nanos fastest_p90 = 0, fastest_median = 0;  // of the first plan
};

// By the draws that intervals of results are made of. REQUIRES: plans, each one that runs.
RobustChoice ChooseRobust(const std::vector<RankedPlan>& plans, const Oracle& oracle, const Problem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_ROBUST_H_
