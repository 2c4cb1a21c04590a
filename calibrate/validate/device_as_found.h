// The device on which a scenario is validated, as it is found: the algorithms that it offers, its present pace, and its
// link.
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

// A machine of the scenario. Machines with the same profile are one device.
struct ValidatedMachine {
  std::string label, base;  // its name in results, and the name without the scenario's changes
  std::string profile;      // the profile's name in the scenario
  std::string emulated_at;  // the place where the scenario asks for a slowdown, "file:line:column"
  double compute_slowdown = 1;
  double link_rate = 0;        // the rate to which copies are limited, bytes per nanosecond; 0: the scenario sets none
  double profile_rate = 0;     // the profile's rate of large copies, bytes per nanosecond
  Machine* machine = nullptr;  // Measure() gives it the measured link
  std::unique_ptr<CostModel>* costs = nullptr;  // the costs of `machine`; replaced
};

struct ValidatedStep {
  std::shared_ptr<const BenchNetwork> network;
  std::vector<std::int64_t> part_sizes;  // sizes, in samples, of the parts about which the device is asked
};

// The data of a run that concern the device.
struct ValidatedRun {
  std::vector<ValidatedMachine> machines;
  std::vector<ValidatedStep> steps;
  BenchNetworks usual;  // networks whose launches profiles of the device usually hold; empty if no profile holds any
};

struct FoundPace {
  MeasuredPace pace;
  std::vector<PacedLaunch> timed;  // the launches from which the pace was computed
  Bytes left = 0;                  // device memory in use since then: most likely code that was loaded to time launches
};

// Asks and measures the device, and changes the machines of the run: their links and their costs.
class DeviceAsFound {
 public:
  // `stop`: see StoppableDevice. `backend`, and objects that `run` points to, must outlive this. Throws UserError if
  // the device cannot be what a machine of the run says.
  DeviceAsFound(ValidatedRun run, DeviceBackend& backend, std::function<bool()> stop);

  // A device for sessions with the machine's slowdown and link rate. `stop` can stop it.
  std::unique_ptr<ExecutionDevice> Open(std::size_t machine, std::uint64_t seed);
  // Replaces costs by those of the algorithms that the device offers. Returns a note for each profile; none if the
  // device offers nothing.
  std::vector<std::string> Ask();
  // Measures the pace of each profile, then each machine's link. REQUIRES: called once.
  void Measure();
  // Times some launches again; `at` is the moment that the probe gets. nullopt: there is nothing to time, or the device
  // failed; then Lost() tells so from now on. REQUIRES: after Measure(), no session of the device is open.
  std::optional<PaceProbe> Probe(std::size_t machine, Nanos at);
  // BenchTarget::Waiting; also 0 if the device failed, which Lost() then tells. REQUIRES: as for Probe.
  double Waiting(std::size_t machine);
  // Records the device memory in use besides sessions, after a case of this machine; -1: unknown.
  void NoteReserve(std::size_t machine, Bytes bytes);
  // Notes for each profile: its reserve, the largest recorded one, and the share of it that timing launches has loaded.
  std::vector<std::string> Reserves() const;
  // Notes on how far the pace has moved since Measure(), or why that is unknown; none without Measure(). A device that
  // fails now does not make it throw, because everything else has been measured.
  std::vector<std::string> Drift() const;
  // A note that tells why tracking the pace ended early; empty if it did not.
  std::vector<std::string> Lost() const;

  // ---- Results of Measure(), by index of the machine. A pace is unknown if the profile holds no launch that can be
  // timed again.
  const MeasuredLink& LinkOf(std::size_t machine) const { return links_[machine]; }
  MeasuredPace PaceOf(std::size_t machine) const;
  const CostModel& AsCalibrated(std::size_t machine) const { return *as_calibrated_[machine]; }
  std::unique_ptr<CostModel> CostsAt(std::size_t machine, const KernelPace& pace) const;

 private:
  using Paces = std::map<std::string, FoundPace>;  // by profile, for profiles with launches that can be timed again
  Paces MeasurePaces() const;
  double RateOf(const ValidatedMachine& machine) const;
  FoundPace PaceOn(const ValidatedMachine& machine) const;
  FoundPace PaceBy(std::unique_ptr<BenchTarget> bench, const ValidatedMachine& machine) const;
  std::unique_ptr<CostModel> CostsOf(const ValidatedMachine& machine, const KernelPace& pace) const;
  template <typename Work>
  auto Aside(const Work& work) const;
  // Runs `work` on a bench of the machine; nullopt: the device fails now, or has failed before.
  template <typename Work>
  auto OnBench(std::size_t machine, const Work& work);

  const ValidatedRun run_;
  DeviceBackend& backend_;
  const std::function<bool()> stop_;
  std::map<std::string, DeviceOffers> offers_;  // by profile; empty: no device can be asked
  Paces paces_;
  std::string lost_;                                       // the reason why tracking ended; "": it goes on
  std::map<std::string, Bytes> reserves_;                  // by profile: the largest recorded reserve
  std::vector<MeasuredLink> links_;                        // by machine
  std::vector<std::unique_ptr<CostModel>> as_calibrated_;  // by machine: its costs at the profile's pace
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_DEVICE_AS_FOUND_H_
