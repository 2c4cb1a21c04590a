// What a run is, and by which program, for those that go on with one that was cut off.
//
// Tested by run_identity_test, cli_resume_test and cli_validate_resume_test (tests/).
#ifndef SPILLWAY_SCENARIOS_RUN_RUN_IDENTITY_H_
#define SPILLWAY_SCENARIOS_RUN_RUN_IDENTITY_H_

#include <string>

#include "reports/rows/run_journal.h"
#include "scenarios/run/prepare.h"

namespace spillway {

// Which program this is. Rows of two builds do not belong together, whatever version both say they are: one may plan or
// predict otherwise.
//
// Of the file that this process runs, read once: 16 hexadecimal digits, the same wherever a copy of it lies. "unknown"
// where the system does not show it (/proc/self/exe).
const std::string& ProgramDigest();

// Likewise of any file; "unknown": it cannot be read, or is empty.
std::string FileDigest(const std::string& path);

// Everything that decides rows, as it was prepared. What scenario, plan and network files are called decides none: it
// is what is in them, and in those that they name. (A profile in a scenario's `planned_on` is part of its rows' names.)
struct RunDigests {
  std::string points, networks, machines, plans;
};
RunDigests DigestsOf(const PreparedRun& run);

// These and the program. The command is told, not compared: threads and formats change no row.
JournalHead IdentityOf(const PreparedRun& run, const std::string& version, const std::string& command);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_RUN_IDENTITY_H_
