#include "calibrate/sample/file.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "calibrate/sample/csv.h"
#include "calibrate/sample/ops.h"
#include "calibrate/sample/sample.h"
#include "hw/text/lists.h"

namespace spillway {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 50;
constexpr std::int64_t kMostRounds = 1'000'000;

// What a row must hold: a result, or only the operation (Operations).
enum class Purpose { kResults, kOperations };

// Of a text with "; " between them.
std::vector<std::string> PartsOf(const std::string& text) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find(kBetween, begin)) != std::string::npos; begin = end + kBetween.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

class SampleReader {
 public:
  SampleReader(SampleRow& row, Purpose purpose) : row_(row), purpose_(purpose) {}
  Sample Read();
  std::string Refusal() const;

 private:
  void ReadIdentity();
  void ReadRound();
  void ReadOldNote();
  void ReadOp();
  void ReadKernel(const OpWord& op);
  void ReadCopy();
  void ReadBytes();
  void ReadResult();
  void ReadSpread();
  void ReadLibraryWord();
  Bytes Size(Column column) { return row_.Integer(column, 0, 1, kMostBytes); }

  SampleRow& row_;
  Purpose purpose_;
  Sample sample_;
};

// Empty for a row that holds a result.
std::string SampleReader::Refusal() const {
  const std::string status = row_.Text(Column::kStatus);
  if (!status.empty() && status != "ok" && status != "slow") return "with status " + status;
  // Measurements beside others keep only what fell into the common time, which may be nothing.
  const bool none = row_.Text(Column::kSamples) == "0" && !row_.Has(Column::kMedian);
  return none ? "without a single repetition" : "";
}

void SampleReader::ReadIdentity() {
  sample_.line = row_.line();
  sample_.device = row_.Text(Column::kDevice);
  sample_.host = row_.Text(Column::kHost);
  sample_.driver = row_.Text(Column::kDriver);
  sample_.cuda = row_.Text(Column::kCuda);
  sample_.cudnn = row_.Text(Column::kCudnn);
  sample_.kind = row_.Text(Column::kKind);
  sample_.link = row_.Text(Column::kLink);
  if (row_.Has(Column::kContention)) sample_.contention = row_.Text(Column::kContention);
  sample_.harness = row_.Text(Column::kHarness);
  sample_.source = row_.Text(Column::kSource);
  sample_.network = row_.Text(Column::kNetwork);
  sample_.note = row_.Text(Column::kNote);
  sample_.date = row_.Text(Column::kDate);
  ReadRound();
}

void SampleReader::ReadRound() {
  if (!row_.Has(Column::kRound) && !row_.Has(Column::kFlags) && !row_.Has(Column::kLoad)) return ReadOldNote();
  sample_.round = static_cast<int>(row_.Integer(Column::kRound, 0, 1, kMostRounds));
  if (row_.Has(Column::kFlags)) sample_.flags = PartsOf(row_.Text(Column::kFlags));
  if (!row_.Has(Column::kLoad)) return;
  const auto load = ParseNumber(row_.Text(Column::kLoad));
  if (!load || *load < 0) return row_.Error(Column::kLoad, "load: expected a number from 0 on");
  sample_.load = *load;
}

// Journals had it in their notes before there were columns for it: "round 2; noisy; load 1.25".
void SampleReader::ReadOldNote() {
  constexpr std::string_view kRound = "round ", kLoad = "load ";
  if (!sample_.note.starts_with(kRound)) return;
  std::vector<std::string> parts = PartsOf(sample_.note);
  const auto round = ParseInteger(std::string_view(parts[0]).substr(kRound.size()));
  if (!round || *round < 1 || *round > kMostRounds) return;
  parts.erase(parts.begin());
  if (!parts.empty() && parts.back().starts_with(kLoad)) {
    const auto load = ParseNumber(std::string_view(parts.back()).substr(kLoad.size()));
    if (!load || *load < 0) return;
    sample_.load = *load;
    parts.pop_back();
  }
  sample_.round = static_cast<int>(*round);
  sample_.flags = std::move(parts);
  sample_.note = "";
}

