// Names in a profile and its measured launches, matched with those that this program knows.
#ifndef SPILLWAY_MODEL_PROFILE_PROFILE_NAMES_H_
#define SPILLWAY_MODEL_PROFILE_PROFILE_NAMES_H_

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hw/text/document.h"
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

template <typename Refuse>
std::optional<OpKind> KnownOp(const std::string& name, const Refuse& refuse) {
  return KnownValue("op", name, kLastOpKind, OpKindName, refuse);
}
template <typename Refuse>
std::optional<Pass> KnownPass(const std::string& name, const Refuse& refuse) {
  return KnownValue("pass", name, Pass::kUpdate, PassName, refuse);
}

// The device whose part of a profile is read, for messages.
struct PartOwner {
  std::string device;   // "device 'gpu0'"
  std::string machine;  // "v100-x86-pcie3"
  std::string Text() const { return fmt::format("machine '{}', {}: ", machine, device); }
};

// Reads the op and the pass of one entry of `list`, "laws". A name that nobody knows is a mistake at its place.
class EntryNames {
 public:
  EntryNames(MapReader& reader, Diagnostics& diagnostics, const PartOwner& owner, const char* list)
      : reader_(reader), diagnostics_(diagnostics), owner_(fmt::format("{}{}: ", owner.Text(), list)) {}

  OpKind ReadOp() {
    op_ = reader_.RequiredString("op");
    return Known(op_.empty() ? std::nullopt : KnownOp(op_, Refusing("op"))).value_or(OpKind::kConvolution);
  }
  Pass ReadPass() {
    pass_ = reader_.RequiredString("pass");
    return Known(pass_.empty() ? std::nullopt : KnownPass(pass_, Refusing("pass"))).value_or(Pass::kForward);
  }
  // Without the key: every pass.
  std::optional<Pass> ReadPassIfAny() {
    pass_ = reader_.StringOr("pass", "");
    return pass_.empty() ? std::nullopt : KnownPass(pass_, Refusing("pass"));
  }
  // "convolution forward", as the entry says.
  std::string Text() const { return op_ + " " + pass_; }
  bool known() const { return known_; }

 private:
  std::function<void(const std::string&)> Refusing(const char* key) {
    return [this, key](const std::string& what) { diagnostics_.Error(reader_.MarkOf(key), owner_ + what); };
  }
  template <typename Value>
  std::optional<Value> Known(std::optional<Value> value) {
    known_ = known_ && value.has_value();
    return value;
  }

  MapReader& reader_;
  Diagnostics& diagnostics_;
  std::string owner_;
  std::string op_, pass_;
  bool known_ = true;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_PROFILE_PROFILE_NAMES_H_
