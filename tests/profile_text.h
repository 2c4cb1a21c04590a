// The text of a small machine profile, for tests of what may stand in one.
#ifndef SPILLWAY_TESTS_PROFILE_TEXT_H_
#define SPILLWAY_TESTS_PROFILE_TEXT_H_

#include <catch2/catch.hpp>
#include <string>

#include "model/profile/machine.h"

namespace spillway {

// A device with `more` below its figures, from line 12 on, in a machine called `name`.
inline std::string ProfileText(const std::string& more, const std::string& name = "small") {
  return "name: " + name + R"(
description: a test machine
software: none
hosts: [{name: ram, memory: 100 GB, source: {assumed: test}}]
devices:
  - name: gpu
    figures: {peak: 10 TFLOP/s, memory_bandwidth: 500 GB/s, multiprocessors: 80, l2_cache: 6 MiB,
              source: {published: sheet}}
    memory: {total: 16 GiB, reserve: 1 GiB, pool_fraction: 0.9, source: {assumed: test}}
    host_costs: {kernel_launch: 5 us, copy_submit: 4 us, event_record: 1 us, stream_wait: 2 us, pool_alloc: 1 us,
                 pool_free: 1 us, sync: 10 us, source: {assumed: test}}
)" + more +
         R"(links:
  - name: bus
    host: ram
    device: gpu
    host_to_device: {points: [[1 KiB, 10 us], [1 MB, 110 us]], source: {assumed: h2d}}
    device_to_host: {points: [[1 KiB, 10 us], [1 MB, 110 us]], source: {assumed: d2h}}
    duplex: {factor: 1, source: {assumed: d}}
)";
}

// Printed and read again; it must be the same machine, and print the same.
inline Machine Reread(const Machine& machine) {
  const std::string text = MachineToYaml(machine);
  INFO(text);
  Machine again = ParseMachine(text, "again.yaml");
  CHECK(again == machine);
  CHECK(MachineToYaml(again) == text);
  return again;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_PROFILE_TEXT_H_
