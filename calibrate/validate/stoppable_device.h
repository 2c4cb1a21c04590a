// A device that lets a user stop a validation between two steps.
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

// Thrown when the user has asked for the end. It is no failure of a device, so it passes through Execute().
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// Forwards all calls to a device and throws Stopped between steps, never within one, so that earlier measurements stay
// valid. Planning, and timing of single launches, are not interrupted; they take seconds.
class StoppableDevice : public ForwardingDevice {
 public:
  // `stop` is called before each step and before each Write, outside of timed sections; true means stop.
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
