// The models of a profile, matched with the forms, ops, passes and algorithms that this program knows.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "hw/text/lists.h"
#include "model/cost/model_cost.h"
#include "model/profile/profile_names.h"
#include "model/step/op_kind.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

std::uint64_t IdentityOf(const KernelModel& model) {
  Hasher hash;
  hash.Add(model.form).Add(model.op).Add(model.pass).Add(model.algorithm).Add(model.math);
  for (const KernelModel::Parameter& p : model.parameters) hash.Add(std::bit_cast<std::uint64_t>(p.value));
  return hash.Value();
}

// Goes on after a mistake, so that all of a profile's come to light at once.
class Resolver {
 public:
  Resolver(const Device& device, const std::string& machine)
      : owner_(fmt::format("machine '{}', device '{}': ", machine, device.name)) {}

  ResolvedModel Resolve(const KernelModel& model) {
    model_ = &model;
    const KernelModel::Places& at = model.places;
    ResolvedModel m;
    m.model = &model;
    m.form = Form();
    const auto refusing = [this](Mark mark) {
      return [this, mark](const std::string& what) { Refuse(mark, "models: " + what); };
    };
    const auto kind = KnownValue("op", model.op, kLastOpKind, OpKindName, refusing(at.op));
    const auto pass = KnownValue("pass", model.pass, Pass::kUpdate, PassName, refusing(at.pass));
    const auto math = KnownValue("math", model.math, MathMode::kBf16, MathModeName, refusing(at.math));
    m.kind = kind.value_or(m.kind);
    m.pass = pass.value_or(m.pass);
    m.math = math.value_or(m.math);
    if (m.form != nullptr && kind && pass) m.algorithm = Algorithm(m);
    if (m.form != nullptr) m.parameters = ParametersInOrder(*m.form);
    m.group = IdentityOf(model);
    return m;
  }

  // UserError with all mistakes in the order of the file.
  void ThrowIfAny() {
    if (mistakes_.empty()) return;
    std::stable_sort(mistakes_.begin(), mistakes_.end(), [](const Mistake& a, const Mistake& b) {
      return std::tie(a.mark.line, a.mark.column) < std::tie(b.mark.line, b.mark.column);
    });
    std::vector<std::string> messages;
    for (const Mistake& mistake : mistakes_) messages.push_back(mistake.message);
    throw UserError(std::move(messages));
  }

 private:
  struct Mistake {
    Mark mark;
    std::string message;
  };

  void Refuse(Mark mark, const std::string& what) {
    const std::string& file = model_->places.file;
    const std::string place = file.empty() ? "" : fmt::format("{}:{}:{}: error: ", file, mark.line, mark.column);
    mistakes_.push_back({mark, place + owner_ + what});
  }

  const KernelForm* Form() {
    const KernelForm* const form = FindKernelForm(model_->form);
    if (form == nullptr) {
      Refuse(model_->places.form,
             fmt::format("unknown kernel form '{}'{}", model_->form, DidYouMean(model_->form, NamesOf(KernelForms()))));
    }
    return form;
  }

  // An algorithm that the form does not describe would never be chosen, or pass for one without a name.
  std::int32_t Algorithm(const ResolvedModel& m) {
    const std::string& name = model_->algorithm;
    const auto served = m.form->algorithms(m.kind, m.pass);
    const std::vector<std::string> names(served.begin(), served.end());
    if (Contains(names, name)) return AlgorithmByName(m.kind, m.pass, name);
    Refuse(model_->places.algorithm, fmt::format("model '{}': the form has no algorithm '{}' for {} {}{}", model_->form,
                                                 name, model_->op, model_->pass, DidYouMean(name, names)));
    return 0;
  }

  std::vector<double> ParametersInOrder(const KernelForm& form) {
    std::vector<double> values;
    for (const FormParameter& wanted : form.parameters) values.push_back(Value(wanted));
    RefuseOthers(form);
    return values;
  }

  double Value(const FormParameter& wanted) {
    const std::vector<KernelModel::Parameter>& given = model_->parameters;
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const KernelModel::Parameter& p) { return p.name == wanted.name; });
    if (found == given.end()) {
      Refuse(model_->places.parameters,
             fmt::format("{} lacks the parameter '{}' ({})", Called(), wanted.name, wanted.meaning));
      return 0;
    }
    // Rates and times: a law would divide by zero or answer a time below it.
    if (found->value <= 0) {
      Refuse(found->mark,
             fmt::format("{}: parameter '{}' ({}) must be more than zero", Called(), wanted.name, wanted.meaning));
    }
    return found->value;
  }

  void RefuseOthers(const KernelForm& form) {
    const std::vector<std::string> names = NamesOf(form.parameters);
    for (const KernelModel::Parameter& p : model_->parameters) {
      if (Contains(names, p.name)) continue;
      Refuse(p.mark, fmt::format("{}: the form has no parameter '{}'{}", Called(), p.name, DidYouMean(p.name, names)));
    }
  }

  std::string Called() const { return fmt::format("model '{}' for {} {}", model_->form, model_->op, model_->pass); }

  std::string owner_;
  const KernelModel* model_ = nullptr;  // being resolved
  std::vector<Mistake> mistakes_;
};

}  // namespace

std::vector<ResolvedModel> ResolveModels(const Device& device, const std::string& machine) {
  Resolver resolver(device, machine);
  std::vector<ResolvedModel> resolved;
  for (const KernelModel& model : device.models) resolved.push_back(resolver.Resolve(model));
  resolver.ThrowIfAny();
  return resolved;
}

}  // namespace spillway
