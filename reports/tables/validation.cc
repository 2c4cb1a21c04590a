#include "reports/tables/validation.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/tables/text.h"

namespace spillway {

namespace {

std::string Milliseconds(double nanos) { return ShortNumber(nanos / 1e6); }
std::string Megabytes(Bytes bytes) { return bytes > 0 ? ShortNumber(static_cast<double>(bytes) / 1e6) : ""; }
// "+3.2 %"; "" for a ratio of which nothing was measured.
std::string Signed(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction + 0.0); }
std::string RatioError(double ratio) { return ratio > 0 ? Signed(ratio - 1) : ""; }

std::string OrNone(double ratio) { return ratio > 0 ? Signed(ratio - 1) : "none"; }

std::string LinkText(const MeasuredLink& link) {
  if (link.in_rate <= 0) return "";
  const std::string stated = link.stated_rate > 0 ? fmt::format("{:g} GB/s", link.stated_rate) : "not limited";
  return fmt::format(", link {} (measured: in {} out {} GB/s, duplex {:.2f} and {:.2f})", stated,
                     ShortNumber(link.in_rate), ShortNumber(link.out_rate), link.in_duplex, link.out_duplex);
}

std::string FactorText(const PaceGroup& group) {
  if (group.high <= 0) return "not measured";
  if (group.of_other)
    return fmt::format("{:.2f} too ({} launches are too few for a factor of their own)", group.factor, group.launches);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", group.factor, group.low, group.high);
}

// Whether predictions are at the factor, and why not.
std::string UseText(const PaceGroup& group) {
  if (group.high <= 0) return "";
  std::string meanwhile;
  if (group.meanwhile > 0) {
    meanwhile = fmt::format("{:.2f} ({:.2f} to {:.2f}) between the steps", group.meanwhile, group.meanwhile_low,
                            group.meanwhile_high);
  }
  if (group.applied) return meanwhile.empty() ? ", applied" : ", applied: " + meanwhile;
  if (group.HoldsOne()) return ", not applied: the interval holds 1";
  return meanwhile.empty() ? ", not applied" : ", not applied: " + meanwhile;
}
std::string PaceText(const MeasuredPace& pace) {
  if (!pace.Known()) return "";
  return fmt::format("kernel times now / in the profile: products {}{}; others {}{}; {} launches timed again\n",
                     FactorText(pace.products), UseText(pace.products), FactorText(pace.others), UseText(pace.others),
                     pace.products.launches + pace.others.launches);
}

std::string NoiseText(const MachineNoise& noise) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "machine: " : ", ") + part; };
  if (noise.load >= 0 && noise.room > 0) {
    add(fmt::format("load {:.1f} (threads wait above {:.0f})", noise.load, noise.room));
  }
  if (noise.rounds >= 0) add(fmt::format("rounds of a plan differ by {:.0f} %", 100 * noise.rounds));
  if (noise.launches >= 0) add(fmt::format("launches timed between rounds by {:.0f} %", 100 * noise.launches));
  return text.empty() ? "" : text + "\n";
}

std::string Standing(const ValidationCase& place, const ValidationRow& row) {
  if (row.random) return "";
  const bool predicted = row.strategy == place.best_predicted, measured = row.strategy == place.best_measured;
  if (predicted && measured) return "best";
  if (predicted) return place.best_or_noise ? "chosen =" : "chosen";
  return measured ? "fastest" : "";
}

std::vector<std::string> Cells(const ValidationCase& place, const ValidationRow& row) {
  return {row.strategy,
          Standing(place, row),
          Milliseconds(static_cast<double>(row.predicted)),
          Milliseconds(row.measured),
          Milliseconds(row.measured_low) + "-" + Milliseconds(row.measured_high),
          Signed(row.Error()),
          row.tracked > 0 ? Signed(row.tracked_error) : "",
          RatioError(row.split.kernels),
          RatioError(row.split.copies),
          RatioError(row.split.replay),
          place.carried ? "" : fmt::format("{:.1f} %", 100 * row.split.gaps),
          place.carried ? "" : Signed(row.split.perturbation),
          Megabytes(row.predicted_peak),
          Megabytes(row.measured_peak),
          Megabytes(row.measured_device),
          place.carried ? "" : NumericsText(row.numerics)};
}

