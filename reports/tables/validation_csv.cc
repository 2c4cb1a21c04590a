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
std::string Measured(Case c, std::string text) { return c.carried ? "" : std::move(text); }
std::string Reserve(Case c, Bytes bytes) { return c.measured_reserve >= 0 ? std::to_string(bytes) : ""; }
std::string Trusted(const MachineNoise& noise) { return noise.Judged() ? (noise.Trusted() ? "1" : "0") : ""; }

std::size_t Steps(Row r) {
  std::size_t steps = 0;
  for (const auto& round : r.step_times) steps += round.size();
  return steps;
}

struct ValidationColumn {
  const char* name;
  const char* meaning;  // short clauses, for reports/README.md
  std::string (*of)(Case c, Row r);
};

// The point and the step.
constexpr ValidationColumn kStepColumns[] = {
    {"network", "name of the network", [](Case c, Row) { return CsvField(c.network); }},
    {"batch", "samples in a training step", [](Case c, Row) { return std::to_string(c.batch); }},
    {"device", "name that the device reports", [](Case c, Row) { return CsvField(c.device); }},
    {"memory_limit_bytes", "device memory that the plan may use",
     [](Case c, Row) { return std::to_string(c.memory_limit); }},
    {"link_rate", "stated rate of the link, bytes per second each way; 0: not limited",
     [](Case c, Row) { return Rate(c.link.stated_rate); }},
    {"strategy", "label of the strategy, or `random N`", [](Case, Row r) { return CsvField(r.strategy); }},
    {"predicted_s", "predicted step time", [](Case, Row r) { return Seconds(r.predicted); }},
    {"measured_s", "measured step time, median of the steps that ran without instruments",
     [](Case, Row r) { return Seconds(r.measured); }},
    {"measured_spread", "interquartile range of the same steps over their median",
     [](Case, Row r) { return If(r.Measured(), r.measured_spread); }},
    {"error", "predicted_s / measured_s - 1",
     [](Case, Row r) { return If(r.Measured(), r.Measured() ? r.Error() : 0); }},
    {"replay_error",
     "error of the simulator alone: the step simulated with its measured spans / the same step measured - 1",
     [](Case, Row r) { return LessOne(r.split.replay); }},
    {"predicted_peak_bytes", "highest arena address of the plan; carried out by PyTorch: most bytes live at once",
     [](Case, Row r) { return BytesOrNothing(r.predicted_peak); }},
    {"measured_peak_bytes",
     "highest byte of the arena that the steps changed; carried out by PyTorch: most bytes of storages counted",
     [](Case, Row r) { return BytesOrNothing(r.measured_peak); }},
    {"predicted_device_bytes", "arena (memory_limit_bytes) plus the profile's reserve",
     [](Case, Row r) { return BytesOrNothing(r.predicted_device); }},
    {"measured_device_bytes",
     "most device memory in use, by all processes; if the device has no memory of its own, growth of the process "
     "without host buffers; empty where the system reports neither",
     [](Case, Row r) { return BytesOrNothing(r.measured_device); }},
    {"numerics", "result compared with the step in-core: bitwise (equal), the largest relative difference, or skipped",
     [](Case, Row r) { return NumericsText(r.numerics); }},
    {"scenario", "name of the scenario", [](Case c, Row) { return CsvField(c.scenario); }},
    {"machine", "name of the machine profile, with the scenario's changes to it",
     [](Case c, Row) { return CsvField(c.machine); }},
    {"kind", "kind of the plan: strategy or random",
     [](Case, Row r) { return std::string(r.random ? "random" : "strategy"); }},
    {"stratum", "stratum that a random plan was drawn from", [](Case, Row r) { return CsvField(r.stratum); }},
    {"feasible", "1: the plan runs within memory_limit_bytes; 0: the row has no plan that runs",
     [](Case, Row r) { return std::string(r.feasible ? "1" : "0"); }},
    {"reason", "why the row is not feasible, or why its run failed", [](Case, Row r) { return CsvField(r.reason); }},
    {"measured_low_s", "lower end of the 95 % interval of measured_s, by bootstrap over rounds and steps",
     [](Case, Row r) { return Seconds(r.measured_low); }},
    {"measured_high_s", "upper end of the same interval", [](Case, Row r) { return Seconds(r.measured_high); }},
    {"steps", "number of measured steps", [](Case, Row r) { return std::to_string(Steps(r)); }},
};

