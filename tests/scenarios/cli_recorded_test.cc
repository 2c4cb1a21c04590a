// Recorded steps from a scenario, and certificates: what a user sees.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::string Scenario(const std::string& network, const std::string& strategies = "[in-core, best]") {
  return "name: recorded\nnetwork: " + network +
         "\nmachines: unit\nlink: 12 GB/s\nruntime: arena\nmemory: 1500 MiB\nstrategies: " + strategies + "\n";
}

std::string ExampleGraph() { return std::string(SPILLWAY_SOURCE_DIR) + "/model/recorded/example.json"; }

TEST_CASE("a recorded step is planned by those who can, and the others say why not") {
  TemporaryFolder folder("recorded");
  const std::string file =
      folder.Write("s.yaml", Scenario("{graph: " + ExampleGraph() + "}", "[pooch, vdnn-dyn, ucudnn-wr, accumulate]"));
  const Outcome run = Spillway({"run", file, "--format", "json"});
  INFO(run.err);
  REQUIRE(run.status == 0);
  const auto rows = nlohmann::json::parse(run.out)["results"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["feasible"] == 1);
  CHECK(rows[0]["network"] == "small transformer");
  CHECK(rows[0]["batch"] == 16);
  CHECK(rows[0]["cost_source"] == "assumed");
  for (std::size_t k = 1; k < 4; ++k) {
    CHECK(rows[k]["feasible"] == 0);
    CHECK_THAT(rows[k]["reason"].get<std::string>(), Catch::StartsWith("recorded_step: "));
  }
}

TEST_CASE("mistakes about recorded steps") {
  TemporaryFolder folder("recorded");
  const auto complaint = [&](const std::string& network) {
    const Outcome run = Spillway({"run", folder.Write("s.yaml", Scenario(network))});
    CHECK(run.status == 2);
    return run.err;
  };
  CHECK(Contains(complaint("{graph: " + ExampleGraph() + ", batch: 8}"), "batch: not for a recorded step"));
  CHECK(Contains(complaint("{graph: none.json}"), "none.json"));
  CHECK(Contains(complaint("{zoo: vgg16, graph: none.json}"), "exactly one of zoo (a name), file and graph"));
  folder.Write("bad.json", "{\"graph\": \"g\", \"nodes\": 7}");
  const std::string several = complaint("{graph: bad.json}");
  CHECK(Contains(several, "bad.json:1:25: error: nodes: expected a list"));
  CHECK(Contains(several, "missing key 'source'"));
  folder.Write("net.json", "{\"layers\": []}");
  CHECK(Contains(complaint("{graph: net.json}"), "expected a recorded step (spillway help graph), found a network"));
  const std::string file = folder.Write("v.yaml", Scenario("{graph: " + ExampleGraph() + "}"));
  CHECK(Spillway({"validate", file, "--device", "cpu"}).status == 2);
}

TEST_CASE("plan leaves a certificate that certify believes, and no other") {
  TemporaryFolder folder("certify");
  const std::string file = folder.Write("s.yaml", Scenario("{graph: " + ExampleGraph() + "}", "best"));
  const std::string plan = folder.Path("p.yaml");
  REQUIRE(Spillway({"plan", file, "-o", plan}).status == 0);
  const Outcome good = Spillway({"certify", file, "--plan", plan});
  INFO(good.out << good.err);
  CHECK(good.status == 0);
  CHECK(Contains(good.out, "holds\n"));
  CHECK(Contains(good.out, "gap: "));
  for (const char* raw : {" ns", "KiB", " B "}) CHECK_FALSE(Contains(good.out, raw));  // units as in tables
  std::string text = folder.Read("p.yaml.certificate");
  const std::size_t bound = text.find("bound: ") + 7;
  text.replace(bound, 1, std::string(1, static_cast<char>(text[bound] + 1)));
  folder.Write("p.yaml.certificate", text);
  const Outcome more = Spillway({"certify", file, "--plan", plan});
  CHECK(more.status == 1);
  CHECK(Contains(more.out, "does not hold: its instant proves"));
  const Outcome tiny = Spillway({"certify", file, "--plan", plan, "--memory", "100 MiB"});
  CHECK(tiny.status == 3);
  CHECK(Contains(tiny.out, "no plan of whole ops, of the whole batch, fits in an arena or a pool: "));
  folder.Write("p.yaml.certificate", "bound: 3\ninstant: {op: none}\n");
  CHECK(Spillway({"certify", file, "--plan", plan}).status == 2);
}

TEST_CASE("certify: what does not fit is said of the batch parts that the plan has") {
  TemporaryFolder folder("certify-in-parts");
  const std::string file = folder.Write("s.yaml", Scenario("{zoo: vgg16, batch: 512}", "in-core"));
  const std::string plan =
      folder.Write("p.yaml", "strategy: in-core\nnetwork: vgg16\nbatch: 512\naccumulate: 8\ncapacity: 2 GiB\n");
  const Outcome roomy = Spillway({"certify", file, "--plan", plan, "--memory", "4 GiB"});
  INFO(roomy.out << roomy.err);
  CHECK(roomy.status == 3);  // not this plan; others of its step would run
  CHECK_FALSE(Contains(roomy.out, "no plan"));
  CHECK_FALSE(Contains(roomy.err, "with everything else moved out"));
  const Outcome tight = Spillway({"certify", file, "--plan", plan, "--memory", "2 GiB"});
  INFO(tight.out << tight.err);
  CHECK(tight.status == 3);
  CHECK(Contains(tight.out, "no plan of whole ops, in 8 batch parts, fits in an arena or a pool: "));
  CHECK(Contains(tight.out, "relu_conv1_2:backward alone takes 3.02 GB with"));  // without parameters
}

}  // namespace
}  // namespace spillway
