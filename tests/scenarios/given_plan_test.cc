// The plan of --plan: which points it is for.
#include <catch2/catch.hpp>

#include "scenarios/run/prepare.h"
#include "scenarios/run/prepare_internal.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

PreparedRun PrepareText(const std::string& text, const Overrides& overrides = {}) {
  Scenario scenario = ReadScenario(ParseDocument(text, "s.yaml"));
  ApplyOverrides(overrides, scenario);
  PreparedRun run;
  Prepare(scenario, overrides, run);
  return run;
}

TEST_CASE("a plan is carried out on the machine that it is for") {
  const TemporaryFolder folder("plan-machine");
  const std::string text =
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: [1, 2]}\nmachines: [unit, v100-x86-pcie3]\nstrategies: in-core\n";
  const auto machines = [&](const std::string& line, bool any = false) {
    const std::string plan = folder.Write("p.yaml", "network: cifar-resnet20\nbatch: 2\n" + line);
    std::vector<std::string> names;
    for (const Point& point : PrepareText(text, {.plan = plan, .plan_on_any_machine = any}).points) {
      CHECK(point.row.batch == 2);
      names.push_back(point.row.machine);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(machines("machine: v100-x86-pcie3\n") == Names{"v100-x86-pcie3"});
  CHECK(machines("") == Names{"unit", "v100-x86-pcie3"});
  CHECK(machines("machine: elsewhere\n", true) == Names{"unit", "v100-x86-pcie3"});
  CHECK_THROWS_WITH(machines("machine: v100-x86-pcie\n"),
                    Catch::EndsWith("p.yaml:3:10: error: machine: the plan is for 'v100-x86-pcie', and the points of "
                                    "scenario 'd' with its network and batch have unit, v100-x86-pcie3; did you mean "
                                    "'v100-x86-pcie3'?; without this line it is carried out on all of them"));
  const std::string other = folder.Write("q.yaml", "network: cifar-resnet20\nbatch: 3\nmachine: unit\n");
  CHECK_THROWS_WITH(
      PrepareText(text, {.plan = other}),
      Catch::EndsWith("q.yaml:2:8: error: batch: the plan is for '3', and the points of scenario 'd' with "
                      "its network have 1, 2"));
  const std::string network = folder.Write("n.yaml", "network: cifar-resnet2\nbatch: 3\n");
  CHECK_THROWS_WITH(PrepareText(text, {.plan = network}),
                    Catch::EndsWith("n.yaml:1:10: error: network: the plan is for 'cifar-resnet2', and the points of "
                                    "scenario 'd' have cifar-resnet20; did you mean 'cifar-resnet20'?"));
}

TEST_CASE("a plan may be for what a scenario makes of a machine, by the name that results have") {
  const TemporaryFolder folder("plan-label");
  const auto machines = [&](const std::string& machine) {
    const std::string plan =
        folder.Write("p.yaml", "network: cifar-resnet20\nbatch: 1\nmachine: \"" + machine + "\"\n");
    std::vector<std::string> names;
    for (const Point& point : PrepareText("name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nstrategies: in-core\n"
                                          "machines: [unit, {name: mine, from: unit}]\nlink: [8 GB/s, 16 GB/s]\n",
                                          {.plan = plan})
                                  .points) {
      CHECK(point.plan != nullptr);
      names.push_back(point.row.machine);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(machines("unit+link=16GB/s") == Names{"unit+link=16GB/s"});
  CHECK(machines("mine+link=8GB/s") == Names{"mine+link=8GB/s"});
  // On a link of its own, which none of these has.
  CHECK_THROWS_WITH(machines("unit"),
                    Catch::Contains("machine: the plan is for 'unit', and the points of scenario 'd' with its network "
                                    "and batch have unit+link=8GB/s, unit+link=16GB/s, mine+link=8GB/s, "));
  CHECK_THROWS_WITH(machines("unit+link=32GB/s"), Catch::Contains("have unit+link=8GB/s, unit+link=16GB/s, "));
}

TEST_CASE("a step is not built again for a plan that was read for it") {
  const TemporaryFolder folder("plan-once");
  const Overrides overrides{.plan = folder.Write("p.yaml", "network: cifar-resnet20\nbatch: 2\n")};
  PreparedRun run;
  run.keep_steps = false;
  Prepare(ReadScenario(ParseDocument("name: d\nnetwork: {zoo: cifar-resnet20, batch: [1, 2]}\nmachines: unit\n"
                                     "strategies: in-core\n",
                                     "s.yaml")),
          overrides, run);
  GivenPlan plan(overrides);
  CHECK(plan.For(run, 0, *run.machines[0]) == nullptr);
  const auto read = plan.For(run, 1, *run.machines[0]);
  REQUIRE(read != nullptr);
  run.steps[1]->options = "none";  // that it could be built by
  CHECK(plan.For(run, 1, *run.machines[0]) == read);
}

}  // namespace
}  // namespace spillway
