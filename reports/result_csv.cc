#include "reports/result_csv.h"

#include <fmt/format.h>

namespace spillway {

namespace {

std::string Identity(const ResultRow& r) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{}", CsvField(r.scenario), CsvField(r.network), r.batch,
                     CsvField(r.precision), r.devices, CsvField(r.machine), r.memory_limit, r.memory_model,
                     CsvField(r.strategy), r.feasible ? 1 : 0, CsvField(r.reason));
}

std::string Figures(const ResultRow& r) {
  return fmt::format("{},{},{},{:.4f},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", SecondsText(r.step_time),
                     SecondsText(r.step_time_low), SecondsText(r.step_time_high), r.SamplesPerSecond(),
                     SecondsText(r.lower_bound), r.peak, r.live_peak, r.host_peak, r.classes.keep, r.classes.swap,
                     r.classes.recompute, r.bytes_out, r.bytes_in, SecondsText(r.recompute_time),
                     SecondsText(r.stall_out), SecondsText(r.stall_in), r.evaluations, r.cost_source);
}

constexpr std::string_view kNoFigures = ",,,,,,,,,,,,,,,,,";

}  // namespace

std::string SecondsText(Nanos time) {
  const Nanos magnitude = time < 0 ? -time : time;
  return fmt::format("{}{}.{:09}", time < 0 ? "-" : "", magnitude / kSecond, magnitude % kSecond);
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string ResultCsv(const ResultSet& results) {
  std::string text = std::string(kResultColumns) + "\n";
  for (const ResultRow& row : results.rows) {
    text += Identity(row) + "," + (row.feasible ? Figures(row) : std::string(kNoFigures)) + "\n";
  }
  return text;
}

}  // namespace spillway
