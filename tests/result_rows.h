// Results made by hand, with figures that are easy to follow.
#ifndef SPILLWAY_TESTS_RESULT_ROWS_H_
#define SPILLWAY_TESTS_RESULT_ROWS_H_

#include "reports/rows/result_row.h"

namespace spillway {

// 100 samples in 2 s: 50 samples/s.
inline ResultRow FeasibleRow() {
  ResultRow row;
  row.scenario = "demo";
  row.network = row.network_base = "net";
  row.batch = 100;
  row.sample_elements = 10;
  row.precision = "fp32";
  row.machine = row.machine_base = "box";
  row.memory_limit = 16 * kGB;
  row.memory_model = "pool";
  row.strategy = row.runtime = "pooch";
  row.link_rate = 12.5;
  row.feasible = true;
  row.step_time = 2 * kSecond;
  row.step_time_low = 1616 * kMillisecond;
  row.step_time_high = 2384 * kMillisecond;
  row.lower_bound = 1600 * kMillisecond;
  row.widest_bound = 1500 * kMillisecond;
  row.binding_bound = "memory";
  row.peak = 15 * kGB;
  row.live_peak = 14 * kGB;
  row.host_peak = 3 * kGB;
  row.classes = {66, 12, 27};
  row.bytes_out = 1000;
  row.bytes_in = 2000;
  row.recompute_time = 100 * kMillisecond;
  row.stall_out = 5;
  row.stall_in = 250 * kMillisecond;
  row.compute_time = 1700 * kMillisecond;
  row.evaluations = 42;
  row.measured_share = 0.1;
  row.published_share = 0.7;
  row.assumed_share = 0.2;
  row.cost_source = "published";
  row.memory_by_class = {{"feature_map", 7}, {"workspace", 1}};
  row.mean_by_class = {{"feature_map", 5 * kGB}, {"parameter", 1 * kGB}};
  row.network_wide = 24 * kGB;
  row.parameter_bytes = 4 * kGB;
  row.point = "net_b100_box_pooch";
  row.bound_by = "general bounds";
  return row;
}

// 64 samples in 1 s, in-core: 64 samples/s.
inline ResultRow InCoreRow() {
  ResultRow row = FeasibleRow();
  row.batch = 64;
  row.strategy = "in-core";
  row.step_time = kSecond;
  row.lower_bound = 800 * kMillisecond;
  row.classes = {105, 0, 0};
  row.recompute_time = row.stall_in = row.stall_out = 0;
  row.point = "net_b64_box_in-core";
  return row;
}

inline ResultRow InfeasibleRow() {
  ResultRow row = FeasibleRow();
  row.strategy = "in-core";
  row.memory_model = "arena";
  row.feasible = false;
  row.reason = "out_of_memory: needs 20.9 GB, \"too much\"";
  row.point = "net_b100_box_in-core";
  return row;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RESULT_ROWS_H_
