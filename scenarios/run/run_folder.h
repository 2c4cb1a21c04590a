// The folder that a run writes into while it goes on, if it has one.
//
// Tested by cli_test and cli_resume_test (tests/).
#ifndef SPILLWAY_SCENARIOS_RUN_RUN_FOLDER_H_
#define SPILLWAY_SCENARIOS_RUN_RUN_FOLDER_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/output/console.h"
#include "scenarios/output/files_as_it_goes.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/run.h"
#include "scenarios/run/run_files.h"

namespace spillway {

// Nobody else writes into the folder meanwhile. What cannot be written is told once (FilesAsItGoes).
class RunFolder {
 public:
  // `out`: "" = none. `head`: what the run is. Throws UserError where the folder cannot be made, or is in use.
  // `timelines`: whether points have their traces and memory curves, which are most of a folder's bytes.
  RunFolder(const std::string& out, const JournalHead& head, Console& console, bool timelines = true);

  // Takes the folder over. `resume`: returns the rows that a run of the same left there, of the first `points`; else says
  // what is lost.
  std::vector<JournalEntry> Begin(bool resume, const std::vector<Point>& points);
  void Add(const Point& point, const PointResult& result, const PreparedRun& run);
  void End(const ResultSet& results, const std::string& run_json);
  bool failed() const { return written_.failed(); }

 private:
  Console& console_;
  bool timelines_;
  std::filesystem::path out_;
  ResultFolder folder_;
  FolderLock lock_;  // given back before folder_: then the folder may be empty
  std::optional<RunFiles> files_;
  FilesAsItGoes written_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_RUN_FOLDER_H_
