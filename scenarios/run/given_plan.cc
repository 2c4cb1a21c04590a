#include <fmt/format.h>


#include "hw/text/lists.h"
#include "scenarios/run/prepare_parts.h"

namespace spillway {

GivenPlan::GivenPlan(const Overrides& overrides) : overrides_(overrides), document_(LoadDocument(overrides.plan)) {}

bool GivenPlan::IsFor(const char* key, const std::string& value) const {
  const Node* node = Says(key);
  return node == nullptr || node->scalar == value;
}

std::shared_ptr<const Plan> GivenPlan::For(const PreparedRun& run, std::size_t step, const std::string& machine) {
  if (!IsFor("batch", std::to_string(run.steps[step]->batch))) return nullptr;
  if (!IsFor("network", run.steps[step]->own_name)) return nullptr;
  if (!overrides_.plan_on_any_machine && !IsFor("machine", machine)) {
    AddOnce(machines_, machine);
    return nullptr;
  }
  std::shared_ptr<const Plan>& plan = plans_[step];
  if (plan == nullptr) {
    plan = std::make_shared<const Plan>(ParsePlan(document_.text, overrides_.plan, StepOf(run, step)->step));
  }
  return plan;
}

void GivenPlan::RefuseScenario(const std::string& scenario) const {
  if (machines_.empty()) {
    throw UserError(
        fmt::format("{}: no point of scenario '{}' has the network and batch of this plan", overrides_.plan, scenario));
  }
  const Node& said = *Says("machine");
  throw UserError(fmt::format(
      "{}:{}:{}: error: machine: the plan is for '{}', and the points of scenario '{}' with its network and "
      "batch are on {}{}; without this line it is carried out on all of them",
      overrides_.plan, said.mark.line, said.mark.column, said.scalar, scenario, fmt::join(machines_, ", "),
      DidYouMean(said.scalar, machines_)));
}

}  // namespace spillway
