// The steps that points are working on, with the plans made for each: built when a point first asks, dropped when others
// have been asked for since. Points of one step mostly lie together.
//
// Tested by sweep_test.
#ifndef SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
#define SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "scenarios/run/prepare.h"
#include "sim/oracle_memo.h"
#include "sim/plan_memo.h"

namespace spillway {

// May be shared by threads; who asks for a step that is being built waits for it.
class StepCache {
 public:
  // Plans and oracles go with their step: a memo tells steps apart by their addresses.
  struct Entry {
    explicit Entry(std::size_t of) : index(of) {}
    const std::size_t index;
    std::once_flag once;
    std::shared_ptr<const PreparedStep> step;
    PlanMemo plans;
    OracleMemo oracles;
  };

  // Holds the `most` that were asked for last; others live as long as their users.
  StepCache(const PreparedRun& run, std::size_t most) : run_(run), most_(most) {}
  std::shared_ptr<Entry> Get(std::size_t index);

 private:
  std::shared_ptr<Entry> Find(std::size_t index);

  const PreparedRun& run_;
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;  // what was asked for last comes last
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
