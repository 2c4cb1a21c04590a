// Comma-separated text (RFC 4180) as cells that know where they stood.
//
// A cell is quoted when it holds commas, quotes or line breaks; a quote within is doubled. Lines end with LF or CRLF;
// empty lines and a byte order mark are skipped, spaces around an unquoted cell do not count.
#ifndef SPILLWAY_MODEL_SAMPLES_CSV_H_
#define SPILLWAY_MODEL_SAMPLES_CSV_H_

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

// The rows, the header first. Reports bytes that are no text, quotes within unquoted cells, text after a closing quote
// and a quote that is never closed; all but the first of these leave the rows before and after them readable.
std::vector<CsvRow> ParseCsv(const Document& document, Diagnostics& diagnostics);

// The file's text as a Document without a tree. UserError: no such file, a directory, unreadable, above 256 MiB.
Document LoadCsvText(const std::string& path);

// A cell as it stands in a file, quoted where that is necessary to read the same text again.
std::string CsvText(std::string_view cell);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_CSV_H_
