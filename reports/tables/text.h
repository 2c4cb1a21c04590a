// Text for people and for files: aligned tables, strings of JSON.
#ifndef SPILLWAY_REPORTS_TABLES_TEXT_H_
#define SPILLWAY_REPORTS_TABLES_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

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

// Strings for JSON written by streaming; escaping is the library's, never our own.
// With its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_TEXT_H_
