#include <fmt/format.h>

#include "hw/text/file_kind.h"
#include "hw/text/lists.h"
#include "model/step/accumulate.h"
#include "scenarios/run/prepare_internal.h"

namespace spillway {

GivenPlan::GivenPlan(const Overrides& overrides) : overrides_(overrides), document_(LoadDocument(overrides.plan)) {
  MustBeOfKind(FileKind::kPlan, document_);
}

bool GivenPlan::IsFor(const char* key, const std::string& value) const {
  const Node* node = Says(key);
  return node == nullptr || node->scalar == value;
}

// Into how many parts the plan cuts the batch. What is no number is ParsePlan's to refuse.
std::int64_t GivenPlan::PartsOfBatch(std::int64_t batch) const {
  const Node* const said = Says("accumulate");
  const std::optional<std::int64_t> parts = said == nullptr ? std::nullopt : ParseInteger(said->scalar);
  if (!parts || *parts < 1) return 1;
  if (*parts <= batch) return *parts;
  throw UserError(fmt::format("{}:{}:{}: error: accumulate: expected at most the {} samples of the batch, found {}",
                              overrides_.plan, said->mark.line, said->mark.column, batch, *parts));
}

std::shared_ptr<const Plan> GivenPlan::For(const PreparedRun& run, std::size_t step, const PreparedMachine& on) {
  const PreparedStep& at = *run.steps[step];
  AddOnce(networks_, at.own_name);
  if (!IsFor("network", at.own_name)) return nullptr;
  AddOnce(batches_, std::to_string(at.batch));
  if (!IsFor("batch", std::to_string(at.batch))) return nullptr;
  const bool any = overrides_.plan_on_any_machine;
  if (!any && !IsFor("machine", on.label)) {
    AddOnce(machines_, on.label);
    return nullptr;
  }
  std::shared_ptr<const Plan>& plan = plans_[step];
  if (plan == nullptr) {
    if (const Node* said = Says("accumulate"); said != nullptr && at.source->recorded != nullptr) {
      throw UserError(fmt::format("{}:{}:{}: error: accumulate: a recorded step has no batch to cut", overrides_.plan,
                                  said->mark.line, said->mark.column));
    }
    const TrainingStep of_plan = StepOfPlan(*StepOf(run, step), PartsOfBatch(at.batch));
    plan = std::make_shared<const Plan>(ParsePlan(document_.text, overrides_.plan, of_plan));
  }
  return plan;
}

void GivenPlan::RefuseScenario(const std::string& scenario) const {
  // By the first of the three that no point has.
  const bool by_network = batches_.empty(), by_batch = !by_network && machines_.empty();
  const char* const key = by_network ? "network" : by_batch ? "batch" : "machine";
  const std::vector<std::string>& found = by_network ? networks_ : by_batch ? batches_ : machines_;
  const Node& said = *Says(key);
  throw UserError(
      fmt::format("{}:{}:{}: error: {}: the plan is for '{}', and the points of scenario '{}'{} have {}{}{}",
                  overrides_.plan, said.mark.line, said.mark.column, key, said.scalar, scenario,
                  by_network ? ""
                  : by_batch ? " with its network"
                             : " with its network and batch",
                  fmt::join(found, ", "), DidYouMean(said.scalar, found),
                  by_network || by_batch ? "" : "; without this line it is carried out on all of them"));
}

}  // namespace spillway
