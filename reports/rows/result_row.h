// One row of a run's results: what came of one strategy at one point.
//
// A point is a network with its batch, a machine and a memory limit. Reports read rows and details and never compute
// anything that a strategy or the simulator could have wanted to know.
//
// Every field stands once in reports/rows/row_fields.inc, which makes the journal, results.csv, results.json and the
// reference in reports/README.md. A new column is a field here and a line there. Times are nanoseconds.
//
// Tested by reports_test, run_journal_test.
#ifndef SPILLWAY_REPORTS_ROWS_RESULT_ROW_H_
#define SPILLWAY_REPORTS_ROWS_RESULT_ROW_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/scope.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

// Where the costs of a prediction come from, as shares of the step's time, which add up to 1. A kernel counts by the
// source of its cost, a stall on copies by that of the copies waited for (page faults are assumed), a stall on the host
// by that of its costs. The rest of the step (kernels slowed down by copies, waits for other kernels) is shared out
// likewise.
struct SourceShares {
  double measured = 0, published = 0, assumed = 0;
  // Of these: kernels by a model beyond its data (model/cost/cost_model.h), and kernels at the chip's full peak and
  // bandwidth, as the profile has neither model nor law for them.
  double beyond = 0, roofline = 0;
  Source::Kind Largest() const;  // of equals the less sure one
};

// REQUIRES: a feasible evaluation with a timeline.
SourceShares SharesOf(const Evaluation& evaluation, const CostModel& costs);

using BytesByClass = std::vector<std::pair<std::string, Bytes>>;  // by class of tensor, "workspace" last

// The name of a row: a strategy, and the point that it was asked about.
struct RowIdentity {
  std::string scenario;
  std::string point;    // names the row's files; unique in a run, safe in a file name
  std::string network;  // with what differs from its usual form: "resnext101_3d+448x224x256"
  std::int64_t batch = 0;
  std::string precision;  // "fp32"
  int devices = 1;
  std::string machine;     // with the scenario's changes: "v100-x86-pcie3+link=8GB/s"
  std::string emulation;   // another balance of computing and copying, empty without: "5x,8GB/s"
  Bytes memory_limit = 0;  // of the device, planned with
  std::string strategy;
  std::vector<std::pair<std::string, std::string>> parameters;  // of the strategy, as a scenario says them
};

// Keys that group rows for comparison (reports/rows/standing.h, reports/rows/expectation.h).
struct RowGrouping {
  std::string network;               // base name: "resnext101_3d"
  std::string options;               // how the framework unrolls it: "plain", "chainer"
  std::int64_t sample_elements = 0;  // of one input sample: compares throughputs of different image sizes
  std::string machine;               // base name: "v100-x86-pcie3"
  std::string beside_link;  // the machine's name without the link's changes: rows that differ in the link alone
  double link_rate = 0;     // of large copies as simulated, mean of both directions, bytes per nanosecond
  int choices = -1;         // Strategy::choices; -1 = not known: a plan from a file, or one made for another machine
};

// The plan that was made.
struct RowPlan {
  std::string runtime;               // by name, "own" for one that has none; empty when no plan was made
  std::string memory_model;          // "arena", "pool", "managed", "managed_prefetch"; empty when no plan was made
  ClassCounts classes;               // feature maps kept, swapped, recomputed
  std::int64_t accumulate = 1;       // Plan::accumulate
  std::string numbers = "same";      // AccumulatedNumbers by name: whether the parts change what the step computes
  std::int64_t evaluations = 0;      // simulations that planning took
  std::string search;                // "exact", "capped at ...", "" = by rule
  std::int64_t divided_kernels = 0;  // kernels that the framework divides along the batch (Cost::calls)
};

// The step as simulated: `compute`, the three stalls and Other() add up to it.
struct RowTimes {
  Nanos step = 0, low = 0, high = 0;  // low..high: 80 % interval, see sim/uncertainty/uncertainty.h
  std::vector<Nanos> draws;           // step times under common draws of the cost model's errors
  Nanos recompute = 0, compute = 0;   // compute: all kernels, recomputation included
  Nanos stall_out = 0, stall_in = 0, stall_host = 0;
  Nanos usual = 0;  // sum of the step's ops, each once, with the usual algorithms and workspaces
  // The same sum with the plan's algorithms and workspaces.
  Nanos Chosen() const { return compute - recompute; }
  // The rest of the step: kernels slowed down by copies, waits for other kernels, moving memory together, the end of
  // the last copies.
  Nanos Other() const { return step - compute - stall_out - stall_in - stall_host; }
};

// Memory in use, and bytes copied in a step. The first two are known of rows that do not run, too.
struct RowMemory {
  Bytes network_wide = 0;  // StepTables::NetworkWide
  Bytes parameters = 0;    // tensors of parameters, their gradients and the optimizer's state
  Bytes peak = 0, live_peak = 0, host_peak = 0;
  BytesByClass at_peak;               // when most are live
  BytesByClass on_average;            // over the step
  Bytes bytes_out = 0, bytes_in = 0;  // copied to the host, to the device
  double page_rate = 0;  // of unified memory, while kernels wait for pages, bytes per nanosecond; 0: no page moves
};

// Lower bounds of the step under this cost model.
struct RowBounds {
  Nanos lower = 0;      // of the plans in `scope`; 0: not asked for
  std::string binding;  // the bound that binds: "compute", "transfer", "memory", "instant", "strategy"
  std::string by;       // KnownBounds::by: how it was found
  Scope scope;          // the plans that this one was chosen from
  Nanos widest = 0;     // of all plans that leave ops whole, and parameters and states on the device, if its scope does
};

// The sources of the row's costs.
struct RowProvenance {
  SourceShares shares;  // of the step's time
  std::string largest;  // of the three, by name
};

// Rows that are not feasible have their identity, `reason`, `grouping` and, where a plan was made, its runtime and
// memory model; the other groups are as they begin.
struct ResultRow : RowIdentity {
  bool feasible = false;
  std::string reason;  // token plus details when not feasible
  RowGrouping grouping;
  RowPlan plan;
  RowTimes times;
  RowMemory memory;
  RowBounds bounds;
  RowProvenance provenance;

  double SamplesPerSecond() const;   // 0 when not feasible
  double ElementsPerSecond() const;  // of samples: compares networks whose samples differ in size
  Bytes MeanBytes() const;           // live on average over the step
  // The share by which that is less than network-wide allocation; the second without the bytes of parameters.
  double MeanSaving() const;
  double MeanSavingBesideParameters() const;
  double MapShare() const;  // of feature maps in what is live at the peak
  double CopyRate() const;  // bytes per second: memory.page_rate, else grouping.link_rate
  // The share of the step that is not the plan's ops, each once: recomputation, waits, kernels slowed down. 0 when not
  // feasible.
  double Loss() const;
  bool SameNumbers() const { return plan.numbers == "same"; }
  double BoundGap() const;  // times.step / bounds.lower - 1; 0 without a bound
};

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RESULT_ROW_H_
