#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "model/cost/library_limits.h"
#include "model/cost/menu.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/machine.h"
#include "model/unroll/unroll.h"
#include "reports/tables/text.h"
#include "scenarios/cli/show.h"

namespace spillway {

namespace {

struct Convolutions {
  const Op* first = nullptr;
  int times = 0;
};

// Ops with a choice of algorithm, equal ones together.
std::vector<Convolutions> KindsOfConvolutions(const TrainingStep& step) {
  std::vector<Convolutions> kinds;
  for (const Op& op : step.ops) {
    const Launch launch = LaunchOf(op);
    if (AlgorithmNames(launch.kind, launch.pass).empty()) continue;
    const auto same =
        std::find_if(kinds.begin(), kinds.end(), [&](const Convolutions& k) { return LaunchOf(*k.first) == launch; });
    if (same == kinds.end()) {
      kinds.push_back({&op, 1});
    } else {
      ++same->times;
    }
  }
  return kinds;
}

// A grant of workspace that some framework gives, and the options that grant it: "8 MiB by plain, chainer".
struct UsualGrant {
  Bytes workspace = 0;
  std::string options;
};

std::vector<UsualGrant> UsualGrants() {
  std::vector<UsualGrant> grants;
  for (const StepOptions& options : StepOptionTable()) {
    const auto same = std::find_if(grants.begin(), grants.end(),
                                   [&](const UsualGrant& g) { return g.workspace == options.workspace_limit; });
    if (same == grants.end()) {
      grants.push_back({options.workspace_limit, options.name});
    } else {
      same->options += std::string(", ") + options.name;
    }
  }
  return grants;
}

bool IsEntry(const MenuEntry& entry, const Cost& cost) {
  return entry.cost.algorithm == cost.algorithm && entry.cost.time == cost.time &&
         entry.cost.workspace == cost.workspace;
}

// What no other entry beats in both workspace and time, and what a run takes, the fastest first.
std::vector<MenuEntry> EntriesToShow(const CostModel& costs, const Launch& launch, const std::vector<Cost>& taken) {
  const std::vector<MenuEntry> menu = costs.Menu(launch);
  std::vector<MenuEntry> entries = ParetoSet(menu);
  for (const Cost& cost : taken) {
    const auto is = [&cost](const MenuEntry& entry) { return IsEntry(entry, cost); };
    if (std::any_of(entries.begin(), entries.end(), is)) continue;
    const auto found = std::find_if(menu.begin(), menu.end(), is);
    entries.push_back(found != menu.end() ? *found : MenuEntry{0, cost.workspace, cost});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const MenuEntry& a, const MenuEntry& b) { return a.cost.time < b.cost.time; });
  return entries;
}

// The rows of one kind. Returns why the library refuses it, and adds none; "": it does not.
std::string AddRows(const Convolutions& kind, const CostModel& costs, const std::vector<UsualGrant>& grants,
                    TextTable& table) {
  Launch launch = LaunchOf(*kind.first);
  std::vector<Cost> taken;
  for (const UsualGrant& grant : grants) {
    launch.workspace = grant.workspace;
    taken.push_back(costs.Kernel(launch));
  }
  std::string name = kind.first->name, times = std::to_string(kind.times);
  if (taken.front().calls == 0) {
    return LargeTensorRefusal(launch, CudnnVersion(costs.machine().devices[0]), name) + "\n";
  }
  for (const MenuEntry& entry : EntriesToShow(costs, LaunchOf(*kind.first), taken)) {
    std::string with;
    for (std::size_t i = 0; i < grants.size(); ++i) {
      if (IsEntry(entry, taken[i])) with += (with.empty() ? "" : ", ") + FormatBytesExact(grants[i].workspace);
    }
    table.Row({name, times, AlgorithmName(launch.kind, launch.pass, entry.cost.algorithm),
               FormatDuration(entry.cost.time), FormatBytes(entry.workspace), entry.cost.how, with});
    name = times = "";
  }
  return "";
}

}  // namespace

std::string ShowMenu(const ShowAsked& asked, const std::function<Network()>& build) {
  if (asked.machine.empty()) throw UserError("show menu: --machine says whose; `spillway list machines` has them");
  const Machine machine = LoadMachine(asked.machine);
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(build());
  const std::vector<UsualGrant> grants = UsualGrants();
  std::string refused;
  TextTable table({"<op", "times", "<algorithm", "time", "workspace", "<how", "<taken with"});
  const std::vector<Convolutions> kinds = KindsOfConvolutions(step);
  for (const Convolutions& kind : kinds) refused += AddRows(kind, costs, grants, table);
  std::string said;
  for (const UsualGrant& grant : grants) {
    said +=
        fmt::format("{}{} by options {}", said.empty() ? "" : "; ", FormatBytesExact(grant.workspace), grant.options);
  }
  return fmt::format(
             "{} at batch {} on {}: what runs its {} kinds of convolutions, the fastest first\n"
             "taken with: the workspace granted where no plan says otherwise, {}\n\n",
             asked.name, asked.batch, machine.name, kinds.size(), said) +
         table.Text() + refused;
}

}  // namespace spillway
