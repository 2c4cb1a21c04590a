// Any text is either refused with UserError or becomes a machine that survives being written and read again.
#include <cstdlib>

#include "hw/text/document.h"
#include "model/profile/machine.h"
#include "tests/fuzz/fuzz.h"

std::vector<std::string> spillway::fuzz::Seeds() { return Shortened(YamlFiles("hw")); }

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string written;
  try {
    written = MachineToYaml(spillway::ParseMachine(spillway::fuzz::Text(data, size), "fuzz.yaml"));
  } catch (const spillway::UserError&) {
    return 0;
  }
  // What was accepted once must be accepted again: an exception here is a failure.
  if (MachineToYaml(spillway::ParseMachine(written, "written.yaml")) != written) std::abort();
  return 0;
}
