// What every device that really moves bytes keeps, tried on the copies of copy_step.h by hand.
#ifndef SPILLWAY_TESTS_DEVICE_CONTRACT_H_
#define SPILLWAY_TESTS_DEVICE_CONTRACT_H_

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/copy_step.h"
#include "tests/hand_session.h"

namespace spillway {

// In a debug session what holds nothing is NaN: buffers that were freed, and at the beginning of a step all host memory
// but that of residents, which keeps its values.
inline void CheckNothingIsNan(ExecutionDevice& device, const TrainingStep& step) {
  const SwapProgram s;
  HandSession hand(s.program, &step, device);
  hand.session().debug = true;
  hand.Begin();
  const auto read = [&](BufferId buffer) {
    Numbers numbers(kElements);
    device.Read(LocationOf(s.program, buffer), std::as_writable_bytes(std::span(numbers)));
    return numbers;
  };
  const auto write = [&](BufferId buffer, const Numbers& numbers) {
    device.Write(LocationOf(s.program, buffer), std::as_bytes(std::span(numbers)));
  };
  CHECK(std::isnan(read(s.y)[0]));  // before anything was written
  write(s.host_in, Input(7));
  write(s.p, Input(0));
  for (int k = 0; k < 2; ++k) {
    device.BeginStep();
    CHECK(std::isnan(read(s.host_y)[3]));  // left by the last step, and of no resident
    hand.GiveAll();
    device.EndStep();
    CHECK(read(s.p) == Input(7));
    CHECK(read(s.host_y) == Input(7));
    for (const BufferId freed : {s.y, s.again, s.z}) {
      for (const float number : read(freed)) CHECK(std::isnan(number));
    }
  }
}

// Before a session, before a step, in the middle of one, behind one, twice.
inline void CheckEndsAtAnyTime(ExecutionDevice& device, const TrainingStep& step) {
  device.End();
  const SwapProgram s;
  for (int k = 0; k < 3; ++k) {
    HandSession hand(s.program, &step, device);
    hand.Begin();
    if (k == 0) continue;  // ended before a step
    device.BeginStep();
    if (k == 1) {
      for (std::uint32_t i = 0; i < s.wait_in; ++i) hand.Give(i);  // ended in the middle of one
    } else {
      hand.GiveAll();
      device.EndStep();
    }
    device.End();
    device.End();
  }
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_DEVICE_CONTRACT_H_
