// The columns of a samples file, and one row of it read by column.
#ifndef SPILLWAY_MODEL_SAMPLES_COLUMNS_H_
#define SPILLWAY_MODEL_SAMPLES_COLUMNS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/samples/csv.h"

namespace spillway {

// Units: median_us, p10_us, p90_us and host_us are microseconds; bytes, row_bytes, pitch_bytes and workspace_* bytes;
// sm_clock_mhz megahertz; sizes (n, c, d, h, w, k), windows (t, r, s), pads and strides are elements. An empty cell
// says that nothing is known, never 0. README.md of this folder says what each column means. A new column is
// a value, a name and a line there; files written before have none of it and stay readable.
// clang-format off
enum class Column : std::uint8_t {
  kDevice, kHost, kDriver, kCuda, kCudnn,
  kOp, kPass, kAlgorithm, kMath, kPrecision, kLayout,
  kN, kC, kD, kH, kW, kK, kT, kR, kS, kPad, kPadD, kPadW, kStride, kStrideD, kStrideW,
  kDilation, kDilationD, kDilationW, kGroups, kOperands,
  kOutD, kOutH, kOutW, kAccumulate,
  kBytes, kRowBytes, kPitchBytes, kDirection, kKind, kLink, kContention,
  kMedian, kP10, kP90, kSamples, kHostTime, kWorkspace, kWorkspaceLimit, kStatus,
  kDeterministic, kHeuristicRank, kSmClock,
  kHarness, kSource, kNetwork, kNote, kDate,
  kRound, kFlags, kLoad,
};
// In the order of Column, which is also the order in which they are written.
inline constexpr std::array kColumnNames = {
  "device", "host", "driver", "cuda", "cudnn",
  "op", "pass", "algorithm", "math", "precision", "layout",
  "n", "c", "d", "h", "w", "k", "t", "r", "s", "pad", "pad_d", "pad_w", "stride", "stride_d", "stride_w",
  "dilation", "dilation_d", "dilation_w", "groups", "operands", "out_d", "out_h", "out_w", "accumulate",
  "bytes", "row_bytes", "pitch_bytes", "direction", "kind", "link", "contention",
  "median_us", "p10_us", "p90_us", "samples", "host_us", "workspace_bytes", "workspace_limit", "status",
  "deterministic", "heuristic_rank", "sm_clock_mhz",
  "harness", "source", "network", "note", "date",
  "round", "flags", "load",
};
// clang-format on
static_assert(kColumnNames.size() == static_cast<std::size_t>(Column::kLoad) + 1);
constexpr const char* NameOf(Column column) { return kColumnNames[static_cast<std::size_t>(column)]; }

// What a column that is not read may be about. Which rows it changes depends on it: of a window, those of convolutions and
// pooling; of groups, those of convolutions; of a format, all.
enum class Matter : std::uint8_t { kWindow, kGroups, kFormat };
struct OtherName;  // other_names.h

// Mistakes of one file: the first twenty are told, the others counted.
class SampleErrors {
 public:
  explicit SampleErrors(const Document& document) : diagnostics_(document) {}
  void Error(Mark mark, std::string_view message);
  Diagnostics& diagnostics() { return diagnostics_; }  // for CsvRows
  const std::string& file() const { return diagnostics_.file(); }
  int count() const { return count_; }
  void ThrowIfAny() const;

 private:
  Diagnostics diagnostics_;
  int count_ = 0;
  Mark last_;
  std::string last_message_;
};

// Which cell of a row holds which column, under its own name or a usual other one (other_names.h). Reports required
// columns that are missing, all at once, columns that come twice, and cells that something else than commas separates;
// columns of other programs go to `warnings`.
class ColumnMap {
 public:
  ColumnMap(const CsvRow& header, const std::vector<Column>& required, SampleErrors& errors,
            std::vector<std::string>& warnings);
  std::size_t width() const { return width_; }
  const CsvCell* Find(const CsvRow& row, Column column) const;  // nullptr: no such column, or empty
  bool Has(Column column) const { return cells_[static_cast<std::size_t>(column)] >= 0; }
  // Columns that are not read, although what they say may change what an op costs.
  struct Unread {
    std::size_t at;
    const OtherName* about;
  };
  const std::vector<Unread>& unread() const { return unread_; }

 private:
  void Place(const CsvRow& header, std::size_t at, SampleErrors& errors, std::vector<std::string>& warnings);
  std::array<int, kColumnNames.size()> cells_;
  std::vector<Unread> unread_;
  std::size_t width_;
};

// Of a first line, as it stands, whose columns something else than commas separates, quotes or none: reports it. Whether
// it is such a line.
bool HasOtherSeparators(std::string_view first_line, SampleErrors& errors);

// One row. Getters report what is malformed and go on with a value that is safe to use.
class SampleRow {
 public:
  SampleRow(const CsvRow& row, const ColumnMap& columns, SampleErrors& errors)
      : row_(row), columns_(columns), errors_(errors) {}
  std::string Text(Column column) const;  // "" when empty
  bool Has(Column column) const { return columns_.Find(row_, column) != nullptr; }
  // Owns nothing: row, columns and errors must outlive it.
  // A whole number from min to max; `fallback` when empty.
  std::int64_t Integer(Column column, std::int64_t fallback, std::int64_t min, std::int64_t max);
  double Microseconds(Column column, bool may_be_zero);  // 0 when empty
  // Index of the text in `names`; -1 when it is none of them, which is reported, or empty, which is not.
  int Choice(Column column, const std::vector<std::string>& names) { return ChoiceOf(column, Text(column), names); }
  // The same of a word that stands for the text.
  int ChoiceOf(Column column, const std::string& word, const std::vector<std::string>& names);
  // Reports cells of columns that are not read, unless they are empty or say what is the default here.
  void RefuseUnread(Matter matter);
  // Reports all that are empty in one message: "conv needs h and w".
  void Require(std::string_view what, const std::vector<Column>& columns);
  void Error(Column column, std::string_view message);  // at the cell, or at the row where it is empty
  bool good() const { return good_; }                   // nothing was reported
  int line() const { return row_.front().mark.line; }

 private:
  const CsvRow& row_;
  const ColumnMap& columns_;
  SampleErrors& errors_;
  bool good_ = true;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_COLUMNS_H_
