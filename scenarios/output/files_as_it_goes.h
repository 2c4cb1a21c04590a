// Files that a command writes while it works.
//
// Tested by cli_resume_test and cli_validate_partial_test (tests/).
#ifndef SPILLWAY_SCENARIOS_OUTPUT_FILES_AS_IT_GOES_H_
#define SPILLWAY_SCENARIOS_OUTPUT_FILES_AS_IT_GOES_H_

#include <string>
#include <utility>

#include "hw/text/document.h"
#include "scenarios/output/console.h"

namespace spillway {

// One that cannot be written (the disk may be full) is said once, no more are tried, and the command goes on: what it
// finds is still printed.
class FilesAsItGoes {
 public:
  // `rest`: what is said behind it, "the run goes on without files".
  FilesAsItGoes(Console& console, std::string rest) : console_(console), rest_(std::move(rest)) {}

  // Calls `write` unless one has failed: with UserError.
  template <typename Action>
  void Try(const Action& write) {
    if (failed_) return;
    try {
      write();
    } catch (const UserError& error) {
      failed_ = true;
      if (console_.terminal) console_.Screen() << "\r\x1b[K";  // in place of the progress
      console_.err << error.what() << "; " << rest_ << "\n" << std::flush;
    }
  }
  bool failed() const { return failed_; }

 private:
  Console& console_;
  std::string rest_;
  bool failed_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_FILES_AS_IT_GOES_H_
