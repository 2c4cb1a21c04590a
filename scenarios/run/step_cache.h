// The steps that points are working on, with the plans made for each: built when a point first asks, dropped when others
// have been asked for since. Points of one step mostly lie together.
//
// Tested by sweep_test.
#ifndef SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
#define SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "model/step/steps_in_parts.h"
#include "scenarios/run/prepare.h"
#include "sim/planning/plan_cache.h"

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
    std::unique_ptr<StepsInParts> in_parts;  // of the same; none of a recorded step
    PlanCache plans;
    OracleCache oracles;
  };

  // Holds the `most` that were asked for last; others live as long as their users.
  StepCache(const PreparedRun& run, std::size_t most) : run_(run), most_(most) {}
  std::shared_ptr<Entry> Get(std::size_t index) {
    std::shared_ptr<Entry> entry = Find(index);
    std::call_once(entry->once, [&] {
      entry->step = StepOf(run_, index);
      if (entry->step->step.recorded()) return;  // there is no other batch of it
      const auto at_batch = [step = entry->step](std::int64_t batch) { return StepAtBatch(*step, batch); };
      entry->in_parts = std::make_unique<StepsInParts>(entry->step->batch, at_batch);
    });
    return entry;
  }

 private:
  std::shared_ptr<Entry> Find(std::size_t index) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [index](const auto& entry) { return entry->index == index; });
    if (found != entries_.end()) {
      std::rotate(found, found + 1, entries_.end());
    } else {
      if (entries_.size() >= most_) entries_.erase(entries_.begin());
      entries_.push_back(std::make_shared<Entry>(index));
    }
    return entries_.back();
  }

  const PreparedRun& run_;
  const std::size_t most_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_;  // what was asked for last comes last
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_STEP_CACHE_H_
