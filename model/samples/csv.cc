#include "model/samples/csv.h"

#include <fmt/format.h>

#include "hw/text/text_file.h"

namespace spillway {
namespace {

constexpr std::size_t kLargestFile = 256 * static_cast<std::size_t>(kMiB);
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class CsvReader {
 public:
  CsvReader(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {
    if (text_.starts_with(kByteOrderMark)) Skip(kByteOrderMark.size());
  }
  bool AtEnd() const { return at_ == text_.size(); }
  // Skips an empty line. REQUIRES: !AtEnd(), at the beginning of a line.
  bool SkipEmptyLine() { return SkipLineEnd(); }
  CsvRow ReadRow();

 private:
  char Peek() const { return text_[at_]; }
  Mark Here() const { return {line_, static_cast<int>(at_ - line_begin_) + 1}; }
  void Skip(std::size_t count) { at_ += count; }
  bool AtLineEnd() const { return AtEnd() || Peek() == '\n' || text_.substr(at_).starts_with("\r\n"); }
  bool SkipLineEnd();
  CsvCell ReadCell();
  void ReadQuoted(CsvCell& cell);
  std::string_view ReadPlain();

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
};

bool CsvReader::SkipLineEnd() {
  if (AtEnd() || !AtLineEnd()) return false;
  Skip(Peek() == '\n' ? 1 : 2);
  line_begin_ = at_;
  ++line_;
  return true;
}

// Up to the next comma or line end.
std::string_view CsvReader::ReadPlain() {
  const std::size_t begin = at_;
  while (!AtLineEnd() && Peek() != ',') {
    if (Peek() == '"')
      diagnostics_.Error(Here(), "a quote within an unquoted cell; quote the cell and double the quote");
    Skip(1);
  }
  return text_.substr(begin, at_ - begin);
}

// REQUIRES: at the opening quote.
void CsvReader::ReadQuoted(CsvCell& cell) {
  Skip(1);
  while (!AtEnd()) {
    const char c = Peek();
    if (c == '"') {
      Skip(1);
      if (AtEnd() || Peek() != '"') return;
    }
    cell.text += c;
    Skip(1);
    if (c != '\n') continue;
    line_begin_ = at_;
    ++line_;
  }
  diagnostics_.Error(cell.mark, "this quote is never closed");
}

CsvCell CsvReader::ReadCell() {
  while (!AtLineEnd() && (Peek() == ' ' || Peek() == '\t')) Skip(1);
  CsvCell cell{"", Here()};
  if (AtLineEnd() || Peek() != '"') {
    cell.text = Trimmed(ReadPlain());
    return cell;
  }
  ReadQuoted(cell);
  const Mark after = Here();
  const std::string_view rest = Trimmed(ReadPlain());
  if (!rest.empty()) diagnostics_.Error(after, fmt::format("'{}' after the closing quote; expected a comma", rest));
  return cell;
}

CsvRow CsvReader::ReadRow() {
  CsvRow row{ReadCell()};
  while (!AtLineEnd()) {
    Skip(1);  // the comma
    row.push_back(ReadCell());
  }
  SkipLineEnd();
  return row;
}

}  // namespace

std::vector<CsvRow> ParseCsv(const Document& document, Diagnostics& diagnostics) {
  std::vector<CsvRow> rows;
  if (!IsText(document.text, "a CSV text", Returns::kBeforeLineFeeds, diagnostics)) return rows;
  CsvReader reader(document.text, diagnostics);
  while (!reader.AtEnd()) {
    if (!reader.SkipEmptyLine()) rows.push_back(reader.ReadRow());
  }
  return rows;
}

Document LoadCsvText(const std::string& path) {
  std::string text = ReadTextFile(path, "a CSV file", kLargestFile);
  if (text.size() > kLargestFile) throw UserError(fmt::format("{}: error: larger than 256 MiB", path));
  return {path, std::move(text), {}, {}};
}

std::string CsvText(std::string_view cell) {
  const bool plain = cell.find_first_of(",\"\r\n") == std::string_view::npos && Trimmed(cell) == cell;
  if (plain) return std::string(cell);
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace spillway
