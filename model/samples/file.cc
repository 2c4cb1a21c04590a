#include "model/samples/file.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "hw/text/lists.h"
#include "model/samples/csv.h"
#include "model/samples/sample.h"
#include "model/samples/sample_reader.h"

namespace spillway {
namespace {

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
