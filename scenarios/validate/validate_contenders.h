// Who takes part in a case: the strategies' plans of a place, and random ones.
//
// Tested by cli_validate_test and cli_validate_pace_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_CONTENDERS_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_CONTENDERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/falsify.h"
#include "model/step/accumulate.h"
#include "scenarios/validate/validate_parts.h"

namespace spillway {

// Owns what setups point to; places, too, have to outlive these.
class Contenders {
 public:
  // `random_plans`: per network, spread over its places at which a strategy fits.
  Contenders(const PreparedRun& run, int random_plans, std::uint64_t seed)
      : run_(run), random_plans_(random_plans), seed_(seed) {}
  CaseSetup SetUp(const Place& place, const std::vector<Place>& places);

 private:
  const Evaluation* Judged(const PointResult& result);
  const TrainingStep* StepOf(const Place& place, const PointResult& result);
  void AddRandomPlans(const Place& place, const std::vector<Place>& places, CaseSetup& setup);

  const PreparedRun& run_;
  int random_plans_;
  std::uint64_t seed_;
  std::deque<Plan> plans_;                        // random ones; addresses stay
  std::deque<Evaluation> evaluations_;            // theirs, and those of rows without one
  std::map<std::size_t, StepsInParts> in_parts_;  // by step of the run
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_CONTENDERS_H_
