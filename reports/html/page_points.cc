#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "reports/html/page.h"

namespace spillway {

namespace {

using Cells = std::vector<std::string>;

// RFC 4180: the cells of the row that begins at `at`, which ends behind it.
Cells NextRow(std::string_view text, std::size_t& at) {
  Cells cells(1);
  for (bool quoted = false; at < text.size();) {
    const char c = text[at++];
    if (c == '"' && quoted && at < text.size() && text[at] == '"') {
      cells.back() += text[at++];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (quoted || (c != ',' && c != '\n' && c != '\r')) {
      cells.back() += c;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      break;
    }
  }
  return cells;
}

std::size_t ColumnOf(const Cells& head, std::string_view name) {
  return static_cast<std::size_t>(std::find(head.begin(), head.end(), name) - head.begin());
}

// Nothing that leads out of the folder, or out of the element that holds the file.
bool IsFileName(const std::string& point) {
  return !point.empty() && point.find_first_of("/\\\"<>&\n") == std::string::npos;
}

}  // namespace

std::vector<std::string> MeasuredPoints(const std::string& validation) {
  std::size_t at = 0;
  const Cells head = NextRow(validation, at);
  const std::size_t point = ColumnOf(head, "point"), error = ColumnOf(head, "error");
  std::vector<std::pair<double, std::string>> measured;
  while (at < validation.size()) {
    const Cells cells = NextRow(validation, at);
    if (std::max(point, error) >= cells.size() || cells[error].empty() || !IsFileName(cells[point])) continue;
    measured.emplace_back(std::abs(std::strtod(cells[error].c_str(), nullptr)), cells[point]);
  }
  std::stable_sort(measured.begin(), measured.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> points;
  for (auto& [size, name] : measured) points.push_back(std::move(name));
  return points;
}

}  // namespace spillway
