// The CPU device for calibrating and validating: this machine's processor, by oneDNN.
//
// Tested by cli_calibrate_test and cli_validate_cpu_test (tests/).
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BACKEND_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BACKEND_H_

#include <string>
#include <utility>

#include "calibrate/devices/backend.h"

namespace spillway {

class CpuBackend : public DeviceBackend {
 public:
  // `version`: of this program, as rows of a calibration have it.
  CpuBackend(std::string version, const Clock& clock) : DeviceBackend(clock), version_(std::move(version)) {}

  const DeviceTraits& traits() const override;
  void Need() override;
  std::string Identity() override;
  void CheckProfile(const Machine& profile) override;
  std::vector<std::string> UsualNetworks() const override;
  CalibrateSetup Calibrate(const CalibrateRequest& request) override;
  std::unique_ptr<BenchTarget> Bench(const Machine& profile) override;
  AskDevice Offers(const Machine& profile) override;
  std::unique_ptr<ExecutionDevice> Open(const Machine& profile, const DeviceTerms& terms) override;
  double Room(const Machine& profile) override;

 private:
  std::string version_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BACKEND_H_
