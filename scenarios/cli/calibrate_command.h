// spillway calibrate as data, for a device of the caller's choice too.
//
// Tested by cli_calibrate_test and cli_cuda_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_CALIBRATE_COMMAND_H_
#define SPILLWAY_SCENARIOS_CLI_CALIBRATE_COMMAND_H_

#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/cli/devices.h"

namespace spillway {

struct CalibrateAsked {
  std::string out;               // the profile; the journal lies beside it
  Nanos budget = 280 * kSecond;  // of measuring
  Bytes pinned_limit = 0;        // of the host's memory; 0 = all of it
  double link_rate = 0;          // bytes per nanosecond; 0 = as fast as it goes
  BenchProtocol protocol = BenchProtocol::kStep;
  std::vector<std::string> networks;  // whose launches come first; empty = the device's usual
  std::vector<BenchGroup> groups;     // empty = the usual
  int threads = 1;                    // of kernels
  bool quick = false, resume = false, no_grid = false;
};

ExitCode CalibrateWith(DeviceBackend& backend, const CalibrateAsked& asked, Console& console);

class CalibrateCommand : public Command {
 public:
  void Declare(Options& options) override;
  void Parse() override;
  ExitCode Run(Console& console) const override;
  const CalibrateAsked& asked() const { return asked_; }  // once parsed

 private:
  // As typed.
  std::string device_name_, budget_, link_rate_, pinned_limit_, protocol_;
  std::vector<std::string> groups_;

  DeviceChoice device_;
  CalibrateAsked asked_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_CALIBRATE_COMMAND_H_
