#include "reports/rows/result_columns.h"

#include <fmt/format.h>

namespace spillway {

namespace {

using Row = const ResultRow&;
using Among = const Standing&;
constexpr bool kBefore = true;

Cell Share(double value) { return Ratio{value, 4}; }
Cell Text(const char* text) { return std::string(text); }

// What is asked.
std::vector<ResultColumn> PlaceColumns() {
  return {
      {"scenario", "its name", [](Row r, Among) -> Cell { return r.scenario; }, kBefore},
      {"network", "name, with what differs from its usual form", [](Row r, Among) -> Cell { return r.network; },
       kBefore},
      {"batch", "samples a step", [](Row r, Among) -> Cell { return r.batch; }, kBefore},
      {"precision", "number format or arithmetic: fp32, tf32, fp16", [](Row r, Among) -> Cell { return r.precision; },
       kBefore},
      {"devices", "how many train together", [](Row r, Among) -> Cell { return std::int64_t{r.devices}; }, kBefore},
      {"machine", "profile, with what the scenario changed about it", [](Row r, Among) -> Cell { return r.machine; },
       kBefore},
      {"memory_limit_bytes", "of device memory, planned with", [](Row r, Among) -> Cell { return r.memory_limit; },
       kBefore},
      {"memory_model",
       "arena (addresses fixed in advance), pool, managed or managed_prefetch (unified memory: times are assumed); "
       "empty "
       "when no plan was made",
       [](Row r, Among) -> Cell { return r.memory_model; }, kBefore},
      {"strategy",
       "its name, `:name=value` for each parameter it was given, `@machine` it was planned for, `(FILE)` the plan "
       "file it was read from, `+runtime` in place of its own",
       [](Row r, Among) -> Cell { return r.strategy; }, kBefore},
      {"feasible", "1 or 0", [](Row r, Among) -> Cell { return std::int64_t{r.feasible ? 1 : 0}; }, kBefore},
      {"reason", "why it is not feasible: a word, then details", [](Row r, Among) -> Cell { return r.reason; },
       kBefore},
  };
}

// What came out.
std::vector<ResultColumn> FigureColumns() {
  return {
      {"step_time_s", "predicted time of a training step",
       [](Row r, Among) -> Cell { return ExactSeconds{r.step_time}; }},
      {"step_time_low_s",
       "lower end of its 80 % interval, from the cost model's errors alone, rounded to what is known",
       [](Row r, Among) -> Cell { return ExactSeconds{r.step_time_low}; }},
      {"step_time_high_s", "upper end", [](Row r, Among) -> Cell { return ExactSeconds{r.step_time_high}; }},
      {"samples_per_second", "batch / step_time_s",
       [](Row r, Among) -> Cell {
         return Ratio{r.SamplesPerSecond(), 4};
       }},
      {"lower_bound_s", "no plan that this row was chosen from is faster under this cost model",
       [](Row r, Among) -> Cell { return ExactSeconds{r.lower_bound}; }},
      {"peak_bytes", "arena: highest address in use; pool: most bytes live at once",
       [](Row r, Among) -> Cell { return r.peak; }},
      {"live_peak_bytes", "most bytes live at once on the device", [](Row r, Among) -> Cell { return r.live_peak; }},
      {"host_peak_bytes", "pinned host memory", [](Row r, Among) -> Cell { return r.host_peak; }},
      {"keep", "feature maps kept", [](Row r, Among) -> Cell { return std::int64_t{r.classes.keep}; }},
      {"swap", "feature maps swapped", [](Row r, Among) -> Cell { return std::int64_t{r.classes.swap}; }},
      {"recompute", "feature maps recomputed", [](Row r, Among) -> Cell { return std::int64_t{r.classes.recompute}; }},
      {"bytes_out", "copied to the host in a step", [](Row r, Among) -> Cell { return r.bytes_out; }},
      {"bytes_in", "copied to the device in a step, the batch included",
       [](Row r, Among) -> Cell { return r.bytes_in; }},
      {"recompute_time_s", "of compute_time_s, spent computing again",
       [](Row r, Among) -> Cell { return ExactSeconds{r.recompute_time}; }},
      {"stall_out_s", "compute stands still for swap-outs",
       [](Row r, Among) -> Cell { return ExactSeconds{r.stall_out}; }},
      {"stall_in_s", "compute stands still for swap-ins, or for pages of unified memory",
       [](Row r, Among) -> Cell { return ExactSeconds{r.stall_in}; }},
      {"evaluations", "simulations that planning took", [](Row r, Among) -> Cell { return r.evaluations; }},
      {"cost_source", "the largest of the three shares below: measured, published or assumed",
       [](Row r, Among) -> Cell { return r.cost_source; }},
  };
}

// The same, added later: the order of columns never changes.
std::vector<ResultColumn> LaterColumns() {
  return {
      {"point", "name of the row's files in plans/ and timelines/", [](Row r, Among) -> Cell { return r.point; },
       kBefore},
      {"link", "bytes per second of large copies as simulated, mean of both directions",
       [](Row r, Among) -> Cell {
         return Ratio{r.link_rate * 1e9, 0};
       },
       kBefore},
      {"runtime", "how the plan is carried out: a runtime of `list strategies`, or own",
       [](Row r, Among) -> Cell { return r.runtime; }, kBefore},
      {"emulation", "another machine's balance on this one, empty without",
       [](Row r, Among) -> Cell { return r.emulation; }, kBefore},
      {"compute_time_s", "all kernels, each as long as it takes alone",
       [](Row r, Among) -> Cell { return ExactSeconds{r.compute_time}; }},
      {"stall_host_s", "compute stands still for the host",
       [](Row r, Among) -> Cell { return ExactSeconds{r.stall_host}; }},
      {"other_s",
       "the rest of the step: kernels slowed down by copies, waits for other kernels, memory moved together, the end "
       "of "
       "the last copies",
       [](Row r, Among) -> Cell { return ExactSeconds{r.OtherTime()}; }},
      {"gap", "step_time_s / lower_bound_s - 1",
       [](Row r, Among) -> Cell { return r.lower_bound > 0 ? Share(r.BoundGap()) : Cell{}; }},
      {"loss",
       "1 - input elements per second / those of the fastest in-core row of network, options, machine and memory",
       [](Row r, Among a) -> Cell { return a.reference != nullptr ? Share(LossAgainst(*a.reference, r)) : Cell{}; }},
      {"measured_share", "of the step's time, by where its costs come from: measured on this machine",
       [](Row r, Among) -> Cell { return Share(r.measured_share); }},
      {"published_share", "from published measurements", [](Row r, Among) -> Cell { return Share(r.published_share); }},
      {"assumed_share", "from neither", [](Row r, Among) -> Cell { return Share(r.assumed_share); }},
      {"beaten_by",
       "`point` of a row that should not be faster and is, by more than 1 %: the same strategy with less memory or on "
       "a slower link, or a simpler strategy on the same runtime",
       [](Row, Among a) -> Cell { return a.beaten_by != nullptr ? Cell{a.beaten_by->point} : Text(""); }},
      {"widest_bound_s",
       "no plan that leaves ops whole is faster under this cost model, any algorithm and workspace, two copy streams; "
       "for "
       "rows whose plan may divide ops, none that streams nothing; may it stream operands, none at all. Of the step in "
       "as many batch parts as `accumulate` says: it "
       "does "
       "not hold for the same batch in others",
       [](Row r, Among) -> Cell { return ExactSeconds{r.widest_bound}; }},
      {"accumulate", "batch parts that the step runs in, one after another, gradients accumulated; 1: the whole batch",
       [](Row r, Among) -> Cell { return r.accumulate; }},
      {"numbers",
       "what the step computes, beside that of the whole batch: same (but for rounding), redrawn (dropout draws other "
       "masks) or changed (batch norm's statistics are those of a part)",
       [](Row r, Among) -> Cell { return r.numbers; }},
      {"mean_bytes", "live on the device on average over the step, each moment weighed by how long it lasts",
       [](Row r, Among) -> Cell { return r.MeanBytes(); }},
      {"network_wide_bytes",
       "what network-wide allocation takes, from the first step to the last, whatever the plan (Torch, vDNN's "
       "baseline): "
       "every tensor for itself, but one pair of buffers for all gradients of maps and one workspace for all ops",
       [](Row r, Among) -> Cell { return r.network_wide; }, kBefore},
  };
}

std::vector<ResultColumn> MakeColumns() {
  std::vector<ResultColumn> all = PlaceColumns();
  for (const auto& more : {FigureColumns(), LaterColumns()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

const std::vector<ResultColumn>& ResultColumns() {
  static const std::vector<ResultColumn> columns = MakeColumns();
  return columns;
}

Cell CellOf(const ResultColumn& column, const ResultRow& row, const Standing& standing) {
  return row.feasible || column.known_before ? column.of(row, standing) : Cell{};
}

std::string ResultColumnPage() {
  std::string page;
  for (const ResultColumn& column : ResultColumns())
    page += fmt::format("| `{}` | {} |\n", column.name, column.meaning);
  return page;
}

}  // namespace spillway
