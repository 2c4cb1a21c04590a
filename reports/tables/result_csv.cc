#include <fmt/format.h>

#include "reports/rows/result_columns.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

std::string CsvCell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return CsvField(*text);
  if (const auto* count = std::get_if<std::int64_t>(&cell)) return std::to_string(*count);
  if (const auto* time = std::get_if<ExactSeconds>(&cell)) return SecondsText(time->time);
  if (const auto* ratio = std::get_if<Ratio>(&cell)) return fmt::format("{:.{}f}", ratio->value, ratio->digits);
  return "";
}

std::string Line(const ResultRow& row, const Standing& standing) {
  std::string line;
  for (const ResultColumn& column : ResultColumns()) {
    line += (&column == &ResultColumns().front() ? "" : ",") + CsvCell(CellOf(column, row, standing));
  }
  return line;
}

}  // namespace

std::string ResultCsvHeader() {
  std::string header;
  for (const ResultColumn& column : ResultColumns()) header += (header.empty() ? "" : ",") + std::string(column.name);
  return header;
}

std::string ResultCsv(const ResultSet& results) {
  const std::vector<Standing> standings = Standings(results.rows);
  std::string text = ResultCsvHeader() + "\n";
  for (std::size_t i = 0; i < results.rows.size(); ++i) text += Line(results.rows[i], standings[i]) + "\n";
  return text;
}

}  // namespace spillway
