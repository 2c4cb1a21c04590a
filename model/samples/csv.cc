#include "model/samples/csv.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <new>
#include <system_error>

#include "hw/text/text_file.h"
#include "hw/text/units.h"

namespace spillway {
namespace {

constexpr std::size_t kLargestFile = 256 * static_cast<std::size_t>(kMiB);
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// " of 100 MB": of the text, or of the file where there was no room for the text.
std::string SizeText(const Document& document) {
  std::error_code error;
  std::uintmax_t size = document.text.size();
  if (size == 0) size = std::filesystem::file_size(document.file, error);
  return error ? "" : " of " + FormatBytes(static_cast<Bytes>(size));
}

}  // namespace

CsvRows::CsvRows(const Document& document, Diagnostics& diagnostics) : text_(document.text), diagnostics_(diagnostics) {
  if (text_.starts_with(kByteOrderMark)) Skip(kByteOrderMark.size());
}

bool CsvRows::SkipLineEnd() {
  if (AtEnd() || !AtLineEnd()) return false;
  Skip(Peek() == '\n' ? 1 : 2);
  line_begin_ = at_;
  ++line_;
  return true;
}

// Up to the next comma or line end.
std::string_view CsvRows::ReadPlain() {
  const std::size_t begin = at_;
  while (!AtLineEnd() && Peek() != ',') {
    if (Peek() == '"')
      diagnostics_.Error(Here(), "a quote within an unquoted cell; quote the cell and double the quote");
    Skip(1);
  }
  return text_.substr(begin, at_ - begin);
}

// REQUIRES: at the opening quote.
void CsvRows::ReadQuoted(CsvCell& cell) {
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

CsvCell CsvRows::ReadCell() {
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

bool CsvRows::Next(CsvRow& row) {
  row.clear();
  while (SkipLineEnd()) continue;
  if (AtEnd()) return false;
  row.push_back(ReadCell());
  while (!AtLineEnd()) {
    Skip(1);  // the comma
    row.push_back(ReadCell());
  }
  SkipLineEnd();
  return true;
}

std::size_t CheckCsv(const Document& document, Diagnostics& diagnostics) {
  if (!IsText(document.text, "a CSV text", Returns::kBeforeLineFeeds, diagnostics)) return 0;
  CsvRows rows(document, diagnostics);
  std::size_t count = 0;
  for (CsvRow row; rows.Next(row);) ++count;
  return count;
}

void WithinMemory(const Document& document, const std::function<void()>& read) {
  try {
    read();
  } catch (const std::bad_alloc&) {
    throw UserError(fmt::format("{}: error: memory ended while this file{} was read; give it in parts", document.file,
                                SizeText(document)));
  }
}

Document LoadCsvText(const std::string& path) {
  Document document{path, {}, {}, {}};
  WithinMemory(document, [&] { document.text = ReadTextFile(path, "a CSV file", kLargestFile); });
  if (document.text.size() > kLargestFile) throw UserError(fmt::format("{}: error: larger than 256 MiB", path));
  return document;
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
