// Carries out a scenario's points on a real device and compares: `spillway validate` without the device.
//
// Order of things: everything is planned once under the profile's link, which shows whether every place has a strategy
// that fits; then the link is measured at each rate the scenario states, everything is planned again under the curves
// found, random plans are drawn, and the cases are run one by one.
//
// Tested by validate_scenario_test and cli_validate_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_H_
#define SPILLWAY_SCENARIOS_VALIDATE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/clock.h"
#include "calibrate/device.h"
#include "calibrate/validate_memory.h"
#include "scenarios/command.h"
#include "scenarios/run.h"
#include "sim/validation.h"

namespace spillway {

struct OpenDevice {
  std::unique_ptr<ExecutionDevice> device;
  const Clock* clock = nullptr;  // outlives the device
  // Of the last session: losses by iteration, bytes of host buffers (-1: not told), and which cores it ran on.
  std::function<std::vector<double>()> losses = [] { return std::vector<double>{}; };
  std::function<Bytes()> host_bytes = [] { return Bytes{-1}; };
  std::function<std::string()> placement = [] { return std::string(); };
};
// For a network, with a link of so many bytes per nanosecond each way (0 = not limited).
using DeviceMaker = std::function<OpenDevice(const Network& network, double link_rate)>;

// The machine that the device is in.
struct ValidateHost {
  DeviceMaker make;
  ProcessMemory* memory = nullptr;                     // nullptr: process memory is not looked at
  std::function<double()> load = [] { return -1.0; };  // average number of threads that want a core; < 0: unknown
};

struct ValidateOptions {
  int steps = 20;        // of each plan
  int random_plans = 0;  // per network, spread over its cases
  std::uint64_t seed = 1;
  int jobs = 1;  // of planning; the device has the machine to itself
};

struct Validated {
  ValidationSet set;
  std::vector<ResultRow> results;     // strategies' rows with measured step times, for expectations
  std::vector<std::string> stuck;     // places at which no strategy fits; then nothing was run
  std::vector<std::string> failures;  // what makes the validation fail: memory, numerics, runs that did not end
};

// Told of each case when it is done, and of each session.
struct ValidateWatcher {
  std::function<void(std::size_t sessions)> begin = [](std::size_t) {};
  std::function<void()> session = [] {};
  std::function<void(const ValidationSet& set, std::size_t case_index)> case_done = [](const auto&, std::size_t) {};
};

// Changes `run`: runtimes become arenas where none is stated, machines get the links measured. Throws UserError: a
// runtime with a pool, a library that refuses a kernel, too little memory on this machine.
Validated ValidateRun(PreparedRun& run, const ValidateHost& host, const ValidateOptions& options,
                      const ValidateWatcher& watcher);

// The verb with a device of the caller's choice.
ExitCode ValidateWith(const ValidateHost& host, const Command& command, Console& console);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_H_
