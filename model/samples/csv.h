// Comma-separated text (RFC 4180) as cells that know where they stood.
//
// A cell is quoted when it holds commas, quotes or line breaks; a quote within is doubled. Lines end with LF or CRLF;
// empty lines and a byte order mark are skipped, spaces around an unquoted cell do not count.
#ifndef SPILLWAY_MODEL_SAMPLES_CSV_H_
#define SPILLWAY_MODEL_SAMPLES_CSV_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/text/document.h"

namespace spillway {

struct CsvCell {
  std::string text;
  Mark mark;  // of its first character, the quote included
};
using CsvRow = std::vector<CsvCell>;  // at least one cell

// Row by row, so that a table takes no more memory than its text and one row. Both arguments must outlive it.
// REQUIRES: the text is one, by IsText.
class CsvRows {
 public:
  CsvRows(const Document& document, Diagnostics& diagnostics);
  bool Next(CsvRow& row);  // false: there are no more

 private:
  char Peek() const { return text_[at_]; }
  Mark Here() const { return {line_, static_cast<int>(at_ - line_begin_) + 1}; }
  void Skip(std::size_t count) { at_ += count; }
  bool AtEnd() const { return at_ == text_.size(); }
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

// How many rows there are, the header among them. Reports bytes that are no text, quotes within unquoted cells, text after
// a closing quote and a quote that is never closed. All but the first leave the rows before and after them readable.
std::size_t CheckCsv(const Document& document, Diagnostics& diagnostics);

// Carries out what reads the document. UserError with the file's name and size where memory ends meanwhile.
void WithinMemory(const Document& document, const std::function<void()>& read);

// The file's text as a Document without a tree. UserError: no such file, a directory, unreadable, above 256 MiB.
Document LoadCsvText(const std::string& path);

// A cell as it stands in a file, quoted where that is necessary to read the same text again.
std::string CsvText(std::string_view cell);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_CSV_H_
