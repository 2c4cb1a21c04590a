// A profile with a bit of everything, and what is wrong with it by one change.
#ifndef SPILLWAY_TESTS_SMALL_PROFILE_H_
#define SPILLWAY_TESTS_SMALL_PROFILE_H_

#include <catch2/catch.hpp>
#include <string>

namespace spillway {

// Small and valid.
inline const std::string kSmall = R"(name: small
description: a test machine
software: none
hosts:
  - name: ram
    memory: 100 GB
    source: {assumed: test}
devices:
  - name: gpu
    figures: {peak: 10 TFLOP/s, memory_bandwidth: 500 GB/s, multiprocessors: 80, source: {published: sheet}}
    memory: {total: 16 GiB, reserve: 1 GiB, pool_fraction: 0.9, source: {measured: "driver 1, 2020-01-01"}}
    host_costs:
      kernel_launch: 5 us
      copy_submit: 4 us
      event_record: 1 us
      stream_wait: 2 us
      pool_alloc: 300 ns
      pool_free: 200 ns
      sync: 10 us
      source: {assumed: test}
    laws:
      - {op: convolution, pass: forward, window: 3x3, flop_fraction: 0.8, bandwidth_fraction: 0.7,
         source: {assumed: l1}}
      - {op: relu, pass: forward, flop_fraction: 0, bandwidth_fraction: 0.9, fixed: 3 us, workspace: 1 MiB,
         error: 0.2, copy_slowdown: 1.1, source: {assumed: l2}}
links:
  - name: bus
    host: ram
    device: gpu
    host_to_device: {points: [[1 KiB, 10 us], [1 MB, 110 us], [10 MB, 910 us]], source: {assumed: h2d}}
    device_to_host: {points: [[1 KiB, 10 us], [1 MB, 110 us]], error: 0.05, source: {assumed: d2h}}
    duplex: {factor: 0.85, source: {assumed: d}}
)";

// kSmall with the one occurrence of `from` replaced.
inline std::string With(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SMALL_PROFILE_H_
