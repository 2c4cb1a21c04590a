// results.csv: the contract that scripts rely on.
#ifndef SPILLWAY_REPORTS_RESULT_CSV_H_
#define SPILLWAY_REPORTS_RESULT_CSV_H_

#include <string>
#include <string_view>

#include "reports/result.h"

namespace spillway {

// Columns are only ever added, at the end. The numbers of a row that is not feasible are empty.
inline constexpr std::string_view kResultColumns =
    "scenario,network,batch,precision,devices,machine,memory_limit_bytes,memory_model,strategy,feasible,reason,"
    "step_time_s,step_time_low_s,step_time_high_s,samples_per_second,lower_bound_s,peak_bytes,live_peak_bytes,"
    "host_peak_bytes,keep,swap,recompute,bytes_out,bytes_in,recompute_time_s,stall_out_s,stall_in_s,evaluations,"
    "cost_source";

std::string ResultCsv(const ResultSet& results);  // header and one line per row

// Exact: nanoseconds as seconds with nine digits.
std::string SecondsText(Nanos time);
// RFC 4180: quoted where a comma, a quote or a line break makes it necessary.
std::string CsvField(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_RESULT_CSV_H_
