// Text for people and for files: aligned tables, numbers, cells of CSV, strings of JSON.
//
// Tested by reports_test.
#ifndef SPILLWAY_REPORTS_TABLES_TEXT_H_
#define SPILLWAY_REPORTS_TABLES_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

// Aligned text.
// Columns as wide as their widest cell, two spaces apart, no trailing spaces.
//
//   TextTable t({"batch", "<strategy", "images/s"});   '<' aligns to the left, without it to the right
//   t.Row({"128", "in-core", "316"});
//   t.Line("any text");                                 not aligned, does not widen a column
//   std::string text = t.Text();
class TextTable {
 public:
  explicit TextTable(const std::vector<std::string>& columns);
  void Row(std::vector<std::string> cells);  // missing cells at the end are empty
  void Line(std::string text);
  // A row that has fewer cells than there are columns and then one text that runs to the end of the line.
  void RowThenText(std::vector<std::string> cells, std::string text);
  std::string Text() const;

 private:
  struct Entry {
    std::vector<std::string> cells;
    std::string text;
  };
  std::vector<bool> left_;
  std::vector<Entry> entries_;
};

// Characters, not bytes: UTF-8 continuation bytes do not count.
std::size_t DisplayWidth(std::string_view text);

// Three significant digits without an exponent: 3280, 328, 32.8, 3.28, 0.328.
std::string ShortNumber(double value);
std::string Percent(double fraction);  // "12 %", "-3 %"

// Exact: nanoseconds as seconds with nine digits.
std::string SecondsText(Nanos time);
// RFC 4180: quoted where a comma, a quote or a line break makes it necessary.
std::string CsvField(std::string_view text);

// A string of JSON with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_TEXT_H_
