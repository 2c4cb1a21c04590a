// Carries out a scenario's points on a real device and compares: `spillway validate` without the device.
//
// Order of things: the device is asked which algorithms it offers for the steps' convolutions, and with which
// workspaces (calibrate/validate/device_costs.h), so that no plan grants less than it takes; everything is planned once under
// the profile's link, which shows whether every place has a strategy that fits; then it is measured how fast the device
// computes now (calibrate/validate/pace.h) and the link at each rate the scenario states, everything is planned again at that
// pace under the curves found, random plans are drawn, and the cases are run one by one.
//
// While a case is measured, the pace is followed (calibrate/validate/track.h), for at most a fifth of the time; behind it,
// it is decided whether the pace found before holds for the case, and how far the machine can be believed.
//
// Asked to stop, a validation abandons the case that runs and concludes from those that are finished.
//
// Tested by cli_validate_test, cli_validate_pace_test, cli_validate_noise_test, cli_validate_partial_test,
// cli_validate_resume_test and cli_validate_cpu_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/validate/device_costs.h"
#include "calibrate/validate/journal.h"
#include "calibrate/validate/memory.h"
#include "calibrate/validate/pace.h"
#include "calibrate/validate/results.h"
#include "scenarios/run/run.h"
#include "sim/execute/clock.h"
#include "sim/execute/device.h"

namespace spillway {

struct OpenDevice {
  std::unique_ptr<ExecutionDevice> device;
  const Clock* clock = nullptr;  // outlives the device
  // Of the last session: losses by iteration, bytes of host buffers (-1: not told), and which cores it ran on.
  std::function<std::vector<double>()> losses = [] { return std::vector<double>{}; };
  std::function<Bytes()> host_bytes = [] { return Bytes{-1}; };
  std::function<std::string()> placement = [] { return std::string(); };
  // Of a device with memory of its own: bytes in use at most in the last session, by whomever; -1: it has none.
  std::function<Bytes()> device_bytes = [] { return Bytes{-1}; };
  // Likewise: of these bytes what is not the session's own (Bench::device_reserve).
  std::function<Bytes()> device_reserve = [] { return Bytes{-1}; };
  // Of the last session: megahertz of the device by iteration, 0 where not known; empty: it does not tell.
  std::function<std::vector<double>()> step_clocks = [] { return std::vector<double>{}; };
};
// What a device is to do other than it would by itself.
struct DeviceTerms {
  double link_rate = 0;         // bytes per nanosecond each way at most; 0 = not limited
  double compute_slowdown = 1;  // every kernel takes so many times as long
};
// As the profile says that its device computes.
using DeviceMaker = std::function<OpenDevice(const Machine& profile, const DeviceTerms& terms)>;

// A device opened for measuring, and networks whose launches profiles of it usually hold.
struct PaceBench {
  std::unique_ptr<BenchTarget> target;
  std::vector<std::shared_ptr<const BenchNetwork>> networks{};
  PaceOptions options{};  // but for the workspace and the algorithms, which are the scenario's
  // Of a device with memory of its own: bytes in use now, by whomever; -1: it has none.
  std::function<Bytes()> device_bytes = [] { return Bytes{-1}; };
};

// The machine that the device is in.
struct ValidateHost {
  DeviceMaker make;
  // Which profiles are of it: the beginning of their devices' names; the shipped one that the user's own takes the place
  // of; and the user's own, a file in hw/.
  std::string devices = "cpu", example = "cpu-example", usual_profile = "mine.yaml";
  // A link that nobody limits runs at the rate that the profile was measured at, by pacing; false: as fast as it goes.
  bool paces_as_profile = true;
  bool slows_compute = false;  // DeviceTerms::compute_slowdown can be had
  // How far a plan may be from in-core training, over the largest magnitude of a tensor, where the device's algorithms
  // depend on what a plan grants: up to there a note. 0: anything but the same bits is a failure.
  double numerics_tolerance = 0;
  // Asked about every profile before anything runs. Throws UserError where this machine cannot be what it says.
  std::function<void(const Machine& profile)> check = [](const Machine&) {};
  // What the device offers, computing as the profile says. Called, and asked, on the caller's thread before anything is
  // planned. Empty: the profile's own workspaces and algorithms are believed.
  std::function<AskDevice(const Machine& profile)> algorithms{};
  // A warning where the device's software is not the one that the profile's launches were measured with; "": it is.
  std::function<std::string(const Machine& profile)> changed = [](const Machine&) { return std::string(); };
  // To measure how fast it computes now. Not called for profiles without measured launches. Empty: as the profile says.
  std::function<PaceBench(const Machine& profile)> bench{};
  // The above is called, and what it gives is used, on a thread that ends then and takes along the threads that kernels
  // computed on: idle ones would slow down those of the device. false: all calls come from the caller's thread.
  bool bench_aside = false;
  ProcessMemory* memory = nullptr;                     // nullptr: process memory is not looked at
  std::function<double()> load = [] { return -1.0; };  // average number of threads that want a core; < 0: unknown
  // Up to which load nobody waits for a core while it validates; < 0: unknown.
  std::function<double(const Machine& profile)> room = [](const Machine&) { return -1.0; };
  std::string identity{};  // of device and software: cases measured on others do not belong together
};

struct ValidateOptions {
  int steps = 20;        // of each plan
  int random_plans = 0;  // per network, spread over its cases
  std::uint64_t seed = 1;
  int jobs = 1;                                       // of planning; the device has the machine to itself
  std::vector<FinishedCase> known{};                  // the first cases, by an earlier run of the same (CheckKnown)
  std::function<bool()> stop = [] { return false; };  // asked before each step and each plan; once true it stays so
};

struct Validated {
  ValidationSet set;
  std::vector<ResultRow> results;     // strategies' rows with measured step times, for expectations
  std::vector<std::string> stuck;     // places at which no strategy fits, unexpectedly; then nothing was run
  std::vector<std::string> failures;  // what makes the validation fail: memory, numerics, runs that did not end
  bool stopped = false;               // the set has the cases that were finished before, maybe none
};

// Told of each case when it is done, of known ones too, and of each session.
struct ValidateWatcher {
  // All is planned, nothing measured yet; load and room alone are known.
  std::function<void(const MachineNoise& noise)> before = [](const auto&) {};
  std::function<void(std::size_t sessions, std::size_t cases)> begin = [](std::size_t, std::size_t) {};
  std::function<void()> session = [] {};
  std::function<void(const FinishedCase& finished)> measured = [](const auto&) {};  // now, before it is done
  std::function<void(const ValidationSet& set, std::size_t case_index)> case_done = [](const auto&, std::size_t) {};
};

// Changes `run`: runtimes become arenas where none is stated, machines get the links measured and the costs of what
// the device offers. Throws UserError: a runtime with a pool, a profile of another machine than this, an op that the
// library cannot compute or a plan's algorithm that it does not offer, too little memory on this machine for any case.
// Once cases run, what fails is a row that says so, and a failure: a plan that the library refuses all the same, one that
// there is no memory for, a device that cannot be had for a case. The other plans and cases go on.
Validated ValidateRun(PreparedRun& run, const ValidateHost& host, const ValidateOptions& options,
                      const ValidateWatcher& watcher);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_H_