std::string InCoreText(const ValidationCase& place) {
  if (place.carried) return "";
  if (place.in_core <= 0) return "in-core in a larger arena: not run\n";
  const ErrorSplit& s = place.in_core_split;
  return fmt::format(
      "in-core in a larger arena: predicted {} measured {} ms, error {}\n"
      "  error of kernels {}: measured alone {}, effect of the step {}; timed in calibration {}, by model {}\n"
      "  launches timed in calibration are {:.0f} % of the kernel time\n",
      Milliseconds(place.in_core_predicted), Milliseconds(place.in_core),
      Signed(place.in_core_predicted / place.in_core - 1), OrNone(s.kernels), OrNone(s.isolated), OrNone(s.context),
      OrNone(s.seen), OrNone(s.modelled), 100 * s.seen_share);
}

std::string ChoiceText(const ValidationCase& place) {
  if (place.best_predicted.empty()) return "";
  std::string text = fmt::format("order of plans: Kendall's tau {:.2f} over {} pairs; chosen {}: ", place.tau,
                                 place.pairs, place.best_predicted);
  if (place.best_predicted == place.best_measured) return text + "the fastest measured\n";
  return text + fmt::format("{} slower than {} ({} to {}), {}\n", Signed(place.regret), place.best_measured,
                            Signed(place.regret_low), Signed(place.regret_high),
                            place.best_or_noise ? "within noise" : "beyond noise");
}

std::string SummariesText(const ValidationSet& set) {
  TextTable table({"<step time, predicted / measured - 1", "rows", "median", "median size", "worst"});
  for (const ErrorSummary& s : set.summaries) {
    table.Row({s.group, std::to_string(s.rows), Signed(s.median_signed), fmt::format("{:.1f} %", 100 * s.median_error),
               fmt::format("{:.1f} %", 100 * s.worst_error)});
  }
  return table.Text();
}

std::string FalsificationText(const std::string& title, const std::vector<FalsificationRow>& rows) {
  if (rows.empty()) return "";
  TextTable table({"<" + title, "median size", "worst", "tau", "full closer", "farther", "p", "<verdict"});
  for (const FalsificationRow& r : rows) {
    const bool full = &r == &rows.front();
    table.Row({r.variant, fmt::format("{:.1f} %", 100 * r.median_error), fmt::format("{:.1f} %", 100 * r.worst_error),
               fmt::format("{:.2f}", r.tau), full ? "" : std::to_string(r.closer),
               full ? "" : std::to_string(r.farther), full ? "" : fmt::format("{:.2g}", r.p), r.verdict});
  }
  return "\n" + table.Text();
}

bool AllCarried(const ValidationSet& set) {
  return std::all_of(set.cases.begin(), set.cases.end(), [](const ValidationCase& place) { return place.carried; });
}

std::string ReplayText(const ValidationSet& set) {
  if (AllCarried(set)) return "";
  return fmt::format("Replay of measured spans: median size of the error {:.1f} %.\n", 100 * set.median_replay);
}

std::string RegretsText(const ValidationSet& set) {
  if (set.judged == 0 && AllCarried(set)) return "";
  double largest = 0;
  for (const ValidationCase& place : set.cases) largest = std::max(largest, place.regret);
  const std::string clear =
      set.clear_pairs == 0 ? std::string("none") : fmt::format("{} of {}", set.clear_right, set.clear_pairs);
  return fmt::format(
      "\nThe strategy predicted fastest was measured fastest, or within noise of the fastest, at {} of {} points; "
      "largest regret {:.1f} %.\n"
      "Order of plans within points: Kendall's tau-b {:.2f}. Pairs that differ beyond noise and have the predicted "
      "order: {}.\n"
      "{}",
      set.best_or_noise, set.judged, 100 * largest, set.tau, clear, ReplayText(set));
}

