// The pace of a device while one case is measured, followed for a share of the time, and what it comes to for the case.
//
// Tested by cli_validate_pace_test and cli_validate_noise_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_FOLLOW_H_
#define SPILLWAY_CALIBRATE_VALIDATE_FOLLOW_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/device_as_found.h"

namespace spillway {

class FollowedPace {
 public:
  // Of a case on that machine; `clock`: of its device. Both must outlive this.
  FollowedPace(DeviceAsFound& device, std::size_t machine, const Clock& clock)
      : device_(device), machine_(machine), clock_(clock), pace_(device.PaceOf(machine)) {}

  // Launches are timed again at each end, and between rounds as long as that takes at most a fifth of the time.
  void Look(bool end);
  // How long a thread that computes waits, right beside a session: on devices that tell it. A tenth of a second.
  void LookWhoWaits();
  // Once all is measured: the costs that the case is held to, those that were planned with (nullptr) unless the pace
  // found before turns out not to hold.
  const CostModel* Settle();

  // The factors found before, with what became of them.
  const MeasuredPace& pace() const { return pace_; }
  const std::vector<PaceProbe>& probes() const { return probes_; }
  // Those that Settle() gave, else those of the setup.
  const CostModel& CostsOf(const CaseSetup& setup) const { return settled_ ? *settled_ : *setup.costs; }
  // Sets what rows were predicted to take at other paces: as calibrated, as found before, at each step's own.
  void PredictOtherwise(const CaseSetup& setup, std::vector<ValidationRow>& rows) const;

 private:
  DeviceAsFound& device_;
  std::size_t machine_;
  const Clock& clock_;
  MeasuredPace pace_;
  std::vector<PaceProbe> probes_;
  Nanos cost_ = 0, last_ = 0;  // of the last probe, and when it ended
  std::unique_ptr<CostModel> settled_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_FOLLOW_H_
