// One row of a run's results: what came of one strategy at one point.
//
// A point is a network with its batch, a machine and a memory limit. Reports read rows and details and never compute
// anything that a strategy or the simulator could have wanted to know.
#ifndef SPILLWAY_REPORTS_ROWS_RESULT_ROW_H_
#define SPILLWAY_REPORTS_ROWS_RESULT_ROW_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/bounds/scope.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

struct ResultRow {
  std::string scenario;
  std::string network;       // with what differs from its usual form: "resnext101_3d+448x224x256"
  std::string network_base;  // without: "resnext101_3d"
  std::string options;       // how the framework unrolls it: "plain", "chainer"
  std::int64_t batch = 0;
  std::int64_t sample_elements = 0;  // of one input sample; makes throughputs of different image sizes comparable
  std::string precision;             // "fp32"
  int devices = 1;
  std::string machine;       // with what the scenario changed: "v100-x86-pcie3+link=8GB/s"
  std::string machine_base;  // without
  std::string beside_link;   // `machine` without what the scenario says of its link: rows that differ in that alone
  double link_rate = 0;      // of large copies as simulated, mean of both directions, bytes per nanosecond
  std::string emulation;     // another balance of computing and copying, empty without: "5x,8GB/s"
  Bytes memory_limit = 0;    // planned with
  std::string memory_model;  // "arena", "pool", "managed", "managed_prefetch"; empty when no plan was made
  std::string strategy;
  std::string runtime;  // by name, "own" for one that has none; empty when no plan was made
  int choices = -1;     // Strategy::choices; -1 = not known: a plan from a file, or one made for another machine
  bool feasible = false;
  std::string reason;  // token plus details when not feasible

  // Meaningful for feasible rows only.
  Nanos step_time = 0, step_time_low = 0,
        step_time_high = 0;  // low..high: 80 % interval, see sim/uncertainty/uncertainty.h
  std::vector<Nanos> draws;  // step times under common draws of the cost model's errors
  Nanos lower_bound = 0;
  std::string binding_bound;  // which bound that is
  Scope bound_scope;          // what it holds for: the plans that this one was chosen from
  Nanos widest_bound = 0;     // what no plan beats that leaves ops whole; where its scope has parts, no plan at all
  Bytes peak = 0, live_peak = 0, host_peak = 0;
  ClassCounts classes;
  Bytes bytes_out = 0, bytes_in = 0;
  Nanos recompute_time = 0, compute_time = 0;
  Nanos stall_out = 0, stall_in = 0, stall_host = 0;
  std::int64_t evaluations = 0;
  std::string search;                                                 // "exact", "capped at ...", "" = by rule
  double measured_share = 0, published_share = 0, assumed_share = 0;  // of the step's time, SourceShares
  std::string cost_source;  // the largest of the three: "measured", "published" or "assumed"
  std::vector<std::pair<std::string, Bytes>> memory_by_class;  // at the live peak
  std::string bound_by;                                        // KnownBounds::by, of lower_bound
  std::vector<std::pair<std::string, Bytes>> mean_by_class;    // the same on average over the step
  std::int64_t accumulate = 1;                                 // Plan::accumulate
  std::string numbers = "same";  // AccumulatedNumbers by name: what the step computes beside that of the whole batch

  // Of unified memory: pages that come and go over what kernels wait for them, bytes per nanosecond. 0: no page moves.
  double page_rate = 0;

  // Before the simulation.
  Bytes network_wide = 0;     // StepTables::NetworkWide
  Bytes parameter_bytes = 0;  // of the step's tensors, those of parameters, their gradients and the optimizer's state
  // What the strategy was told, as a scenario says it.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string point;  // names the row's files; unique in a run, safe in a file name

  double SamplesPerSecond() const;   // 0 when not feasible
  double ElementsPerSecond() const;  // of samples: what compares networks whose samples differ in size
  Bytes MeanBytes() const;           // live on average over the step
  // By how much that is less than network-wide allocation; the second of what is not of parameters.
  double MeanSaving() const;
  double MeanSavingBesideParameters() const;
  double MapShare() const;  // of feature maps in what is live at the peak
  double CopyRate() const;  // bytes per second: page_rate, else link_rate
  double BoundGap() const;  // step_time / lower_bound - 1; 0 without a bound
  // Of the step, what is neither computing nor one of the three stalls: kernels slowed down by copies, waits for other
  // kernels, moving memory together, the end of the last copies.
  Nanos OtherTime() const;
};

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RESULT_ROW_H_
