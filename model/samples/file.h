// Reading and writing of samples files (sample.h; README.md of this folder is the reference for users).
#ifndef SPILLWAY_MODEL_SAMPLES_FILE_H_
#define SPILLWAY_MODEL_SAMPLES_FILE_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/samples/csv.h"
#include "model/samples/sample.h"

namespace spillway {

struct SampleSet {
  std::vector<Sample> samples;  // in file order; of an operation that comes several times one row, its median
  // Rows with a status other than ok or slow, and without a repetition; the first thousand. Their times are 0.
  std::vector<Sample> refused;
  std::vector<std::string> warnings;  // "file:line: warning: ..."
  std::vector<std::string> files;     // Sample::file counts in these
};

// UserError with what is wrong in all files, each mistake with file:line:column, the first twenty of each file:
// unreadable or empty files, columns that are missing, twice or ragged, unknown words, malformed or impossible numbers,
// times that are missing or not positive.
// Where memory ends the file is named, too.
// Rows that repeat an operation (same device, software, harness, launch or copy, state, network) are merged to their
// median; where they disagree by more than a quarter and more than their own spreads, a warning names both lines.
// Of larger files `limits` says how many operations of a kind are taken (merger.h).
struct SampleLimits {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t kernels = kNone, copies = kNone;
};
SampleSet ReadSamples(std::span<const std::string> paths, const SampleLimits& limits = {});
SampleSet ParseSamples(std::string text, const std::string& file);
// What they do to rows that repeat an operation: the order is that of first occurrences, warnings are added.
void MergeRepeated(SampleSet& set);
// The same without merging: every row of a journal.
SampleSet ParseRows(std::string text, const std::string& file);

// Operations without results, to be estimated: neither device nor time is required, and nothing is merged or kept. Each
// row is visited as it is read, with its operation. The operation is nullptr for the header and for a row that its status
// refuses. Mistakes throw after the last row, so that rows before a mistake are visited, too. The result has warnings and
// no samples.
using OperationVisitor = std::function<void(const CsvRow& cells, const Sample* operation)>;
SampleSet VisitOperations(const Document& document, const OperationVisitor& visit);

// Names of the devices, in the order in which they first come.
std::vector<std::string> Devices(const SampleSet& set);

// All columns that some sample uses; reading it gives the same samples, `file` and `line` apart.
std::string WriteSamples(std::span<const Sample> samples);

// For files that grow row by row: the names of all columns, and one row under them; each ends with a line feed.
std::string SampleHeader();
std::string SampleLine(const Sample& sample);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_FILE_H_