// Where the error comes from, and the machine.
constexpr ValidationColumn kErrorColumns[] = {
    {"kernel_error", "sum of predicted kernel times / sum of their measured spans - 1",
     [](Case, Row r) { return LessOne(r.split.kernels); }},
    {"seen_kernel_error", "kernel_error of kernels whose launch the profile has timed",
     [](Case, Row r) { return LessOne(r.split.seen); }},
    {"modelled_kernel_error", "kernel_error of kernels whose time comes from a model",
     [](Case, Row r) { return LessOne(r.split.modelled); }},
    {"isolated_error", "error of the cost model: predicted kernel times / times of the same kernels measured alone - 1",
     [](Case, Row r) { return LessOne(r.split.isolated); }},
    {"context_error", "effect of the surrounding step: times of kernels measured alone / their spans in the step - 1",
     [](Case, Row r) { return LessOne(r.split.context); }},
    {"copy_error", "sum of predicted copy times / sum of their measured spans - 1",
     [](Case, Row r) { return LessOne(r.split.copies); }},
    {"gap_share", "share of the step in which the compute stream was idle although all its inputs were there",
     [](Case c, Row r) { return If(r.Measured() && !c.carried, r.split.gaps); }},
    {"perturbation", "cost of the instruments: step time with spans taken / step time without - 1",
     [](Case c, Row r) { return If(r.Measured() && !c.carried, r.split.perturbation); }},
    {"seen_share", "share of the predicted kernel time in launches that the profile has timed",
     [](Case c, Row r) { return If(r.Measured() && !c.carried, r.split.seen_share); }},
    {"predicted_host_bytes", "pinned host memory that the plan needs",
     [](Case, Row r) { return BytesOrNothing(r.predicted_host); }},
    {"measured_host_bytes", "pinned host memory that the device allocated, in whole pages",
     [](Case, Row r) { return BytesOrNothing(r.measured_host); }},
    {"in_rate", "measured rate of the link from host to device, bytes per second",
     [](Case c, Row) { return Measured(c, Rate(c.link.in_rate)); }},
    {"out_rate", "measured rate of the link from device to host, bytes per second",
     [](Case c, Row) { return Measured(c, Rate(c.link.out_rate)); }},
    {"duplex_factor", "mean of in_duplex and out_duplex",
     [](Case c, Row) { return Measured(c, fmt::format("{:.4f}", (c.link.in_duplex + c.link.out_duplex) / 2)); }},
    {"in_duplex", "rate from host to device while copies run in both directions, as a share of in_rate",
     [](Case c, Row) { return Measured(c, fmt::format("{:.4f}", c.link.in_duplex)); }},
    {"out_duplex", "rate from device to host while copies run in both directions, as a share of out_rate",
     [](Case c, Row) { return Measured(c, fmt::format("{:.4f}", c.link.out_duplex)); }},
    {"measured_fastest_s", "fastest measured step: the machine's speed when nothing else runs",
     [](Case, Row r) { return Seconds(r.Fastest()); }},
    {"products_pace", "pace of convolutions and matrix products: kernel times now / kernel times in the profile",
     [](Case c, Row) { return Factor(c.pace.products); }},
    {"others_pace", "the same ratio for all other kernels", [](Case c, Row) { return Factor(c.pace.others); }},
    {"as_calibrated_s", "step time predicted at the profile's own pace",
     [](Case, Row r) { return Seconds(r.as_calibrated); }},
    {"profile_reserve_bytes",
     "the profile's reserve: device memory in use besides arenas, part of predicted_device_bytes",
     [](Case c, Row) { return Reserve(c, c.profile_reserve); }},
    {"measured_reserve_bytes",
     "measured reserve: measured_device_bytes without the arena, the most during the case; context, libraries, code of "
     "loaded kernels and other users count",
     [](Case c, Row) { return Reserve(c, c.measured_reserve); }},
    {"clock_mhz", "median clock of the device in the steps, where the device reports its clock",
     [](Case, Row r) { return Megahertz(r.clock_mhz); }},
    {"lowest_clock_mhz", "clock of the device in the slowest step",
     [](Case, Row r) { return Megahertz(r.lowest_clock_mhz); }},
};

// The pace while steps ran, and noise.
constexpr ValidationColumn kPaceColumns[] = {
    {"products_pace_applied",
     "1: predicted_s uses products_pace; 0: predicted_s uses the profile's own pace, since the interval of "
     "products_pace holds 1 or launches between the steps contradict it; empty: not measured",
     [](Case c, Row) { return Applied(c.pace.products); }},
    {"others_pace_applied", "the same for others_pace", [](Case c, Row) { return Applied(c.pace.others); }},
    {"products_pace_meanwhile", "products_pace by launches timed between the steps",
     [](Case c, Row) { return Meanwhile(c.pace.products); }},
    {"others_pace_meanwhile", "others_pace by launches timed between the steps",
     [](Case c, Row) { return Meanwhile(c.pace.others); }},
    {"at_pace_s", "step time predicted at products_pace and others_pace, whether predicted_s uses them or not",
     [](Case, Row r) { return Seconds(r.at_pace); }},
    {"tracked_s", "step time predicted at the pace of each step's own moment, median over the steps",
     [](Case, Row r) { return Seconds(r.tracked); }},
    {"tracked_error",
     "step time predicted at the pace of the step's moment / that step measured - 1, median over the steps",
     [](Case, Row r) { return If(r.tracked > 0, r.tracked_error); }},
    {"load", "largest number of threads that wanted a core around this case, one-minute average",
     [](Case c, Row) { return c.noise.load >= 0 ? fmt::format("{:.2f}", c.noise.load) : ""; }},
    {"rounds_differ",
     "how far rounds of a plan differ: (largest - smallest median of a round) / median of these medians, median over "
     "the plans",
     [](Case c, Row) { return If(c.noise.rounds >= 0, c.noise.rounds); }},
    {"launches_differ", "the same measure for launches that were timed repeatedly between the rounds",
     [](Case c, Row) { return If(c.noise.launches >= 0, c.noise.launches); }},
    {"trusted",
     "1: load and rounds_differ are low enough to trust the case; 0: do not trust its numbers; empty: neither is known",
     [](Case c, Row) { return Trusted(c.noise); }},
    {"forward_error", "kernel_error of ops of the forward pass", [](Case, Row r) { return LessOne(r.split.forward); }},
    {"recomputed_error", "kernel_error of ops that recompute", [](Case, Row r) { return LessOne(r.split.recomputed); }},
    {"backward_error", "kernel_error of the backward pass and the update",
     [](Case, Row r) { return LessOne(r.split.backward); }},
    {"point",
     "names the files of a strategy's measured row: timelines/POINT.trace.json and ops/POINT.csv "
     "(reports/trace/trace.h); empty for random plans",
     [](Case, Row r) { return CsvField(r.point); }},
    {"allocated_bytes",
     "most memory that the framework's allocator had given out; only of plans that PyTorch carried out",
     [](Case, Row r) { return BytesOrNothing(r.allocated); }},
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
