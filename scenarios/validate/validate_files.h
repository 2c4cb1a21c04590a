// What a validation leaves in its folder while it runs, so that whoever ends it keeps what it found, SIGKILL included.
//
//   validation.csv       rows of the cases that are finished (reports/README.md)
//   validation.txt       their tables, and behind the last case the summary: what goes to standard output as a table,
//                        above it that the numbers are not to be trusted, if so
//   costs/POINT.csv      what the launches and copies of a measured plan took while it ran, as samples: for --costs
//                        (calibrate/validate/step_costs.h)
//   timelines/POINT.trace.json   a measured plan's step as it was predicted and as it ran, for Perfetto, explain and the page
//   ops/POINT.csv        its kernels and copies, predicted beside measured
//   falsification.csv    at the end, of the cases that there are
//   report.html          all of it to look at (reports/html/page.h)
//   validation.journal   what --resume goes on with (calibrate/validate/journal.h), likewise gone then
//   run.lock             while it runs: who does (scenarios/output/output_folder.h)
//   validation.partial   one line: how many of how many cases there are. Gone when all of them are: a folder without it
//                        is complete
//
// Each is replaced as a whole after each case. What an earlier validation left under these names stays until the first
// case of this one is finished; the mark says so meanwhile.
//
// Tested by cli_validate_partial_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_FILES_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_FILES_H_

#include <cstddef>
#include <filesystem>
#include <string>

#include "calibrate/validate/journal.h"
#include "calibrate/validate/results.h"

namespace spillway {

// "1 of 3 cases": what a partial validation has.
std::string CasesText(std::size_t done, std::size_t cases);

// All throw UserError naming a file that cannot be written. Without a folder ("") nothing is.
class ValidationFiles {
 public:
  explicit ValidationFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // So many are to come, of which so many are known and told next.
  void Begin(std::size_t cases, std::size_t known = 0);
  void CaseDone(const ValidationSet& set);
  void StepsOf(const FinishedCase& finished) const;
  // The set as it is with its summary; `all`: no case is missing.
  void End(const ValidationSet& set, bool all);
  // A set that is whole from the start, without models to reject: in place of all of the above.
  void Whole(const ValidationSet& set);

 private:
  void Mark(const std::string& text) const;
  void Write(const ValidationSet& set, const std::string& more) const;

  std::filesystem::path folder_;
  std::size_t cases_ = 0;
  std::string tables_;  // of the cases done
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_FILES_H_
