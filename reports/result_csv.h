// results.csv: the contract that scripts rely on. Its columns: reports/result_columns.h.
#ifndef SPILLWAY_REPORTS_RESULT_CSV_H_
#define SPILLWAY_REPORTS_RESULT_CSV_H_

#include <string>
#include <string_view>

#include "reports/result.h"

namespace spillway {

std::string ResultCsv(const ResultSet& results);  // header and one line per row; nothing where there is no figure
std::string ResultCsvHeader();                    // the names, without the end of the line

// Exact: nanoseconds as seconds with nine digits.
std::string SecondsText(Nanos time);
// RFC 4180: quoted where a comma, a quote or a line break makes it necessary.
std::string CsvField(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_RESULT_CSV_H_
