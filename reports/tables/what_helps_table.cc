#include <fmt/format.h>

#include "reports/tables/tables.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

constexpr double kNanosPerMilli = 1e6;

// Milliseconds that `now` takes longer than `then`, for each of `more`.
std::string Gain(Nanos now, Nanos then, double more) {
  if (now == 0 || then == 0) return "-";
  const double gained = static_cast<double>(now - then) / kNanosPerMilli / more;
  return gained == 0 ? "0" : fmt::format("{:.2g}", gained);
}

// By how much more samples a second, as report.html has it.
std::string Percentage(Nanos now, Nanos then) {
  if (then == 0) return "does not run";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(now - then) / static_cast<double>(then));
}

std::string FreeFrom(const WhatHelps& place) {
  return place.free_from > 0 ? fmt::format("{:.3g}", place.free_from) : "-";
}

}  // namespace

std::string WhatHelpsTable(const std::vector<WhatHelps>& places, const std::vector<ResultRow>& rows) {
  if (places.empty()) return "";
  TextTable table({"<network", "batch", "<machine", "<fastest", "step s", "+GB", "faster", "ms/GB", "bound",
                   "link GB/s", "faster", "ms per GB/s", "bound", "copies free from"});
  for (const WhatHelps& place : places) {
    const ResultRow& row = rows[place.row];
    const double more = static_cast<double>(place.more) / static_cast<double>(kGB);
    const double rate = place.faster_rate - place.even_rate;  // GB/s
    table.Row({row.network, std::to_string(row.batch), row.machine, row.strategy,
               ShortNumber(static_cast<double>(row.times.step) * 1e-9), fmt::format("{:.2g}", more),
               Percentage(row.times.step, place.memory.step), Gain(row.times.step, place.memory.step, more),
               Gain(row.bounds.lower, place.memory.bound, more), fmt::format("{:.3g}", place.even_rate),
               Percentage(place.even.step, place.faster.step), Gain(place.even.step, place.faster.step, rate),
               Gain(place.even.bound, place.faster.bound, rate), FreeFrom(place)});
  }
  return "\nwhat would help: the fastest strategy, planned again with more memory and with a faster link\n"
         "+GB: more memory; faster: more throughput; ms/GB: step time saved; bound: the same saving of the lower "
         "bound\n"
         "link GB/s: rate in both directions; the next columns compare it with a link an eighth faster\n"
         "copies free from: link rate in GB/s from which swapping every feature map costs less than 1 %\n" +
         table.Text();
}

}  // namespace spillway
