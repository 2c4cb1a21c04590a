// What ends a measurement, as a message that says which.
#ifndef SPILLWAY_CALIBRATE_MEASURE_GUARD_H_
#define SPILLWAY_CALIBRATE_MEASURE_GUARD_H_

#include <fmt/format.h>

#include <new>
#include <string>
#include <system_error>

#include "calibrate/measure/plan.h"
#include "hw/text/document.h"
#include "model/profile/launch_text.h"
#include "sim/execute/device.h"

namespace spillway {

// The name of an item of the plan in messages: "convolution forward", "convolution forward in tf32",
// "h2d copies of 4.10 kB", "host call event_record".
inline std::string NameOf(const BenchItem& item) {
  switch (item.kind) {
    case BenchItem::Kind::kKernel:
      return fmt::format("{} {}{}", OpKindName(item.launch.kind), PassName(item.launch.pass), FormatText(item.launch));
    case BenchItem::Kind::kCopy:
      return fmt::format("{} copies of {}", item.direction, FormatBytes(item.bytes));
    case BenchItem::Kind::kHost:
      break;
  }
  return "host call " + item.call;
}

// What the device or the system fails at ends the calibration, and is nobody's mistake in this program; what the library
// refuses, a UserError, passes as it is.
template <typename Function>
auto GuardBench(const BenchItem& item, const Function& function) {
  std::string why;
  try {
    return function();
  } catch (const DeviceError& error) {
    why = error.what();
  } catch (const std::bad_alloc&) {
    why = "there is not enough memory";
  } catch (const std::system_error& error) {
    why = error.what();
  }
  throw UserError(fmt::format("{} cannot be measured on this device: {}", NameOf(item), why));
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_GUARD_H_
