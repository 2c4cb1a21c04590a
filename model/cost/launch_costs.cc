#include "model/cost/launch_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hw/text/document.h"
#include "model/step/op_kind.h"

namespace spillway {
namespace {

// Looks names up, and goes on after a mistake, so that all of a profile's come to light at once.
class NameFinder {
 public:
  NameFinder(const Device& device, const std::string& machine)
      : owner_(fmt::format("machine '{}', device '{}': ", machine, device.name)) {}

  template <typename Value>
  std::optional<Value> Find(const char* what, const std::string& name, const std::string& file, Mark mark,
                            std::optional<Value> (*find)(std::string_view), const char* (*name_of)(Value), Value last) {
    const std::optional<Value> value = find(name);
    if (value) return value;
    std::vector<std::string> names;
    for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name_of(static_cast<Value>(i)));
    const std::string place = file.empty() ? "" : fmt::format("{}:{}:{}: error: ", file, mark.line, mark.column);
    mistakes_.push_back(
        fmt::format("{}{}launches: unknown {} '{}'{}", place, owner_, what, name, DidYouMean(name, names)));
    return value;
  }
  void ThrowIfAny() {
    if (!mistakes_.empty()) throw UserError(std::move(mistakes_));
  }

 private:
  std::string owner_;
  std::vector<std::string> mistakes_;
};

}  // namespace

LaunchCosts::LaunchCosts(const Device& device, const std::string& machine) {
  const HostCosts& costs = device.host_costs;
  times_.fill(costs.kernel_launch);
  NameFinder names(device, machine);
  for (const LaunchCost& cost : costs.launches) {
    const LaunchCost::Places& at = cost.places;
    const auto kind = names.Find("op", cost.op, at.file, at.op, OpKindByName, OpKindName, kLastOpKind);
    const auto pass = names.Find("pass", cost.pass, at.file, at.pass, PassByName, PassName, Pass::kUpdate);
    if (kind && pass) times_[Index(*kind, *pass)] = cost.time;
  }
  names.ThrowIfAny();
  differ_ = std::any_of(times_.begin(), times_.end(), [&](Nanos time) { return time != costs.kernel_launch; });
}

}  // namespace spillway
