// The models of a profile, matched with the forms, parameters and algorithms that this program knows.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/lists.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/profile_text.h"

namespace spillway {
namespace {

// Goes on after a mistake, so that all of a model's come to light at once.
class ModelCheck {
 public:
  ModelCheck(const KernelModel& model, const std::string& launches)
      : model_(model), launches_(launches), called_(fmt::format("model '{}' for {}", model.form, launches)) {}

  std::vector<ModelMistake> Run() {
    const KernelForm* const form = FindKernelForm(model_.form);
    if (form == nullptr) {
      Refuse("form",
             fmt::format("unknown kernel form '{}'{}", model_.form, DidYouMean(model_.form, NamesOf(KernelForms()))));
    }
    KnownValue("math", model_.math, MathMode::kBf16, MathModeName,
               [this](const std::string& what) { Refuse("math", "models: " + what); });
    if (form != nullptr) {
      CheckAlgorithm(*form);
      for (const FormParameter& wanted : form->parameters) CheckParameter(wanted);
      RefuseOthers(*form);
    }
    return std::move(mistakes_);
  }

 private:
  void Refuse(const char* key, std::string what, int parameter = -1) {
    mistakes_.push_back({key, parameter, std::move(what)});
  }

  // An algorithm that the form does not describe would never be chosen, or pass for one without a name.
  void CheckAlgorithm(const KernelForm& form) {
    const auto served = form.algorithms(model_.op, model_.pass);
    const std::vector<std::string> names(served.begin(), served.end());
    if (Contains(names, model_.algorithm)) return;
    Refuse("algorithm", fmt::format("model '{}': the form has no algorithm '{}' for {}{}", model_.form,
                                    model_.algorithm, launches_, DidYouMean(model_.algorithm, names)));
  }

  void CheckParameter(const FormParameter& wanted) {
    const std::vector<KernelModel::Parameter>& given = model_.parameters;
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const KernelModel::Parameter& p) { return p.name == wanted.name; });
    if (found == given.end()) {
      return Refuse("parameters",
                    fmt::format("{} lacks the parameter '{}' ({})", called_, wanted.name, wanted.meaning));
    }
    // Rates and times: a law would divide by zero or answer a time below it.
    if (found->value > 0) return;
    Refuse("parameters",
           fmt::format("{}: parameter '{}' ({}) must be more than zero", called_, wanted.name, wanted.meaning),
           static_cast<int>(found - given.begin()));
  }

  void RefuseOthers(const KernelForm& form) {
    const std::vector<std::string> names = NamesOf(form.parameters);
    for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
      const std::string& name = model_.parameters[i].name;
      if (Contains(names, name)) continue;
      Refuse("parameters", fmt::format("{}: the form has no parameter '{}'{}", called_, name, DidYouMean(name, names)),
             static_cast<int>(i));
    }
  }

  const KernelModel& model_;
  const std::string& launches_;
  std::string called_;
  std::vector<ModelMistake> mistakes_;
};

}  // namespace

std::vector<ModelMistake> MistakesOf(const KernelModel& model, const std::string& launches) {
  return ModelCheck(model, launches).Run();
}

}  // namespace spillway
