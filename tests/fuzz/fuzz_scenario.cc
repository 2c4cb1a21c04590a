// Any text is either refused with UserError or becomes a scenario with something to run.
#include <cstdlib>

#include "scenarios/file/scenario.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> spillway::fuzz::Seeds() { return YamlFiles("scenarios"); }

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    spillway::Document document = spillway::ParseDocument(spillway::fuzz::Text(data, size), "fuzz.yaml");
    spillway::Scenario scenario = spillway::ReadScenario(document);
    if (scenario.networks.empty() || scenario.machines.empty() || scenario.strategies.empty()) std::abort();
  } catch (const spillway::UserError&) {
  }
  return 0;
}
