// The plan that is fastest when things go worse than predicted.
//
// Of plans judged on the way, each by the cost model's own times, those that are close to the fastest and differ in how much
// they copy; of these the one whose 90th percentile over the common draws of the model's errors is least
// (sim/uncertainty/uncertainty.h). A plan that leans on the link may be fastest by the model and late on a host whose copies
// are slower.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_ROBUST_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_ROBUST_H_

#include <map>
#include <string>
#include <vector>

#include "model/util/thread_pool.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"

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

// Of the list's close plans, of which there has to be one. `which` becomes how it compares with the fastest by the model.
Plan RobustPlan(const Shortlist& shortlist, const Oracle& oracle, const Problem& problem, ThreadPool& helpers,
                std::string& which);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_ROBUST_H_
