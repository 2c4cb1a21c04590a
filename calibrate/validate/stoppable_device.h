// A device at which a validation can be stopped.
//
// Tested by cli_validate_partial_test and cli_interrupt_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_STOPPABLE_DEVICE_H_
#define SPILLWAY_CALIBRATE_VALIDATE_STOPPABLE_DEVICE_H_

#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "sim/execute/forwarding_device.h"

namespace spillway {

// Somebody asked for the end. No failure of a device: it passes through Execute().
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// Stops between steps, never within one, so that what was measured before is as good as if nobody had asked. Planning
// and timing single launches are not cut off; they take seconds.
class StoppableDevice : public ForwardingDevice {
 public:
  // `stop` is asked before each step and before contents are brought, outside of what is timed.
  StoppableDevice(std::unique_ptr<ExecutionDevice> device, std::function<bool()> stop)
      : ForwardingDevice(*device), owned_(std::move(device)), stop_(std::move(stop)) {}

  void Write(const Location& at, std::span<const std::byte> bytes) override {
    Check();
    ForwardingDevice::Write(at, bytes);
  }
  void BeginStep() override {
    Check();
    ForwardingDevice::BeginStep();
  }

 private:
  void Check() const {
    if (stop_()) throw Stopped();
  }
  std::unique_ptr<ExecutionDevice> owned_;
  std::function<bool()> stop_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_STOPPABLE_DEVICE_H_
