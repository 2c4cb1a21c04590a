#include "model/samples/file.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "hw/text/lists.h"
#include "model/samples/csv.h"
#include "model/samples/merger.h"
#include "model/samples/sample.h"
#include "model/samples/sample_reader.h"

namespace spillway {
namespace {

constexpr std::size_t kRefusedKept = 1000;

using SampleTaker = std::function<void(Sample)>;

class FileReader {
 public:
  FileReader(const Document& document, Purpose purpose, SampleSet& set)
      : document_(document), purpose_(purpose), set_(set), errors_(document) {
    set_.files.push_back(document.file);
  }
  // Rows go to `visit` if there is one, else samples to `take`.
  void Read(const OperationVisitor& visit, const SampleTaker& take);

 private:
  std::size_t Check();
  void ReadRow(const CsvRow& cells, const ColumnMap& columns, const OperationVisitor& visit, const SampleTaker& take);
  void CountRefused();

  const Document& document_;
  Purpose purpose_;
  SampleSet& set_;
  SampleErrors errors_;
  std::map<std::string, int> refused_;  // rows by reason
};

void FileReader::ReadRow(const CsvRow& cells, const ColumnMap& columns, const OperationVisitor& visit,
                         const SampleTaker& take) {
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
  if (visit) return visit(cells, refusal.empty() ? &sample : nullptr);
  if (refusal.empty()) return take(std::move(sample));
  if (set_.refused.size() < kRefusedKept) set_.refused.push_back(std::move(sample));
}

void FileReader::CountRefused() {
  for (const auto& [reason, rows] : refused_) {
    set_.warnings.push_back(
        fmt::format("{}: warning: {} row{} {} left out", errors_.file(), rows, rows == 1 ? "" : "s", reason));
  }
}

// The number of rows. Mistakes of quotes are told before all others, or that the whole table is of another kind.
std::size_t FileReader::Check() {
  const std::size_t rows = CheckCsv(document_, errors_.diagnostics());
  if (!errors_.diagnostics().empty()) {
    SampleErrors only(document_);
    const std::string_view text = document_.text;
    const std::string_view first_line = text.substr(0, text.find_first_of("\r\n"));
    if (HasOtherSeparators(first_line, only)) only.ThrowIfAny();
  }
  errors_.ThrowIfAny();  // what is no text is not empty
  if (rows == 0) errors_.Error({}, "the file is empty; the first line names the columns");
  errors_.ThrowIfAny();
  return rows;
}

void FileReader::Read(const OperationVisitor& visit, const SampleTaker& take) {
  const std::size_t count = Check();
  CsvRows rows(document_, errors_.diagnostics());
  CsvRow row;
  rows.Next(row);
  std::vector<Column> required = {Column::kOp};
  if (purpose_ == Purpose::kResults) required = {Column::kDevice, Column::kOp, Column::kMedian};
  const ColumnMap columns(row, required, errors_, set_.warnings);
  errors_.ThrowIfAny();
  if (count == 1) errors_.Error({}, "no rows below the names of the columns");
  if (visit) visit(row, nullptr);
  while (rows.Next(row)) ReadRow(row, columns, visit, take);
  CountRefused();
  errors_.ThrowIfAny();
}

void ReadInto(const Document& document, SampleSet& set, const SampleTaker& take) {
  WithinMemory(document, [&] { FileReader(document, Purpose::kResults, set).Read(nullptr, take); });
}

}  // namespace

SampleSet ReadSamples(std::span<const std::string> paths, const SampleLimits& limits) {
  SampleSet set;
  SampleMerger merger(set, limits);
  std::vector<std::string> mistakes;
  for (const std::string& path : paths) {
    try {
      const Document document = LoadCsvText(path);
      ReadInto(document, set, [&](Sample sample) { merger.Add(std::move(sample)); });
    } catch (const UserError& error) {
      mistakes.insert(mistakes.end(), error.messages().begin(), error.messages().end());
    }
  }
  if (!mistakes.empty()) throw UserError(std::move(mistakes));
  merger.Finish();
  return set;
}

SampleSet ParseSamples(std::string text, const std::string& file) {
  const Document document{file, std::move(text), {}, {}};
  SampleSet set;
  SampleMerger merger(set);
  ReadInto(document, set, [&](Sample sample) { merger.Add(std::move(sample)); });
  merger.Finish();
  return set;
}

SampleSet ParseRows(std::string text, const std::string& file) {
  const Document document{file, std::move(text), {}, {}};
  SampleSet set;
  ReadInto(document, set, [&](Sample sample) { set.samples.push_back(std::move(sample)); });
  return set;
}

SampleSet VisitOperations(const Document& document, const OperationVisitor& visit) {
  SampleSet set;
  WithinMemory(document, [&] { FileReader(document, Purpose::kOperations, set).Read(visit, nullptr); });
  return set;
}

std::vector<std::string> Devices(const SampleSet& set) {
  std::vector<std::string> devices;
  for (const Sample& sample : set.samples) {
    AddOnce(devices, sample.device);
  }
  return devices;
}

}  // namespace spillway
