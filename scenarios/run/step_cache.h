// A cache of the training steps that the points of a run need, each with the plans and oracles made for it.
//
// A step is built when a point first asks for it. The cache holds the `most` steps that were asked for last. A small
// number suffices, because points with the same step mostly follow each other. Building a step takes milliseconds or
// more; points on other threads that need the same step wait for it (OnceCache).
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

// Thread-safe. The cache refers to `run`, which must outlive the cache.
class StepCache {
 public:
  // Plans and oracles live as long as their step, because their caches tell steps apart by address.
  struct Entry {
    std::shared_ptr<const PreparedStep> step;
    // The step at smaller batches; null for a recorded step, which has one batch.
    std::unique_ptr<StepsInParts> in_parts;
    PlanCache plans;
    OracleCache oracles;
  };

  // `most`: how many entries the cache holds. An entry that the cache has dropped lives as long as a caller holds it.
  StepCache(const PreparedRun& run, std::size_t most) : run_(run), entries_(most) {}
  // The entry of step `index` of the run. Throws what building the step throws.
  std::shared_ptr<Entry> Get(std::size_t index) {
    return entries_.Get(index, [&] { return Make(index); });
  }

 private:
  std::shared_ptr<Entry> Make(std::size_t index) const {
    auto entry = std::make_shared<Entry>();
    entry->step = StepOf(run_, index);
    if (entry->step->step.recorded()) return entry;  // a recording has no other batch
    const auto at_batch = [step = entry->step](std::int64_t batch) { return StepAtBatch(*step, batch); };
    entry->in_parts = std::make_unique<StepsInParts>(entry->step->batch, at_batch);
    return entry;
  }

  const PreparedRun& run_;
  OnceCache<std::size_t, std::shared_ptr<Entry>> entries_;  // by step index
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
