#include "scenarios/cli/version.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "hw/machine/shipped.h"
#include "scenarios/cli/command.h"

namespace spillway {

namespace {

// $XDG_CACHE_HOME counts where it is an absolute path, as its specification says.
std::string CacheFolder() {
  const char* const named = std::getenv("XDG_CACHE_HOME");
  if (named != nullptr && named[0] == '/') return std::string(named) + "/spillway/plans";
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "none, for HOME is not set" : std::string(home) + "/.cache/spillway/plans";
}

}  // namespace

std::string VersionText(bool verbose) {
  const std::string commit = Commit();
  const std::string line = fmt::format("spillway {}{}", Version(), commit.empty() ? "" : " (" + commit + ")");
  if (!verbose) return line;
  return fmt::format("{}\nprofiles and scenarios: {}\ncached plans: {}\n", line,
                     std::filesystem::path(MachineFolder()).parent_path().string(), CacheFolder());
}

}  // namespace spillway