void SampleReader::ReadOp() {
  sample_.op = row_.Text(Column::kOp);
  const int at = row_.Choice(Column::kOp, NamesOf(OpWords()));
  if (at < 0) return;
  const OpWord& op = OpWords()[static_cast<std::size_t>(at)];
  // A copy without a direction is the kernel that copies a tensor on the device.
  const bool tensor_copy = op.what == SampleKind::kCopy && !row_.Has(Column::kDirection) && row_.Has(Column::kC);
  sample_.what = tensor_copy ? SampleKind::kKernel : op.what;
  if (op.shaped || tensor_copy) {
    ReadKernel(op);
  } else if (sample_.what == SampleKind::kCopy) {
    ReadCopy();
  } else {
    sample_.algorithm = row_.Text(Column::kAlgorithm);
  }
}

void SampleReader::ReadKernel(const OpWord& op) {
  row_.Choice(Column::kKind, KernelKinds());
  ReadLaunch(row_, op, sample_);
}

void SampleReader::ReadCopy() {
  row_.Require("copy", {Column::kDirection, Column::kBytes});
  if (purpose_ == Purpose::kResults) row_.Require("a measured copy", {Column::kKind});
  row_.Choice(Column::kKind, CopyKinds());
  const int direction = row_.Choice(Column::kDirection, CopyDirections());
  if (direction >= 0) sample_.direction = CopyDirections()[static_cast<std::size_t>(direction)];
  if (sample_.kind == "pitched") row_.Require("a pitched copy", {Column::kRowBytes, Column::kPitchBytes});
}

void SampleReader::ReadBytes() {
  sample_.bytes = Size(Column::kBytes);
  sample_.row_bytes = Size(Column::kRowBytes);
  sample_.pitch_bytes = Size(Column::kPitchBytes);
}

void SampleReader::ReadSpread() {
  const bool other = sample_.what == SampleKind::kOther;  // host costs may round to nothing
  sample_.p10 = row_.Microseconds(Column::kP10, other);
  sample_.p90 = row_.Microseconds(Column::kP90, other);
  if (sample_.p10 <= 0 || sample_.p90 <= 0) return;
  if (sample_.p10 > sample_.microseconds || sample_.p90 < sample_.microseconds) {
    row_.Error(Column::kMedian, fmt::format("median_us: {} lies outside p10_us to p90_us, {} to {}",
                                            sample_.microseconds, sample_.p10, sample_.p90));
  }
  sample_.spread = (sample_.p90 - sample_.p10) / sample_.microseconds;
}

void SampleReader::ReadLibraryWord() {
  constexpr std::int64_t kMostRank = 1000, kMostMegahertz = 100'000;
  sample_.deterministic = static_cast<int>(row_.Integer(Column::kDeterministic, -1, 0, 1));
  sample_.heuristic_rank = static_cast<int>(row_.Integer(Column::kHeuristicRank, -1, 0, kMostRank));
  sample_.sm_clock_mhz = static_cast<int>(row_.Integer(Column::kSmClock, -1, 0, kMostMegahertz));
}

void SampleReader::ReadResult() {
  const bool measured = purpose_ == Purpose::kResults && sample_.what != SampleKind::kOther;
  if (measured) row_.Require("a sample", {Column::kDevice, Column::kMedian});
  sample_.microseconds = row_.Microseconds(Column::kMedian, !measured);
  if (sample_.microseconds > 0) ReadSpread();
  sample_.host_microseconds = row_.Microseconds(Column::kHostTime, true);
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  sample_.repetitions = static_cast<int>(row_.Integer(Column::kSamples, 0, 0, kMost));
}

// REQUIRES: the row has an op.
Sample SampleReader::Read() {
  ReadIdentity();
  ReadOp();
  ReadBytes();
  sample_.workspace = row_.Integer(Column::kWorkspace, kUsualWorkspace, 0, kMostBytes);
  ReadLibraryWord();
  if (Refusal().empty()) ReadResult();
  return std::move(sample_);
}

