#include "hw/machine/shipped.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "hw/text/document.h"

namespace spillway {

namespace fs = std::filesystem;

std::vector<std::string> ListMachines() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(MachineFolder(), error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string MachineFolder() {
  const char* const home = std::getenv("SPILLWAY_HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/hw";
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = fs::path(program).replace_filename("hw");
#ifndef SPILLWAY_PORTABLE
  if (program.empty() || !fs::exists(beside / "unit.yaml", error)) return SPILLWAY_SOURCE_DIR "/hw";
#endif
  if (program.empty()) throw UserError("the program's own place cannot be read from /proc; set SPILLWAY_HOME");
  return beside.string();
}

}  // namespace spillway
