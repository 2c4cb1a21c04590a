// The CPU device with a step of copies to run on it.
#ifndef SPILLWAY_TESTS_CPU_CPU_COPIES_H_
#define SPILLWAY_TESTS_CPU_CPU_COPIES_H_

#include <string>
#include <utility>

#include "calibrate/devices/cpu/device.h"
#include "model/network/network.h"
#include "sim/execute/clock.h"
#include "sim/execute/execute.h"
#include "tests/copy_step.h"
#include "tests/hand_session.h"

namespace spillway {

inline const SteadyClock kClock;

struct CopyCase {
  Network network = CopyStep::Net();
  TrainingStep step = CopyStep::Build();
  ExecuteResult Run(const Program& program, ExecuteOptions options, CpuDeviceOptions cpu = {}) {
    CpuDevice device(std::move(cpu), kClock);
    options.values = &values;
    return Execute(program, &step, device, kClock, options);
  }
  Counting values;
};
inline std::string Says(const ExecuteResult& result) { return result.failure ? result.failure->message : ""; }

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CPU_CPU_COPIES_H_
