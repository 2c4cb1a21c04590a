// Results made by hand, with figures that are easy to follow.
#ifndef SPILLWAY_TESTS_RESULT_ROWS_H_
#define SPILLWAY_TESTS_RESULT_ROWS_H_

#include "reports/rows/result_row.h"

namespace spillway {

// 100 samples in 2 s: 50 samples/s.
inline ResultRow FeasibleRow() {
  ResultRow row;
  row.scenario = "demo";
  row.network = row.grouping.network = "net";
  row.batch = 100;
  row.grouping.sample_elements = 10;
  row.precision = "fp32";
  row.machine = row.grouping.machine = "box";
  row.memory_limit = 16 * kGB;
  row.plan.memory_model = "pool";
  row.strategy = row.plan.runtime = "pooch";
  row.grouping.link_rate = 12.5;
  row.feasible = true;
  row.times.step = 2 * kSecond;
  row.times.low = 1616 * kMillisecond;
  row.times.high = 2384 * kMillisecond;
  row.bounds.lower = 1600 * kMillisecond;
  row.bounds.widest = 1500 * kMillisecond;
  row.bounds.binding = "memory";
  row.memory.peak = 15 * kGB;
  row.memory.live_peak = 14 * kGB;
  row.memory.host_peak = 3 * kGB;
  row.plan.classes = {66, 12, 27};
  row.memory.bytes_out = 1000;
  row.memory.bytes_in = 2000;
  row.times.recompute = 100 * kMillisecond;
  row.times.stall_out = 5;
  row.times.stall_in = 250 * kMillisecond;
  row.times.compute = 1700 * kMillisecond;
  row.plan.evaluations = 42;
  row.provenance.shares.measured = 0.1;
  row.provenance.shares.published = 0.7;
  row.provenance.shares.assumed = 0.2;
  row.provenance.largest = "published";
  row.memory.at_peak = {{"feature_map", 7}, {"workspace", 1}};
  row.memory.on_average = {{"feature_map", 5 * kGB}, {"parameter", 1 * kGB}};
  row.memory.network_wide = 24 * kGB;
  row.memory.parameters = 4 * kGB;
  row.point = "net_b100_box_pooch";
  row.bounds.by = "general bounds";
  return row;
}

// 64 samples in 1 s, in-core: 64 samples/s.
inline ResultRow InCoreRow() {
  ResultRow row = FeasibleRow();
  row.batch = 64;
  row.strategy = "in-core";
  row.times.step = kSecond;
  row.bounds.lower = 800 * kMillisecond;
  row.plan.classes = {105, 0, 0};
  row.times.recompute = row.times.stall_in = row.times.stall_out = 0;
  row.point = "net_b64_box_in-core";
  return row;
}

inline ResultRow InfeasibleRow() {
  ResultRow row = FeasibleRow();
  row.strategy = "in-core";
  row.plan.memory_model = "arena";
  row.feasible = false;
  row.reason = "out_of_memory: needs 20.9 GB, \"too much\"";
  row.point = "net_b100_box_in-core";
  return row;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RESULT_ROWS_H_
