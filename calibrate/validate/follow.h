// Follows the pace of a device while one case is measured, and applies it to the case's predictions. "Pace" is a factor
// on kernel times (pace.h, track.h).
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
  // For a case on the machine with that index; `clock` is its device's. `device` and `clock` must outlive this.
  FollowedPace(DeviceAsFound& device, std::size_t machine, const Clock& clock)
      : device_(device), machine_(machine), clock_(clock), pace_(device.PaceOf(machine)) {}

  // Times launches again. `end`: before the first or after the last round. Otherwise the call may do nothing, so that
  // probes take at most a fifth of the time.
  void Look(bool end);
  // Measures how long a computing thread waits for its core, just before or after a session; on devices that tell it.
  // Takes a tenth of a second.
  void LookWhoWaits();
  // Call when everything is measured. Returns the costs that the case is compared with, or nullptr for the costs of the
  // plan. They differ only if the pace found before the case did not hold during it.
  const CostModel* Settle();

  // The factors found before the case, with the checks made during it.
  const MeasuredPace& pace() const { return pace_; }
  const std::vector<PaceProbe>& probes() const { return probes_; }
  // The costs from Settle(), else those of the setup.
  const CostModel& CostsOf(const CaseSetup& setup) const { return settled_ ? *settled_ : *setup.costs; }
  // Sets the rows' predictions at other paces: the profile's, the one found before, and each step's own.
  void PredictOtherwise(const CaseSetup& setup, std::vector<ValidationRow>& rows) const;

 private:
  DeviceAsFound& device_;
  std::size_t machine_;
  const Clock& clock_;
  MeasuredPace pace_;
  std::vector<PaceProbe> probes_;
  Nanos cost_ = 0, last_ = 0;  // the time that the last probe took, and when it ended
  std::unique_ptr<CostModel> settled_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_FOLLOW_H_
