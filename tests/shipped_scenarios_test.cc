// What the shipped scenarios print, as golden texts: a change of any figure is seen and has to be approved. The grid,
// the ladder of runtimes and the 3-D networks are left out for their time; benchmarks and CI run them elsewhere.
#include <catch2/catch.hpp>
#include <sstream>

#include "scenarios/command.h"
#include "tests/golden.h"

namespace spillway {
namespace {

std::string Printed(const std::string& scenario) {
  std::ostringstream out, err;
  Console console{out, err};
  const std::string file = std::string(SPILLWAY_SOURCE_DIR) + "/scenarios/" + scenario + ".yaml";
  const int status = RunCommandLine({"run", file}, console);
  return out.str() + "exit status " + std::to_string(status) + "\n";
}

TEST_CASE("the tables of the shipped scenarios") {
  for (const char* scenario :
       {"resnet50-pcie-vs-nvlink", "pooch-fig15", "pooch-fig17", "pooch-fig19", "pooch-table3"}) {
    CHECK_GOLDEN(std::string("table-") + scenario, Printed(scenario));
  }
}

}  // namespace
}  // namespace spillway
