// The device that a scenario is validated on, as it is found: what it offers, how fast it computes now, its link.
//
// Tested by cli_validate_test, cli_validate_pace_test and cli_validate_cpu_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_DEVICE_AS_FOUND_H_
#define SPILLWAY_CALIBRATE_VALIDATE_DEVICE_AS_FOUND_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/devices/backend.h"
#include "calibrate/validate/device_costs.h"
#include "calibrate/validate/results.h"
#include "calibrate/validate/track.h"

namespace spillway {

// A machine as a scenario has it, and what becomes of it. Machines of one profile are one device.
struct ValidatedMachine {
  std::string label, base;  // as results call it; the machine without what the scenario changes
  std::string profile;      // as the scenario names it
  std::string emulated_at;  // where the scenario asks for a slowdown, "file:line:column"
  double compute_slowdown = 1;
  double link_rate = 0;        // that copies are held to, bytes per nanosecond; 0: the scenario says nothing of it
  double profile_rate = 0;     // of large copies by the profile
  Machine* machine = nullptr;  // whose link becomes the one that was measured
  std::unique_ptr<CostModel>* costs = nullptr;  // of `machine`; replaced
};

struct ValidatedStep {
  std::shared_ptr<const BenchNetwork> network;
  std::vector<std::int64_t> part_sizes;  // samples of an op's parts that the device is asked about
};

// Of a run all that concerns the device.
struct ValidatedRun {
  std::vector<ValidatedMachine> machines;
  std::vector<ValidatedStep> steps;
  BenchNetworks usual;  // whose launches profiles of the device usually hold; empty where no profile holds any
};

struct FoundPace {
  MeasuredPace pace;
  std::vector<PacedLaunch> timed;  // that it comes from
  Bytes left = 0;  // of the device's memory, in use since: most likely code that was loaded to time launches
};

// Changes the machines of the run: their links, and their costs.
class DeviceAsFound {
 public:
  // `stop`: see StoppableDevice. What `run` points to and `backend` must outlive this. Throws UserError: the device
  // cannot be what a machine of the run says.
  DeviceAsFound(ValidatedRun run, DeviceBackend& backend, std::function<bool()> stop);

  // For sessions as the machine says: it can be stopped.
  std::unique_ptr<ExecutionDevice> Open(std::size_t machine, std::uint64_t seed);
  // Costs of what the device offers; a note for each profile. Nothing where the device offers nothing.
  std::vector<std::string> Ask();
  // The pace of each profile, then each machine's link. REQUIRES: once.
  void Measure();
  // Some of these launches once more, `at` as the probe has it; nullopt: there is nothing to time, or the device fails at
  // it, of which Lost() tells from then on. REQUIRES: after Measure(), no session of the device.
  std::optional<PaceProbe> Probe(std::size_t machine, Nanos at);
  // BenchTarget::Waiting; 0 also where the device fails at it, of which Lost() tells. REQUIRES: likewise.
  double Waiting(std::size_t machine);
  // What is in use of the device's memory beside the sessions' own, when a case of this machine has run; -1: not known.
  void NoteReserve(std::size_t machine, Bytes bytes);
  // Notes: for each profile its reserve, and the most that was noted; how much of that timing launches has loaded.
  std::vector<std::string> Reserves() const;
  // Notes: how far the pace has moved since Measure(), or why that cannot be told; none without it. Throws nothing for a
  // device that fails by now: all else has been measured.
  std::vector<std::string> Drift() const;
  // A note why the pace could not be followed to the end, if so.
  std::vector<std::string> Lost() const;

  // After Measure(), by index of the machine. Pace: not known where the profile holds nothing that can be timed again.
  const MeasuredLink& LinkOf(std::size_t machine) const { return links_[machine]; }
  MeasuredPace PaceOf(std::size_t machine) const;
  const CostModel& AsCalibrated(std::size_t machine) const { return *as_calibrated_[machine]; }
  std::unique_ptr<CostModel> CostsAt(std::size_t machine, const KernelPace& pace) const;

 private:
  using Paces = std::map<std::string, FoundPace>;  // by profile; of those that hold what can be timed again
  Paces MeasurePaces() const;
  double RateOf(const ValidatedMachine& machine) const;
  FoundPace PaceOn(const ValidatedMachine& machine) const;
  FoundPace PaceBy(std::unique_ptr<BenchTarget> bench, const ValidatedMachine& machine) const;
  std::unique_ptr<CostModel> CostsOf(const ValidatedMachine& machine, const KernelPace& pace) const;
  template <typename Work>
  auto Aside(const Work& work) const;
  // `work` on a bench of the machine; nullopt: the device fails at it, or did before.
  template <typename Work>
  auto OnBench(std::size_t machine, const Work& work);

  const ValidatedRun run_;
  DeviceBackend& backend_;
  const std::function<bool()> stop_;
  std::map<std::string, DeviceOffers> offers_;  // by profile; empty: no device can be asked
  Paces paces_;
  std::string lost_;                                       // why the pace is followed no further
  std::map<std::string, Bytes> reserves_;                  // by profile: the most that was noted
  std::vector<MeasuredLink> links_;                        // by machine
  std::vector<std::unique_ptr<CostModel>> as_calibrated_;  // by machine: its costs at the profile's pace
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_DEVICE_AS_FOUND_H_
