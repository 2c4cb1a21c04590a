// What a run is, for those that go on with one that was cut off.
#ifndef SPILLWAY_SCENARIOS_RUN_RUN_IDENTITY_H_
#define SPILLWAY_SCENARIOS_RUN_RUN_IDENTITY_H_

#include <string>

#include "reports/run_journal.h"
#include "scenarios/run/prepare.h"

namespace spillway {

// Everything that decides rows, as it was prepared: points, networks, machines, plans. The command is told, not compared:
// threads and formats change no row, and files are what is in them.
JournalHead IdentityOf(const PreparedRun& run, const std::string& version, const std::string& command);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_RUN_IDENTITY_H_
