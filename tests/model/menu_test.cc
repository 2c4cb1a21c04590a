// Menus: every way to run a launch that a profile can name, at every grant.
#include "model/cost/menu.h"

#include <catch2/catch.hpp>
#include <set>

#include "model/kernels/kernel_form.h"
#include "model/step/training_step.h"

namespace spillway {
namespace {

constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter};

Launch Convolution(Pass pass, std::int64_t images, std::int64_t channels, std::int64_t side, std::int64_t window) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = pass;
  launch.shape.in = launch.shape.out = Shape{images, channels, 1, side, side};
  launch.shape.window = {1, window, window};
  launch.shape.pad = {0, window / 2, window / 2};
  return launch;
}

// The entry of the menu that says what the launch costs at its grant: the one of its algorithm that needs most of those
// that fit.
const MenuEntry* EntryAt(const std::vector<MenuEntry>& menu, const Launch& launch) {
  const MenuEntry* best = nullptr;
  for (const MenuEntry& entry : menu) {
    if (entry.algorithm != launch.algorithm || entry.workspace > launch.workspace) continue;
    if (best == nullptr || entry.workspace > best->workspace) best = &entry;
  }
  return best;
}

// At 60 grants by the library's choice and by each algorithm: what the costs say is what the menu has.
void CheckGrants(const CostModel& costs, Launch launch, int& compared) {
  const std::vector<MenuEntry> menu = costs.Menu(launch);
  REQUIRE_FALSE(menu.empty());
  const auto algorithms = static_cast<std::int32_t>(AlgorithmNames(launch.kind, launch.pass).size());
  for (launch.algorithm = 0; launch.algorithm <= algorithms; ++launch.algorithm) {
    Bytes grant = 0;
    for (int k = 0; k < 60; ++k, grant = grant * 3 / 2 + 512) {
      launch.workspace = grant;
      const Cost cost = costs.Kernel(launch);
      const bool runs = cost.workspace <= grant && (launch.algorithm == 0 || cost.algorithm == launch.algorithm);
      const MenuEntry* entry = EntryAt(menu, launch);
      REQUIRE((entry != nullptr) == runs);
      if (!runs) continue;
      REQUIRE(entry->cost.time == cost.time);
      REQUIRE(entry->cost.algorithm == cost.algorithm);
      REQUIRE(entry->workspace == cost.workspace);
      ++compared;
    }
  }
}

}  // namespace

TEST_CASE("a menu has what the costs say at every grant, on every machine shipped") {
  int compared = 0;
  for (const std::string& name : ListMachines()) {
    const Machine machine = LoadMachine(name);
    const CostModel costs(machine);
    for (const Pass pass : kPasses) {
      for (const std::int64_t window : {1, 3, 5}) {
        INFO(name << " " << PassName(pass) << " " << window);
        CheckGrants(costs, Convolution(pass, 32, 64, 28, window), compared);
        CheckGrants(costs, Convolution(pass, 4, 256, 14, window), compared);
      }
    }
  }
  CHECK(compared > 10'000);
}

TEST_CASE("ops without a choice have one entry") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = Shape{1, 1, 1, 1, 1000};
  const std::vector<MenuEntry> menu = costs.Menu(launch);
  REQUIRE(menu.size() == 1);
  CHECK(menu[0].algorithm == 0);
  CHECK(menu[0].workspace == 0);
  CHECK(menu[0].cost.time == costs.Kernel(launch).time);
}

TEST_CASE(
    "a measured row that fits comes before a faster model, so that more workspace may be slower: the menu has both") {
  Machine machine = LoadMachine("v100-x86-pcie3");
  const Launch launch = Convolution(Pass::kForward, 32, 64, 28, 3);
  MeasuredOp slow;
  {
    const CostModel models(machine);
    Launch winograd = launch;
    winograd.algorithm = AlgorithmByName(launch.kind, launch.pass, "gemm");
    slow.op = OpKind::kConvolution;
    slow.pass = Pass::kForward;
    slow.shape = "32x64x28x28 window 3x3 pad 1x1";
    slow.algorithm = "gemm";
    slow.time = 50 * models.Kernel(winograd).time;
    slow.workspace = kMiB;
  }
  machine.devices[0].measured.push_back(slow);
  const CostModel costs(machine);
  const std::vector<MenuEntry> menu = costs.Menu(launch);
  REQUIRE(menu.size() > 2);
  CHECK(menu[0].algorithm == 0);
  CHECK(menu[0].workspace == kMiB);
  CHECK(menu[0].cost.time == slow.time);
  CHECK(menu[1].algorithm == 0);
  CHECK(menu[1].workspace < kMiB);
  CHECK(menu[1].cost.time < slow.time);  // less workspace, faster
  int compared = 0;
  CheckGrants(costs, launch, compared);
}

TEST_CASE("the Pareto set is the fastest entry and what needs less than all faster ones") {
  const auto entry = [](std::int32_t algorithm, Bytes workspace, Nanos time) {
    MenuEntry e{algorithm, workspace, {}};
    e.cost.time = time;
    return e;
  };
  const std::vector<MenuEntry> best =
      ParetoSet({entry(1, 10, 50), entry(2, 40, 20), entry(3, 50, 20), entry(4, 0, 90), entry(5, 20, 60)});
  REQUIRE(best.size() == 3);
  CHECK(best[0].algorithm == 2);
  CHECK(best[1].algorithm == 1);
  CHECK(best[2].algorithm == 4);
  CHECK(ParetoSet({}).empty());
}

}  // namespace spillway
