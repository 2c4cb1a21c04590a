// What `validate --resume` goes on with: the finished cases with all that judging them takes, single steps included,
// which no table has. It lies in the folder of the results, as validation.journal, until all cases are finished.
//
//   spillway validation journal 3
//   scenario 16-digit-hash summary        what it is of, one line each (JournalIdentity)
//   ...
//   case ...                              a line for each finished case: values in the order of their declaration,
//                                         numbers as hexadecimal floating point, texts with spaces and line feeds as %20
//                                         and %0A, as summaries are
//
// Whatever kills the process, all lines but perhaps the last one are whole; one that is torn, or no case, is dropped
// where it is the last.
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

// Of a point that was measured: scenarios/validate/validate_parts.h.
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
  // What the strategies' plans do with the maps, by row: plans made later, at another pace of the device, may differ.
  std::vector<ClassCounts> classes;
  // Of the strategies' rows, by the name of their point: CaseResult::steps. Not in the journal: written as it is found.
  std::vector<std::pair<std::string, std::vector<Sample>>> steps{};
  std::vector<ObservedTexts> observed{};  // likewise
};

// What has to be the same for cases of two runs to stand in one table.
struct JournalFact {
  std::string what;     // "scenario"; one word
  std::string text;     // all of it; compared by a hash
  std::string summary;  // of it, a line for people
};
using JournalIdentity = std::vector<JournalFact>;

class ValidationJournal {
 public:
  // `folder`: "" keeps nothing.
  ValidationJournal(const std::filesystem::path& folder, JournalIdentity identity);

  // The cases that an earlier run finished; none where it finished none. UserError, all differences at once: the journal
  // is of something else; it is none that this version writes; or there is none, as that run finished all cases. Whether
  // they are those that the identity has is for who knows it: CheckKnown (scenarios/validate/validate_parts.h).
  std::vector<FinishedCase> Resume();
  // Behind those resumed; the first one after no Resume begins the journal anew. UserError where it cannot be written.
  void Append(const FinishedCase& finished);
  void Remove() const;                          // all cases are finished
  std::string LineOf(std::size_t known) const;  // of a case resumed, "file:line"

 private:
  std::string Head() const;
  void CheckHead(const std::vector<std::string>& lines) const;

  std::filesystem::path path_;
  JournalIdentity identity_;
  bool begun_ = false;
};

// A line of the journal, line feed included; and back. nullopt: no such line.
std::string CaseLine(const FinishedCase& finished);
std::optional<FinishedCase> ParseCaseLine(const std::string& line);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_JOURNAL_H_
