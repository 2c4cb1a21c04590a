// Names in a profile and its measured launches, matched with those that this program knows.
#ifndef SPILLWAY_MODEL_PROFILE_PROFILE_NAMES_H_
#define SPILLWAY_MODEL_PROFILE_PROFILE_NAMES_H_

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/text/document.h"
#include "model/profile/machine.h"
#include "model/step/op_kind.h"
#include "model/step/tensor.h"

namespace spillway {

// The value up to `last` that is called so. nullopt: none is, which `refuse` is told, with the nearest of their names.
template <typename Value, typename Refuse>
std::optional<Value> KnownValue(const char* what, const std::string& name, Value last, const char* (*name_of)(Value),
                                const Refuse& refuse) {
  const std::optional<Value> value = ValueByName(name, last, name_of);
  if (value) return value;
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name_of(static_cast<Value>(i)));
  refuse(fmt::format("unknown {} '{}'{}", what, name, DidYouMean(name, names)));
  return value;
}

// Goes on after a mistake, so that all of a list's come to light at once.
class ProfileNames {
 public:
  // `list`: as the profile calls it, "laws".
  ProfileNames(const Device& device, const std::string& machine, const char* list)
      : owner_(fmt::format("machine '{}', device '{}': {}: ", machine, device.name, list)) {}

  // nullopt: nobody knows it, which is kept with its place and the nearest name.
  std::optional<OpKind> Op(const std::string& name, const std::string& file, Mark mark) {
    return KnownValue("op", name, kLastOpKind, OpKindName, [&](const std::string& what) { Refuse(file, mark, what); });
  }
  std::optional<spillway::Pass> Pass(const std::string& name, const std::string& file, Mark mark) {
    return KnownValue("pass", name, spillway::Pass::kUpdate, PassName,
                      [&](const std::string& what) { Refuse(file, mark, what); });
  }
  void Refuse(const std::string& file, Mark mark, const std::string& what) {
    const std::string place = file.empty() ? "" : fmt::format("{}:{}:{}: error: ", file, mark.line, mark.column);
    mistakes_.push_back(place + owner_ + what);
  }
  // UserError with all that was refused.
  void ThrowIfAny() {
    if (!mistakes_.empty()) throw UserError(std::move(mistakes_));
  }

 private:
  std::string owner_;
  std::vector<std::string> mistakes_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_PROFILE_NAMES_H_
