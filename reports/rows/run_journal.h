// A run that is not over yet, as text: one line of JSON that says what run it is, then one per row, with everything that
// the row holds. Reports made from rows that were read again are the same to the byte.
//
// Tested by run_journal_test.
#ifndef SPILLWAY_REPORTS_ROWS_RUN_JOURNAL_H_
#define SPILLWAY_REPORTS_ROWS_RUN_JOURNAL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/rows/result_row.h"

namespace spillway {

// What a run is: only the same one can be gone on with.
struct JournalHead {
  std::string version;
  std::string command;     // for people
  std::size_t points = 0;  // that the whole run has
  // Digests of what decides the rows, by what a message calls it: "the points", "the machines".
  std::vector<std::pair<std::string, std::string>> digests;
};

struct JournalEntry {
  ResultRow row;
  double seconds = 0;                                      // wall-clock time spent
  std::vector<std::pair<std::string, std::string>> files;  // of the point, relative to the folder, and their digests
};

// With a line feed.
std::string JournalLine(const JournalHead& head);
std::string JournalLine(const JournalEntry& entry);
// Nothing: not such a line, whole and with all fields.
std::optional<JournalHead> ReadJournalHead(std::string_view line);
std::optional<JournalEntry> ReadJournalEntry(std::string_view line);
// JournalEntry::files of a line of any version, whatever else it has or lacks; none: it names none.
std::vector<std::pair<std::string, std::string>> ReadJournalFiles(std::string_view line);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RUN_JOURNAL_H_
