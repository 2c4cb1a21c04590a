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
#include <string>
#include <vector>

#include "calibrate/devices/backend.h"
#include "calibrate/validate/journal.h"
#include "calibrate/validate/memory.h"
#include "calibrate/validate/results.h"
#include "scenarios/run/run.h"

namespace spillway {

struct ValidateOptions {
  int steps = 20;        // of each plan
  int random_plans = 0;  // per network, spread over its cases
  std::uint64_t seed = 1;
  ProcessMemory* memory = nullptr;                    // nullptr: process memory is not looked at
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

// Told of what happens.
class ValidateWatcher {
 public:
  virtual ~ValidateWatcher() = default;
  // All is planned, nothing measured yet; load and room alone are known.
  virtual void Before(const MachineNoise& /*noise*/) {}
  virtual void Begin(std::size_t /*sessions*/, std::size_t /*cases*/) {}
  virtual void SessionDone() {}
  virtual void Measured(const FinishedCase& /*finished*/) {}  // now, before it is done
  // Each case, those that are known too.
  virtual void CaseDone(const ValidationSet& /*set*/, std::size_t /*case_index*/) {}
};

// Changes `run`: runtimes become arenas where none is stated, machines get the links measured and the costs of what
// the device offers. Throws UserError: a runtime with a pool, a profile of another machine than this, an op that the
// library cannot compute or a plan's algorithm that it does not offer, too little memory on this machine for any case.
// Once cases run, what fails is a row that says so, and a failure: a plan that the library refuses all the same, one that
// there is no memory for, a device that cannot be had for a case. The other plans and cases go on.
Validated ValidateRun(PreparedRun& run, DeviceBackend& backend, const ValidateOptions& options,
                      ValidateWatcher& watcher);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_H_
