// Runs into a folder that were cut off, and what they left there.
#ifndef SPILLWAY_TESTS_SCENARIOS_CUT_OFF_RUN_H_
#define SPILLWAY_TESTS_SCENARIOS_CUT_OFF_RUN_H_

#include <filesystem>
#include <map>
#include <string>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {

// Three batches, two limits, two strategies: twelve points, nine of which run.
inline std::string SweepText(const std::string& batches = "[64, 128, 200]", const std::string& more = "") {
  return "name: sweep\nnetwork: {zoo: cifar-resnet20, batch: " + batches +
         "}\nmachines: v100-x86-pcie3\nstrategies: [in-core, swap-all]\nmemory: [100 MB, 1 GB]\n" + more;
}

// Every file below the folder by its name, but run.json, which holds times.
inline std::map<std::string, std::string> FilesOf(const TemporaryFolder& folder, const std::string& name) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.Path(name))) {
    if (!entry.is_regular_file() || entry.path().filename() == "run.json") continue;
    const std::string file = std::filesystem::relative(entry.path(), folder.Path(name)).string();
    files[file] = folder.Read(name + "/" + file);
  }
  return files;
}

// A run whose last files cannot be written: what is there is what a run leaves that ends before them.
inline Outcome CutOff(const TemporaryFolder& folder, const std::string& file, const std::string& out) {
  std::filesystem::create_directories(folder.Path(out + "/results.csv/in the way"));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path(out)});
  std::filesystem::remove_all(folder.Path(out + "/results.csv"));
  return outcome;
}

// Behind the journal's head and so many rows.
inline std::size_t EndOfRows(const std::string& journal, int rows) {
  std::size_t end = 0;
  for (int line = 0; line <= rows; ++line) end = journal.find('\n', end) + 1;
  return end;
}

// The journal's head, so many rows and a piece of the next one.
inline void Tear(const TemporaryFolder& folder, const std::string& journal, int rows) {
  const std::string text = folder.Read(journal);
  folder.Write(journal, text.substr(0, EndOfRows(text, rows) + 40));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCENARIOS_CUT_OFF_RUN_H_
