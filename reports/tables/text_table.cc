#include <algorithm>
#include <utility>

#include "reports/tables/text.h"

namespace spillway {

namespace {

void AppendPadded(std::string& line, const std::string& cell, std::size_t width, bool left) {
  const std::string padding(width - DisplayWidth(cell), ' ');
  line += left ? cell + padding : padding + cell;
}

void TrimRight(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

TextTable::TextTable(const std::vector<std::string>& columns) {
  Entry header;
  for (const std::string& column : columns) {
    left_.push_back(column.starts_with('<'));
    header.cells.push_back(left_.back() ? column.substr(1) : column);
  }
  entries_.push_back(std::move(header));
}

void TextTable::Row(std::vector<std::string> cells) { entries_.push_back({std::move(cells), ""}); }
void TextTable::Line(std::string text) { entries_.push_back({{}, std::move(text)}); }
void TextTable::RowThenText(std::vector<std::string> cells, std::string text) {
  entries_.push_back({std::move(cells), std::move(text)});
}

std::string TextTable::Text() const {
  std::vector<std::size_t> widths(left_.size(), 0);
  for (const Entry& entry : entries_) {
    for (std::size_t i = 0; i < entry.cells.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(entry.cells[i]));
  }
  std::string text;
  for (const Entry& entry : entries_) {
    std::string line;
    for (std::size_t i = 0; i < entry.cells.size(); ++i) {
      if (i > 0) line += "  ";
      AppendPadded(line, entry.cells[i], widths[i], left_[i]);
    }
    if (!entry.text.empty()) line += (line.empty() ? "" : "  ") + entry.text;
    TrimRight(line);
    text += line + "\n";
  }
  return text;
}

}  // namespace spillway
