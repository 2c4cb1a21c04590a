#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

#include "model/cost/menu.h"
#include "model/kernels/kernel_form.h"
#include "model/recorded/carried_ways.h"
#include "model/step/work_hash.h"

namespace spillway {

namespace {

// What one call is granted, as our step options say of PyTorch (model/unroll/step_options.cc).
constexpr Bytes kGrant = kGiB;

struct ByWork {
  std::size_t operator()(const Launch& launch) const { return static_cast<std::size_t>(HashOfWork(launch)); }
};

// The passes of a call, one after another. They share the workspace. The longest says what the figures rest on.
Cost Together(const std::vector<const Cost*>& parts) {
  const auto shorter = [](const Cost* a, const Cost* b) { return a->time < b->time; };
  const Cost& longest = **std::max_element(parts.begin(), parts.end(), shorter);
  if (parts.size() == 1 || longest.time == 0) return longest;
  Cost sum = longest;
  double time = 0, error = 0, shared = 0, slowed = 0;
  for (const Cost* part : parts) {
    const auto own = static_cast<double>(part->time);
    time += own;
    error += own * part->error;
    shared += own * part->shared_error;
    slowed += own * part->copy_slowdown;
    sum.workspace = std::max(sum.workspace, part->workspace);
    sum.calls = std::max(sum.calls, part->calls);
  }
  sum.time = static_cast<Nanos>(time);
  sum.error = error / time;
  sum.shared_error = shared / time;
  sum.copy_slowdown = slowed / time;
  return sum;
}

// The fastest within the grant. REQUIRES: some entry is; the fastest come first.
const Cost* Within(const std::vector<MenuEntry>& menu, Bytes grant) {
  const auto fits = [grant](const MenuEntry& entry) { return entry.workspace <= grant; };
  return &std::find_if(menu.begin(), menu.end(), fits)->cost;
}

// Grants at which some launch changes its way, each enough for all, the largest first.
std::vector<Bytes> GrantsOf(const std::vector<const std::vector<MenuEntry>*>& menus) {
  Bytes least = 0;
  std::vector<Bytes> grants;
  for (const auto* menu : menus) least = std::max(least, menu->back().workspace);
  for (const auto* menu : menus) {
    for (const MenuEntry& entry : *menu) grants.push_back(std::max(least, entry.workspace));
  }
  std::sort(grants.rbegin(), grants.rend());
  grants.erase(std::unique(grants.begin(), grants.end()), grants.end());
  return grants;
}

}  // namespace

// A framework calls the library in parts where a tensor is too large for it.
class LawWays::Menus {
 public:
  explicit Menus(const Machine& machine) : costs_(machine, {.large_calls = LargeCalls::kDivided}) {}

  // The entries within the grant that no other one beats, or the leanest. Empty: the library refuses the launch.
  const std::vector<MenuEntry>& Of(const Launch& launch) {
    const auto [known, added] = menus_.try_emplace(launch);
    if (!added) return known->second;
    std::vector<MenuEntry> menu = ParetoSet(costs_.Menu(launch));
    const auto fits = [](const MenuEntry& entry) { return entry.workspace <= kGrant; };
    const auto first = std::find_if(menu.begin(), menu.end(), fits);
    menu.erase(menu.begin(), first == menu.end() && !menu.empty() ? menu.end() - 1 : first);
    return known->second = std::move(menu);
  }

 private:
  const CostModel costs_;
  std::unordered_map<Launch, std::vector<MenuEntry>, ByWork> menus_;
};

LawWays::LawWays(const Machine& machine) : menus_(std::make_unique<Menus>(machine)) {}
LawWays::~LawWays() = default;

std::vector<Cost> LawWays::Of(const std::vector<Launch>& launches) {
  if (launches.empty()) return {Cost{.how = "no kernel"}};
  std::vector<const std::vector<MenuEntry>*> menus;
  for (const Launch& launch : launches) {
    menus.push_back(&menus_->Of(launch));
    if (menus.back()->empty()) return {};
  }
  std::vector<Cost> ways;
  for (const Bytes grant : GrantsOf(menus)) {
    std::vector<const Cost*> parts;
    for (const auto* menu : menus) parts.push_back(Within(*menu, grant));
    const Cost cost = Together(parts);
    if (ways.size() < kMostRecordedWays && (ways.empty() || cost.workspace < ways.back().workspace)) {
      ways.push_back(cost);
    }
  }
  return ways;
}

}  // namespace spillway
