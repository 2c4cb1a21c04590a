// What a run leaves in its folder, from its first row on, so that whoever ends it keeps what it found, SIGKILL included.
// Nothing waits for the disk: a machine that loses its power may lose more than the last row, and what was written whole.
//
//   run.journal     while it runs: one line per row as it finishes (reports/rows/run_journal.h); a run that was cut off is gone
//                   on with from it. Gone at the end: a folder without it is complete
//   run.manifest    at the end: the run's own files (output_folder.h), which the next run into the folder removes; it is
//                   there until they all are
//   run.lock        while it runs: who does (output_folder.h)
//
// Until the first row is finished nothing of an earlier run is taken away.
//
// Tested by cli_resume_test.
#ifndef SPILLWAY_SCENARIOS_RUN_RUN_FILES_H_
#define SPILLWAY_SCENARIOS_RUN_RUN_FILES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reports/rows/run_journal.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/prepare.h"

namespace spillway {

struct NamedText {
  std::string file;  // relative to the folder
  std::string text;
  bool varies = false;  // from run to run: wall-clock times
  // In place of `text`: all of it was added there.
  std::shared_ptr<FileInPieces> pieces = nullptr;
};

// All throw UserError naming the file that cannot be read or written.
class RunFiles {
 public:
  // The folder exists, and this process holds its lock.
  RunFiles(std::filesystem::path folder, JournalHead head) : folder_(std::move(folder)), head_(std::move(head)) {}

  // Of a run that was cut off there, whatever run it was: "812 of 20000 points"; "": there is none.
  std::string CutOff() const;
  // Goes on with the run that was cut off: its rows from the first one on, to be followed by what is added. Without one
  // there are none. All from the first row on whose files are not there is left out, else the last row. Refused: another
  // run than `head` says, a journal that was changed, a folder whose run is complete.
  std::vector<JournalEntry> Resume(const std::vector<Point>& points);
  // A row is finished, and these are its files.
  void Add(JournalEntry entry, const std::vector<NamedText>& texts);
  // All rows are: the files of the whole run, and the one that is made from what is there then.
  void End(const std::vector<NamedText>& texts, const std::function<NamedText(const std::filesystem::path&)>& last);

 private:
  std::filesystem::path Journal() const { return folder_ / "run.journal"; }
  std::filesystem::path Manifest() const { return folder_ / "run.manifest"; }
  void Begin();
  void RemoveOld();
  void RefuseComplete() const;
  std::size_t DoneOf(const std::vector<JournalEntry>& entries) const;
  void Keep(std::size_t count, const std::vector<std::uintmax_t>& ends, std::vector<JournalEntry>& entries);
  void OpenJournal();
  void CheckHead(const std::string& line) const;
  void Own(const std::vector<OwnFile>& files) { own_.insert(own_.end(), files.begin(), files.end()); }
  void Write(const std::vector<NamedText>& texts) const;

  std::filesystem::path folder_;
  JournalHead head_;
  std::ofstream journal_;  // open from the first row on
  std::vector<OwnFile> own_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_RUN_FILES_H_
