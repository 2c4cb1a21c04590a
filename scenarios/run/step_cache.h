// The steps that points are working on, with the plans made for each: built when a point first asks, dropped when others
// have been asked for since. Points of one step mostly lie together.
//
// Tested by sweep_test.
#ifndef SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
#define SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "model/step/accumulate.h"
#include "model/util/once_cache.h"
#include "scenarios/run/prepare.h"
#include "sim/planning/plan_cache.h"

namespace spillway {

// May be shared by threads. Steps are made once each (OnceCache).
class StepCache {
 public:
  // Plans and oracles go with their step: their caches tell steps apart by their addresses.
  struct Entry {
    std::shared_ptr<const PreparedStep> step;
    std::unique_ptr<StepsInParts> in_parts;  // of the same; none of a recorded step
    PlanCache plans;
    OracleCache oracles;
  };

  // Holds the `most` that were asked for last; others live as long as their users.
  StepCache(const PreparedRun& run, std::size_t most) : run_(run), entries_(most) {}
  std::shared_ptr<Entry> Get(std::size_t index) {
    return entries_.Get(index, [&] { return Make(index); });
  }

 private:
  std::shared_ptr<Entry> Make(std::size_t index) const {
    auto entry = std::make_shared<Entry>();
    entry->step = StepOf(run_, index);
    if (entry->step->step.recorded()) return entry;  // there is no other batch of it
    const auto at_batch = [step = entry->step](std::int64_t batch) { return StepAtBatch(*step, batch); };
    entry->in_parts = std::make_unique<StepsInParts>(entry->step->batch, at_batch);
    return entry;
  }

  const PreparedRun& run_;
  OnceCache<std::size_t, std::shared_ptr<Entry>> entries_;  // by index
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
