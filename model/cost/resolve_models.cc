// The models of a profile with their forms found.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/cost/model_cost.h"
#include "model/profile/profile_text.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

std::uint64_t IdentityOf(const KernelModel& model) {
  Hasher hash;
  hash.Add(model.form).Add(OpKindName(model.op)).Add(PassName(model.pass)).Add(model.algorithm).Add(model.math);
  for (const KernelModel::Parameter& p : model.parameters) hash.Add(std::bit_cast<std::uint64_t>(p.value));
  return hash.Value();
}

std::vector<double> ParametersInOrder(const KernelModel& model, const KernelForm& form) {
  std::vector<double> values;
  for (const FormParameter& wanted : form.parameters) {
    const auto found = std::find_if(model.parameters.begin(), model.parameters.end(),
                                    [&](const KernelModel::Parameter& p) { return p.name == wanted.name; });
    values.push_back(found->value);
  }
  return values;
}

// REQUIRES: no mistakes.
ResolvedModel Resolve(const KernelModel& model) {
  const KernelForm* const form = FindKernelForm(model.form);
  return {.model = &model,
          .form = form,
          .math = ValueByName(model.math, MathMode::kBf16, MathModeName).value(),
          .algorithm = AlgorithmByName(model.op, model.pass, model.algorithm),
          .group = IdentityOf(model),
          .parameters = ParametersInOrder(model, *form)};
}

}  // namespace

std::vector<ResolvedModel> ResolveModels(const Device& device, const std::string& machine) {
  std::vector<std::string> wrong;
  std::vector<ResolvedModel> resolved;
  for (const KernelModel& model : device.models) {
    const auto mistakes = MistakesOf(model, fmt::format("{} {}", OpKindName(model.op), PassName(model.pass)));
    for (const ModelMistake& mistake : mistakes) {
      wrong.push_back(fmt::format("machine '{}', device '{}': {}", machine, device.name, mistake.message));
    }
    if (mistakes.empty()) resolved.push_back(Resolve(model));
  }
  if (!wrong.empty()) throw UserError(std::move(wrong));
  return resolved;
}

}  // namespace spillway
