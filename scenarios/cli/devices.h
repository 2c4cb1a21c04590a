// The devices that `calibrate` measures and `validate` runs on: one line of a table each.
//
// To add one: a file that opens it, device_NAME.cc, and a line in devices.cc.
#ifndef SPILLWAY_SCENARIOS_CLI_DEVICES_H_
#define SPILLWAY_SCENARIOS_CLI_DEVICES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/bench_target.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/profile.h"
#include "calibrate/measure/run.h"
#include "calibrate/ops/operands.h"
#include "scenarios/cli/command.h"
#include "scenarios/validate/validate.h"

namespace spillway {

// A device opened for measuring.
struct CalibrateSetup {
  std::unique_ptr<BenchTarget> target;
  std::vector<BenchItem> plan;
  BenchFacts facts;                            // all but the name of the profile and what may be pinned
  std::vector<std::string> not_measured = {};  // of what could be, and why: one sentence each
  // The host's, asked again for each profile that is written, since it may grow meanwhile; without it `facts` tells.
  std::function<Bytes()> host_memory = {};
};

// What of the command line is the same for all devices.
struct CalibrateRequest {
  int device = 0;                     // the number behind the colon
  std::vector<std::string> networks;  // as typed; empty: the device's usual
  BenchProtocol protocol = BenchProtocol::kStep;
  double link_rate = 0;  // bytes per nanosecond; 0 = as fast as it goes
  int threads = 1;
  bool quick = false, no_grid = false;
  std::vector<BenchGroup> groups;  // empty: the usual
  std::string date;
};

struct DeviceKind {
  const char* name;  // "cpu", "cuda"
  int most;          // of them in one machine
  // Both throw a UserError that says what is missing where this program or machine has no such device. `clock` outlives
  // what they give.
  CalibrateSetup (*calibrate)(const CalibrateRequest& request, const Clock& clock);
  ValidateHost (*validate)(int device, std::uint64_t seed, const Clock& clock);
  // Says a line at a time what the device is and whether what measuring relies on holds; the number of sections where it
  // does not. nullptr: there is nothing of the kind to ask.
  int (*probe)(int device, const Clock& clock, const std::function<void(const std::string&)>& tell);
};
const std::vector<DeviceKind>& DeviceKinds();

// "cpu", "cpu:0", "cuda:1".
struct DeviceChoice {
  const DeviceKind* kind = nullptr;
  int index = 0;
};
// Throws UserError with the nearest name.
DeviceChoice DeviceByName(const std::string& name);

// Devices by their own files.
CalibrateSetup CalibrateCpu(const CalibrateRequest& request, const Clock& clock);
ValidateHost ValidateOnCpu(int device, std::uint64_t seed, const Clock& clock);
CalibrateSetup CalibrateCuda(const CalibrateRequest& request, const Clock& clock);
ValidateHost ValidateOnCuda(int device, std::uint64_t seed, const Clock& clock);
int ProbeOnCuda(int device, const Clock& clock, const std::function<void(const std::string&)>& tell);

// The verbs with a device of the caller's choice.
using CalibrateOpener = std::function<CalibrateSetup(const CalibrateRequest& request, const Clock& clock)>;
ExitCode CalibrateWith(const CalibrateOpener& open, const Command& command, const Clock& clock, Console& console);
// `stop` as in ValidateOptions; then the exit status is kExitInterrupted, the tables are those of the finished cases, and
// expectations are not judged. The folder: scenarios/validate/validate_files.h.
ExitCode ValidateWith(
    const ValidateHost& host, const Command& command, Console& console,
    const std::function<bool()>& stop = [] { return false; });

// ---- The CUDA device for the verbs, over any CudaCalls: tests give a stand-in.

// `bench`: how its pace is measured; the protocol is the profile's.
ValidateHost ValidateOnCudaBy(std::shared_ptr<CudaCalls> calls, const CudaBenchOptions& bench, std::uint64_t seed,
                              const Clock& clock);
CalibrateSetup CalibrateCudaBy(std::shared_ptr<CudaCalls> calls, const CudaBenchOptions& options,
                               const CalibrateRequest& request, const Clock& clock);

// ---- Networks whose launches `calibrate` measures, from the words of the command line.

using BenchNetworks = std::vector<std::shared_ptr<const BenchNetwork>>;

// "NAME", "NAME:BATCH", "network.yaml:BATCH", or a scenario, whose networks are meant. Throws UserError with all mistakes.
BenchNetworks BenchNetworksOf(const std::vector<std::string>& words);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_DEVICES_H_
