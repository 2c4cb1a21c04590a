// spillway probe: a look at a GPU that nobody has used yet; a line is printed as soon as it is known.
#include <memory>
#include <optional>
#include <ostream>

#include "hw/text/document.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/devices.h"
#include "scenarios/cli/options.h"
#include "sim/execute/clock.h"

namespace spillway {

namespace {

class ProbeCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("--device", name_, "cuda:0 and so on").Required().Offer(DeviceWords);
  }
  void Parse() override { device_ = DeviceByName(name_); }
  ExitCode Run(Console& console) const override;

 private:
  std::string name_;
  DeviceChoice device_;
};

ExitCode ProbeCommand::Run(Console& console) const {
  const SteadyClock clock;
  const std::unique_ptr<DeviceBackend> device = device_.Make(clock);
  const std::optional<int> failed = device->Probe([&](const std::string& text) { console.out << text << std::endl; });
  if (!failed) throw UserError("probe: a GPU is looked at, as cuda:0; what calibrate relies on here it checks itself");
  return *failed == 0 ? kExitDone : kExitExpectationFailed;
}

}  // namespace

Verb ProbeVerb() {
  return {.name = "probe",
          .description = "test a GPU for a minute: clocks, streams, copies, a convolution",
          .examples = {"spillway probe --device cuda:0"},
          .exits = {kDoneExit, {kExitExpectationFailed, "an assumption of the measurements does not hold"}, kWrongExit},
          .make = MakeCommand<ProbeCommand>};
}

}  // namespace spillway
