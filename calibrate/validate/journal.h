// The journal of a validation, from which `validate --resume` continues: the finished cases with all data needed to
// judge them, including single step times, which no table has. The file is validation.journal in the results' folder.
// It is removed when all cases are finished.
//
//   spillway validation journal 3
//   scenario 16-digit-hash summary        the validation's identity, one fact a line (JournalIdentity)
//   ...
//   case ...                              a line for each finished case: values in the order of their declaration,
//                                         numbers as hexadecimal floating point, texts with spaces and line feeds as
//                                         %20 and %0A, as summaries are
//
// If the process is killed at any moment, all lines but perhaps the last are whole. An incomplete last line is dropped.
//
// Tested by validate_journal_test and cli_validate_resume_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_JOURNAL_H_
#define SPILLWAY_CALIBRATE_VALIDATE_JOURNAL_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/validate/results.h"
#include "model/samples/sample.h"
#include "sim/plan/plan.h"

namespace spillway {

// The files of a measured point, as texts (scenarios/validate/validate_parts.h).
struct ObservedTexts {
  std::string point, trace, ops;
};

struct FinishedCase {
  ValidationCase place;
  std::vector<ValidationRow> rows;          // in order of contenders
  std::vector<std::vector<double>> models;  // by measured row: what each step model predicts, in their order
  std::vector<std::string> notes;
  Bytes reserve = -1;     // CaseResult::reserve
  std::string no_memory;  // CaseResult::no_memory
  // The classes of maps in the strategies' plans, by row. Kept because plans made later, at another pace, may differ.
  std::vector<ClassCounts> classes;
  // CaseResult::steps of the strategies' rows, by the name of their point. Not in the journal, but in files of their
  // own.
  std::vector<std::pair<std::string, std::vector<Sample>>> steps{};
  std::vector<ObservedTexts> observed{};  // also not in the journal
};

// A fact that must be equal in two runs, so that their cases may stand in one table.
struct JournalFact {
  std::string what;     // its name, one word: "scenario"
  std::string text;     // its whole text; compared by a hash
  std::string summary;  // one line for people
};
using JournalIdentity = std::vector<JournalFact>;

class ValidationJournal {
 public:
  // `folder`: "" keeps no journal.
  ValidationJournal(const std::filesystem::path& folder, JournalIdentity identity);

  // The cases that an earlier run finished, possibly none. Throws UserError with all differences if the journal has
  // another identity, if another version wrote it, or if there is no journal because that run finished all cases. The
  // caller checks that the cases belong to the scenario: CheckKnown (scenarios/validate/validate_parts.h).
  std::vector<FinishedCase> Resume();
  // Adds a case after the resumed ones. Without Resume, the first call begins the journal anew. Throws UserError if the
  // file cannot be written.
  void Append(const FinishedCase& finished);
  void Remove() const;                          // call when all cases are finished
  std::string LineOf(std::size_t known) const;  // the place of a resumed case, "file:line"

 private:
  std::string Head() const;
  void CheckHead(const std::vector<std::string>& lines) const;

  std::filesystem::path path_;
  JournalIdentity identity_;
  bool begun_ = false;
};

// The journal's line of a case, with its line feed, and the reverse. nullopt: the line is no case.
std::string CaseLine(const FinishedCase& finished);
std::optional<FinishedCase> ParseCaseLine(const std::string& line);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_JOURNAL_H_
