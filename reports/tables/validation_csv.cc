#include <fmt/format.h>

#include <cmath>
#include <span>

#include "reports/tables/text.h"
#include "reports/tables/validation.h"

namespace spillway {

namespace {

using Case = const ValidationCase&;
using Row = const ValidationRow&;

std::string Seconds(double nanos) { return nanos > 0 ? SecondsText(std::llround(nanos)) : ""; }
std::string Seconds(Nanos nanos) { return Seconds(static_cast<double>(nanos)); }
std::string BytesOrNothing(Bytes bytes) { return bytes > 0 ? std::to_string(bytes) : ""; }
std::string If(bool there, double value) { return there ? fmt::format("{:.6f}", value) : ""; }
std::string Megahertz(double mhz) { return mhz > 0 ? fmt::format("{:.0f}", mhz) : ""; }
// Of a ratio that is 0 where nothing was measured.
std::string LessOne(double ratio) { return If(ratio > 0, ratio - 1); }
std::string Factor(const PaceGroup& group) { return group.high > 0 ? fmt::format("{:.4f}", group.factor) : ""; }
std::string Applied(const PaceGroup& group) { return group.high > 0 ? (group.applied ? "1" : "0") : ""; }
std::string Meanwhile(const PaceGroup& group) { return If(group.meanwhile > 0, group.meanwhile); }
// Bytes per nanosecond in, bytes per second out.
std::string Rate(double rate) { return fmt::format("{:.0f}", rate * 1e9); }
std::string Reserve(Case c, Bytes bytes) { return c.measured_reserve >= 0 ? std::to_string(bytes) : ""; }
std::string Trusted(const MachineNoise& noise) { return noise.Judged() ? (noise.Trusted() ? "1" : "0") : ""; }

std::size_t Steps(Row r) {
  std::size_t steps = 0;
  for (const auto& round : r.step_times) steps += round.size();
  return steps;
}

struct ValidationColumn {
  const char* name;
  const char* meaning;  // one sentence, for reports/README.md
  std::string (*of)(Case c, Row r);
};

// The point and the step.
constexpr ValidationColumn kStepColumns[] = {
    {"network", "its name", [](Case c, Row) { return CsvField(c.network); }},
    {"batch", "samples a step", [](Case c, Row) { return std::to_string(c.batch); }},
    {"device", "as it calls itself", [](Case c, Row) { return CsvField(c.device); }},
    {"memory_limit_bytes", "of device memory, planned with",
     [](Case c, Row) { return std::to_string(c.memory_limit); }},
    {"link_rate", "stated, bytes per second each way; 0: not limited",
     [](Case c, Row) { return Rate(c.link.stated_rate); }},
    {"strategy", "its label, or `random N`", [](Case, Row r) { return CsvField(r.strategy); }},
    {"predicted_s", "step time", [](Case, Row r) { return Seconds(r.predicted); }},
    {"measured_s", "step time, median of the uninstrumented steps", [](Case, Row r) { return Seconds(r.measured); }},
    {"measured_spread", "interquartile range of these steps over their median",
     [](Case, Row r) { return If(r.Measured(), r.measured_spread); }},
    {"error", "predicted_s / measured_s - 1",
     [](Case, Row r) { return If(r.Measured(), r.Measured() ? r.Error() : 0); }},
    {"replay_error", "the step simulated with its measured spans / the same step measured - 1",
     [](Case, Row r) { return LessOne(r.split.replay); }},
    {"predicted_peak_bytes", "highest arena address", [](Case, Row r) { return BytesOrNothing(r.predicted_peak); }},
    {"measured_peak_bytes", "highest byte of the arena that changed",
     [](Case, Row r) { return BytesOrNothing(r.measured_peak); }},
    {"predicted_device_bytes", "memory_limit_bytes, as the arena, and the profile's reserve",
     [](Case, Row r) { return BytesOrNothing(r.predicted_device); }},
    {"measured_device_bytes",
     "the most in use of a device's own memory, by whomever, else growth of the process without host buffers; empty "
     "where the system does not tell",
     [](Case, Row r) { return BytesOrNothing(r.measured_device); }},
    {"numerics", "against the step in-core: bitwise, the largest relative difference, or skipped",
     [](Case, Row r) { return NumericsText(r.numerics); }},
    {"scenario", "its name", [](Case c, Row) { return CsvField(c.scenario); }},
    {"machine", "profile, with the scenario's changes", [](Case c, Row) { return CsvField(c.machine); }},
    {"kind", "strategy or random", [](Case, Row r) { return std::string(r.random ? "random" : "strategy"); }},
    {"stratum", "of a random plan", [](Case, Row r) { return CsvField(r.stratum); }},
    {"feasible", "1 or 0", [](Case, Row r) { return std::string(r.feasible ? "1" : "0"); }},
    {"reason", "why it is not feasible, or the failure of its run", [](Case, Row r) { return CsvField(r.reason); }},
    {"measured_low_s", "lower end of the 95 % interval of the median, bootstrap over rounds and steps",
     [](Case, Row r) { return Seconds(r.measured_low); }},
    {"measured_high_s", "upper end", [](Case, Row r) { return Seconds(r.measured_high); }},
    {"steps", "measured", [](Case, Row r) { return std::to_string(Steps(r)); }},
};

// Where the error comes from, and the machine.
constexpr ValidationColumn kErrorColumns[] = {
    {"kernel_error", "kernels: predicted / measured spans - 1, summed",
     [](Case, Row r) { return LessOne(r.split.kernels); }},
    {"seen_kernel_error", "the same over kernels whose very launch the profile has timed",
     [](Case, Row r) { return LessOne(r.split.seen); }},
    {"modelled_kernel_error", "the same over kernels that a model answers for",
     [](Case, Row r) { return LessOne(r.split.modelled); }},
    {"isolated_error", "kernels: predicted / measured by themselves - 1: the cost model",
     [](Case, Row r) { return LessOne(r.split.isolated); }},
    {"context_error", "kernels: measured by themselves / measured spans - 1: the step around them",
     [](Case, Row r) { return LessOne(r.split.context); }},
    {"copy_error", "copies: predicted / measured spans - 1, summed",
     [](Case, Row r) { return LessOne(r.split.copies); }},
    {"gap_share", "of the step, while the compute stream stood still although all it needed was there",
     [](Case, Row r) { return If(r.Measured(), r.split.gaps); }},
    {"perturbation", "step time with spans taken / without - 1",
     [](Case, Row r) { return If(r.Measured(), r.split.perturbation); }},
    {"seen_share", "of the predicted kernel time, launches that the profile has timed",
     [](Case, Row r) { return If(r.Measured(), r.split.seen_share); }},
    {"predicted_host_bytes", "pinned memory that the plan takes",
     [](Case, Row r) { return BytesOrNothing(r.predicted_host); }},
    {"measured_host_bytes", "pinned memory that the device allocated, in whole pages",
     [](Case, Row r) { return BytesOrNothing(r.measured_host); }},
    {"in_rate", "of the link as measured, bytes per second, host to device",
     [](Case c, Row) { return Rate(c.link.in_rate); }},
    {"out_rate", "the same, device to host", [](Case c, Row) { return Rate(c.link.out_rate); }},
    {"duplex_factor", "of the link as measured",
     [](Case c, Row) { return fmt::format("{:.4f}", c.link.duplex_factor); }},
    {"measured_fastest_s", "the fastest step: the machine's speed when nothing else runs",
     [](Case, Row r) { return Seconds(r.Fastest()); }},
    {"products_pace", "kernel times now / the profile's, of convolutions and products",
     [](Case c, Row) { return Factor(c.pace.products); }},
    {"others_pace", "the same of all other kernels", [](Case c, Row) { return Factor(c.pace.others); }},
    {"as_calibrated_s", "step time predicted at the profile's own pace",
     [](Case, Row r) { return Seconds(r.as_calibrated); }},
    {"profile_reserve_bytes",
     "of a device's own memory, in use beside arenas, by the profile, as in predicted_device_bytes",
     [](Case c, Row) { return Reserve(c, c.profile_reserve); }},
    {"measured_reserve_bytes",
     "the same, the most while the case's plans trained, with context, libraries, code of the kernels loaded by then "
     "and "
     "other users: measured_device_bytes without the arena",
     [](Case c, Row) { return Reserve(c, c.measured_reserve); }},
    {"clock_mhz", "of a device that tells, its clock in the steps, median",
     [](Case, Row r) { return Megahertz(r.clock_mhz); }},
    {"lowest_clock_mhz", "the same in the slowest step", [](Case, Row r) { return Megahertz(r.lowest_clock_mhz); }},
};

// The pace while steps ran, and noise.
constexpr ValidationColumn kPaceColumns[] = {
    {"products_pace_applied",
     "1: predicted_s is at products_pace; 0: at the profile's own pace, as the factor's interval holds 1, or launches "
     "timed between the steps deny it; empty: not measured",
     [](Case c, Row) { return Applied(c.pace.products); }},
    {"others_pace_applied", "the same of others_pace", [](Case c, Row) { return Applied(c.pace.others); }},
    {"products_pace_meanwhile", "products_pace by launches timed between the steps",
     [](Case c, Row) { return Meanwhile(c.pace.products); }},
    {"others_pace_meanwhile", "the same of others_pace", [](Case c, Row) { return Meanwhile(c.pace.others); }},
    {"at_pace_s", "step time predicted at the factors measured before, applied or not",
     [](Case, Row r) { return Seconds(r.at_pace); }},
    {"tracked_s", "step time predicted at the pace of each step's own moment, median",
     [](Case, Row r) { return Seconds(r.tracked); }},
    {"tracked_error", "that prediction / the step - 1, median over steps",
     [](Case, Row r) { return If(r.tracked > 0, r.tracked_error); }},
    {"load", "most threads that wanted a core around this case, one-minute average",
     [](Case c, Row) { return c.noise.load >= 0 ? fmt::format("{:.2f}", c.noise.load) : ""; }},
    {"rounds_differ", "of one plan, largest less smallest median of a round, over their median; median over plans",
     [](Case c, Row) { return If(c.noise.rounds >= 0, c.noise.rounds); }},
    {"launches_differ", "the same of launches that were timed again and again between the rounds",
     [](Case c, Row) { return If(c.noise.launches >= 0, c.noise.launches); }},
    {"trusted", "1, or 0: nobody should believe this case's numbers (MachineNoise); empty: neither is known",
     [](Case c, Row) { return Trusted(c.noise); }},
    {"forward_error", "kernel_error of ops of the forward pass", [](Case, Row r) { return LessOne(r.split.forward); }},
    {"recomputed_error", "kernel_error of ops computed once more",
     [](Case, Row r) { return LessOne(r.split.recomputed); }},
    {"backward_error", "kernel_error of the backward pass and the update",
     [](Case, Row r) { return LessOne(r.split.backward); }},
    {"point",
     "names the files of a strategy's row that was measured: timelines/POINT.trace.json, "
     "ops/POINT.csv (reports/trace/trace.h); empty of random plans",
     [](Case, Row r) { return CsvField(r.point); }},
};

// In the order of the file. Columns are only ever added, at the end.
template <typename Each>
void ForEachColumn(const Each& each) {
  using Columns = std::span<const ValidationColumn>;
  for (const Columns columns : {Columns(kStepColumns), Columns(kErrorColumns), Columns(kPaceColumns)}) {
    for (const ValidationColumn& column : columns) each(column);
  }
}

}  // namespace

std::string ValidationCsv(const ValidationSet& set) {
  std::string text;
  const auto end_line = [&text] { text.back() = '\n'; };  // in place of the last comma
  ForEachColumn([&](const ValidationColumn& column) { text += column.name + std::string(","); });
  end_line();
  for (const ValidationRow& row : set.rows) {
    const ValidationCase& place = set.cases[static_cast<std::size_t>(row.case_index)];
    ForEachColumn([&](const ValidationColumn& column) { text += column.of(place, row) + ","; });
    end_line();
  }
  return text;
}

std::string ValidationColumnPage() {
  std::string page = "| column | meaning |\n|---|---|\n";
  ForEachColumn(
      [&](const ValidationColumn& column) { page += fmt::format("| `{}` | {} |\n", column.name, column.meaning); });
  return page;
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
