// The device that a scenario is validated on, as it is found: what it offers, how fast it computes now, its link.
//
// Tested by cli_validate_test, cli_validate_pace_test and cli_validate_cpu_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_DEVICE_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_DEVICE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/validate/track.h"
#include "scenarios/validate/validate.h"

namespace spillway {

struct FoundPace {
  MeasuredPace pace;
  std::vector<PacedLaunch> timed;  // that it comes from
  Bytes left = 0;  // of the device's memory, in use since: most likely code that was loaded to time launches
};

// Changes the machines of `run`: their links, and their costs. Machines of one profile are one device.
class DeviceAsFound {
 public:
  // Both must outlive it. Throws UserError: the device cannot be what a machine of the run says.
  DeviceAsFound(PreparedRun& run, const ValidateHost& host);

  // Costs of what the device offers; a note for each profile. Nothing where the host does not say whom to ask.
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

  DeviceTerms TermsOf(const PreparedMachine& machine) const;
  // After Measure(), by index of the machine. Pace: not known where the profile holds nothing that can be timed again.
  const MeasuredLink& LinkOf(std::size_t machine) const { return links_[machine]; }
  MeasuredPace PaceOf(std::size_t machine) const;
  const CostModel& AsCalibrated(std::size_t machine) const { return *as_calibrated_[machine]; }
  std::unique_ptr<CostModel> CostsAt(std::size_t machine, const KernelPace& pace) const;

 private:
  using Paces = std::map<std::string, FoundPace>;  // by profile; of those that hold what can be timed again
  Paces MeasurePaces() const;
  std::unique_ptr<CostModel> CostsOf(const PreparedMachine& machine, const KernelPace& pace) const;
  template <typename Work>
  auto Aside(const Work& work) const;
  // `work` on a bench of the machine; nullopt: the device fails at it, or did before.
  template <typename Work>
  auto OnBench(std::size_t machine, const Work& work);

  PreparedRun& run_;
  const ValidateHost& host_;
  std::map<std::string, DeviceOffers> offers_;  // by profile; empty: no device can be asked
  Paces paces_;
  std::string lost_;                                       // why the pace is followed no further
  std::map<std::string, Bytes> reserves_;                  // by profile: the most that was noted
  std::vector<MeasuredLink> links_;                        // by machine
  std::vector<std::unique_ptr<CostModel>> as_calibrated_;  // by machine: its costs at the profile's pace
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_DEVICE_H_