class FileReader {
 public:
  FileReader(const Document& document, Purpose purpose, SampleSet& set)
      : purpose_(purpose), set_(set), errors_(document), rows_(ParseCsv(document, errors_.diagnostics())) {
    set_.files.push_back(document.file);
  }
  void Read();

 private:
  void ReadRow(const CsvRow& cells, const ColumnMap& columns);
  void CountRefused();

  Purpose purpose_;
  SampleSet& set_;
  SampleErrors errors_;
  std::vector<CsvRow> rows_;
  std::map<std::string, int> refused_;  // rows by reason
};

void FileReader::ReadRow(const CsvRow& cells, const ColumnMap& columns) {
  if (cells.size() != columns.width()) {
    errors_.Error(cells.front().mark, fmt::format("{} fields under {} columns", cells.size(), columns.width()));
    return;
  }
  SampleRow row(cells, columns, errors_);
  if (!row.Has(Column::kOp)) {
    row.Error(Column::kOp, "no op in this row");
    return;
  }
  SampleReader reader(row, purpose_);
  Sample sample = reader.Read();
  sample.file = static_cast<int>(set_.files.size()) - 1;
  if (!row.good()) return;
  const std::string refusal = reader.Refusal();
  if (!refusal.empty()) ++refused_[refusal];
  (refusal.empty() ? set_.samples : set_.refused).push_back(std::move(sample));
}

void FileReader::CountRefused() {
  for (const auto& [reason, rows] : refused_) {
    set_.warnings.push_back(
        fmt::format("{}: warning: {} row{} {} left out", errors_.file(), rows, rows == 1 ? "" : "s", reason));
  }
}

void FileReader::Read() {
  errors_.ThrowIfAny();  // what is no text is not empty
  if (rows_.empty()) errors_.Error({}, "the file is empty; the first line names the columns");
  errors_.ThrowIfAny();
  std::vector<Column> required = {Column::kOp};
  if (purpose_ == Purpose::kResults) required = {Column::kDevice, Column::kOp, Column::kMedian};
  const ColumnMap columns(rows_.front(), required, errors_, set_.warnings);
  errors_.ThrowIfAny();
  if (rows_.size() == 1) errors_.Error({}, "no rows below the names of the columns");
  for (std::size_t i = 1; i < rows_.size(); ++i) ReadRow(rows_[i], columns);
  CountRefused();
  errors_.ThrowIfAny();
}

SampleSet ParseOne(std::string text, const std::string& file, Purpose purpose) {
  const Document document{file, std::move(text), {}, {}};
  SampleSet set;
  FileReader(document, purpose, set).Read();
  return set;
}

}  // namespace

SampleSet ReadSamples(std::span<const std::string> paths) {
  SampleSet set;
  std::vector<std::string> mistakes;
  for (const std::string& path : paths) {
    try {
      const Document document = LoadCsvText(path);
      FileReader(document, Purpose::kResults, set).Read();
    } catch (const UserError& error) {
      mistakes.insert(mistakes.end(), error.messages().begin(), error.messages().end());
    }
  }
  if (!mistakes.empty()) throw UserError(std::move(mistakes));
  MergeRepeated(set);
  return set;
}

SampleSet ParseSamples(std::string text, const std::string& file) {
  SampleSet set = ParseOne(std::move(text), file, Purpose::kResults);
  MergeRepeated(set);
  return set;
}

SampleSet ParseRows(std::string text, const std::string& file) {
  return ParseOne(std::move(text), file, Purpose::kResults);
}

SampleSet ReadOperations(const std::string& path) {
  Document document = LoadCsvText(path);
  return ParseOne(std::move(document.text), path, Purpose::kOperations);
}

SampleSet ParseOperations(std::string text, const std::string& file) {
  return ParseOne(std::move(text), file, Purpose::kOperations);
}

std::vector<std::string> Devices(const SampleSet& set) {
  std::vector<std::string> devices;
  for (const Sample& sample : set.samples) {
    AddOnce(devices, sample.device);
  }
  return devices;
}

}  // namespace spillway
