#include <fmt/format.h>

#include <cmath>

#include "reports/tables/text.h"
#include "reports/tables/validation.h"

namespace spillway {

namespace {

constexpr const char* kColumns =
    "network,batch,device,memory_limit_bytes,link_rate,strategy,predicted_s,measured_s,measured_spread,error,"
    "replay_error,predicted_peak_bytes,measured_peak_bytes,predicted_device_bytes,measured_device_bytes,numerics,"
    "scenario,machine,kind,stratum,feasible,reason,measured_low_s,measured_high_s,steps,kernel_error,"
    "seen_kernel_error,modelled_kernel_error,isolated_error,context_error,copy_error,gap_share,perturbation,"
    "seen_share,predicted_host_bytes,measured_host_bytes,in_rate,out_rate,duplex_factor,measured_fastest_s,"
    "products_pace,others_pace,as_calibrated_s,profile_reserve_bytes,measured_reserve_bytes,"
    "clock_mhz,lowest_clock_mhz,products_pace_applied,others_pace_applied,products_pace_meanwhile,"
    "others_pace_meanwhile,at_pace_s,tracked_s,tracked_error,load,rounds_differ,launches_differ,trusted,forward_error,"
    "recomputed_error,backward_error,point\n";

std::string Seconds(double nanos) { return nanos > 0 ? SecondsText(std::llround(nanos)) : ""; }
std::string BytesOrNothing(Bytes bytes) { return bytes > 0 ? std::to_string(bytes) : ""; }
std::string If(bool there, double value) { return there ? fmt::format("{:.6f}", value) : ""; }
std::string Megahertz(double mhz) { return mhz > 0 ? fmt::format("{:.0f}", mhz) : ""; }
// Of a ratio that is 0 where nothing was measured.
std::string LessOne(double ratio) { return If(ratio > 0, ratio - 1); }
std::string Factor(const PaceGroup& group) { return group.high > 0 ? fmt::format("{:.4f}", group.factor) : ""; }
// Bytes per nanosecond in, bytes per second out.
std::string Rate(double rate) { return fmt::format("{:.0f}", rate * 1e9); }

std::string HouseColumns(const ValidationCase& c, const ValidationRow& r) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", CsvField(c.network), c.batch,
                     CsvField(c.device), c.memory_limit, Rate(c.link.stated_rate), CsvField(r.strategy),
                     Seconds(static_cast<double>(r.predicted)), Seconds(r.measured),
                     If(r.Measured(), r.measured_spread), If(r.Measured(), r.Measured() ? r.Error() : 0),
                     LessOne(r.split.replay), BytesOrNothing(r.predicted_peak), BytesOrNothing(r.measured_peak),
                     BytesOrNothing(r.predicted_device), BytesOrNothing(r.measured_device), NumericsText(r.numerics));
}

std::string MoreColumns(const ValidationCase& c, const ValidationRow& r) {
  std::size_t steps = 0;
  for (const auto& round : r.step_times) steps += round.size();
  const ErrorSplit& s = r.split;
  const bool measured = r.Measured();
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                     CsvField(c.scenario), CsvField(c.machine), r.random ? "random" : "strategy", CsvField(r.stratum),
                     r.feasible ? 1 : 0, CsvField(r.reason), Seconds(r.measured_low), Seconds(r.measured_high), steps,
                     LessOne(s.kernels), LessOne(s.seen), LessOne(s.modelled), LessOne(s.isolated), LessOne(s.context),
                     LessOne(s.copies), If(measured, s.gaps), If(measured, s.perturbation), If(measured, s.seen_share),
                     BytesOrNothing(r.predicted_host), BytesOrNothing(r.measured_host), Rate(c.link.in_rate),
                     Rate(c.link.out_rate), fmt::format("{:.4f}", c.link.duplex_factor), Seconds(r.Fastest()),
                     Factor(c.pace.products), Factor(c.pace.others), Seconds(static_cast<double>(r.as_calibrated)),
                     c.measured_reserve >= 0 ? std::to_string(c.profile_reserve) : "",
                     c.measured_reserve >= 0 ? std::to_string(c.measured_reserve) : "", Megahertz(r.clock_mhz),
                     Megahertz(r.lowest_clock_mhz));
}

std::string AppliedText(const PaceGroup& group) { return group.high > 0 ? (group.applied ? "1" : "0") : ""; }
std::string Meanwhile(const PaceGroup& group) { return If(group.meanwhile > 0, group.meanwhile); }

std::string Trusted(const MachineNoise& noise) { return noise.Judged() ? (noise.Trusted() ? "1" : "0") : ""; }

std::string TrackColumns(const ValidationCase& c, const ValidationRow& r) {
  const MachineNoise& n = c.noise;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", AppliedText(c.pace.products),
                     AppliedText(c.pace.others), Meanwhile(c.pace.products), Meanwhile(c.pace.others),
                     Seconds(static_cast<double>(r.at_pace)), Seconds(static_cast<double>(r.tracked)),
                     If(r.tracked > 0, r.tracked_error), n.load >= 0 ? fmt::format("{:.2f}", n.load) : "",
                     If(n.rounds >= 0, n.rounds), If(n.launches >= 0, n.launches), Trusted(n), LessOne(r.split.forward),
                     LessOne(r.split.recomputed), LessOne(r.split.backward), CsvField(r.point));
}

}  // namespace

std::string ValidationCsv(const ValidationSet& set) {
  std::string text = kColumns;
  for (const ValidationRow& row : set.rows) {
    const ValidationCase& place = set.cases[static_cast<std::size_t>(row.case_index)];
    text += HouseColumns(place, row) + "," + MoreColumns(place, row) + "," + TrackColumns(place, row) + "\n";
  }
  return text;
}

std::string FalsificationCsv(const ValidationSet& set) {
  std::string text =
      "variant,median_error,worst_error,tau,full_closer,full_farther,sign_test_p,gain_low,gain_high,verdict,scaled\n";
  for (const auto* rows : {&set.falsification, &set.scaled_falsification}) {
    for (const FalsificationRow& r : *rows) {
      text += fmt::format("{},{:.6f},{:.6f},{:.4f},{},{},{:.6g},{:.6f},{:.6f},{},{}\n", CsvField(r.variant),
                          r.median_error, r.worst_error, r.tau, r.closer, r.farther, r.p, r.gain_low, r.gain_high,
                          CsvField(r.verdict), rows == &set.scaled_falsification ? 1 : 0);
    }
  }
  return text;
}

}  // namespace spillway
