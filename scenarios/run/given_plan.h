// The plan of --plan, and which points it is for.
#ifndef SPILLWAY_SCENARIOS_RUN_GIVEN_PLAN_H_
#define SPILLWAY_SCENARIOS_RUN_GIVEN_PLAN_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/run/prepare.h"

namespace spillway {

class GivenPlan {
 public:
  // Reads the file, once. UserError: as LoadDocument. `overrides` outlive it.
  explicit GivenPlan(const Overrides& overrides);

  // The plan, if its network, batch and machine are these; what it does not say may be any. UserError: as ParsePlan.
  std::shared_ptr<const Plan> For(const PreparedRun& run, std::size_t step, const std::string& machine);

  // Throws UserError: none of the points of this scenario was for the plan, and by what the plan missed them.
  [[noreturn]] void RefuseScenario(const std::string& scenario) const;

 private:
  const Node* Says(const char* key) const { return document_.root.Find(key); }
  bool IsFor(const char* key, const std::string& value) const;

  const Overrides& overrides_;
  Document document_;
  std::map<std::size_t, std::shared_ptr<const Plan>> plans_;  // by step
  std::vector<std::string> machines_;                         // with network and batch of the plan, without its machine
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_GIVEN_PLAN_H_