constexpr const char* kLegend =
    "\nTimes are medians in ms. 95 %: interval of the median\n"
    "error: predicted / measured - 1; tracked: the error if each step is predicted at the pace of its own moment\n"
    "kernels, copies: parts of the error, predicted / measured spans - 1\n"
    "replay: the simulator's own part of the error, from the step simulated with its measured spans\n"
    "gaps: share of the step in which compute was idle although all its inputs were there\n"
    "spans: time that taking spans costs\n"
    "peak MB: highest byte of the arena, predicted and measured; proc: growth of the process without host buffers\n"
    "numerics: difference from in-core training\n"
    "chosen: the strategy predicted fastest; =: within noise of the fastest\n"
    "full closer, farther: points at which the full model's error is smaller, larger; p: of the sign test\n"
    "one factor per point: predictions of each model are multiplied by the median of measured / predicted at the\n"
    "  point, so a machine slower than at calibration favours no model; a model that such factors explain stays\n";

constexpr const char* kCarriedLegend =
    "\nTimes are medians in ms over whole contexts: forward and backward. 95 %: interval of the median\n"
    "error: predicted / measured - 1\n"
    "peak MB: bytes of all storages, predicted and counted; proc: most memory that the framework reserved, or the\n"
    "  process took\n"
    "chosen: the plan predicted fastest; =: within noise of the fastest\n";

}  // namespace

std::string NumericsText(const Numerics& numerics) {
  if (numerics.kind == Numerics::Kind::kDiffers) return fmt::format("{:.2g}", numerics.largest_difference);
  return numerics.kind == Numerics::Kind::kBitwise ? "bitwise" : "skipped";
}

std::string NoiseVerdict(const MachineNoise& noise) {
  std::string why;
  if (noise.Crowded()) why = fmt::format("load {:.1f}", noise.load);
  if (noise.Unsteady()) why += fmt::format("{}rounds differ by {:.0f} %", why.empty() ? "" : ", ", 100 * noise.rounds);
  return why.empty() ? "" : "do not trust these numbers: " + why + "\n";
}

std::string ValidationCaseTable(const ValidationSet& set, std::size_t case_index) {
  const ValidationCase& place = set.cases[case_index];
  std::string text = NoiseVerdict(place.noise);
  text += fmt::format("{}: {} at batch {} on {}, {} of device memory{}\n", place.scenario, place.network, place.batch,
                      place.machine, FormatBytes(place.memory_limit), LinkText(place.link));
  TextTable table({"<strategy", "<", "predicted", "measured", "95 %", "error", "tracked", "kernels", "copies", "replay",
                   "gaps", "spans", "peak", "MB", "proc", "numerics"});
  for (const ValidationRow& row : set.rows) {
    if (row.case_index != static_cast<int>(case_index)) continue;
    if (row.Measured()) {
      table.Row(Cells(place, row));
    } else {
      const char* const what = row.refused ? "not run: " : row.feasible ? "failed: " : "does not run: ";
      table.RowThenText({row.strategy}, what + row.reason);
    }
  }
  return text + PaceText(place.pace) + NoiseText(place.noise) + table.Text() + InCoreText(place) + ChoiceText(place);
}

std::string ValidationSummaryTable(const ValidationSet& set) {
  std::string text = NoiseVerdict(set.noise) + SummariesText(set) + RegretsText(set) +
                     FalsificationText("model of the step time, no factors", set.falsification) +
                     FalsificationText("with one factor per point", set.scaled_falsification);
  for (const std::string& note : set.notes) text += "note: " + note + "\n";
  return text + (AllCarried(set) ? kCarriedLegend : kLegend);
}

}  // namespace spillway
