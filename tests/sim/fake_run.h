// Runs a Program on the fake device in one call.
#ifndef SPILLWAY_TESTS_SIM_FAKE_RUN_H_
#define SPILLWAY_TESTS_SIM_FAKE_RUN_H_

#include <cstdint>
#include <string>
#include <utility>

#include "sim/execute/execute.h"
#include "sim/execute/fake/device.h"

namespace spillway {

inline ExecuteResult FakeRun(const Program& program, const TrainingStep* step, FakeOptions fake = {},
                             ExecuteOptions options = {.debug = true}) {
  FakeDevice device(std::move(fake));
  return Execute(program, step, device, device, options);
}

inline std::string Says(const ExecuteResult& result) { return result.failure ? result.failure->message : ""; }

// Everything happens at the moment it is issued, and every call takes a nanosecond: the order of issue is the order in
// which things happen.
inline FakeOptions AtOnce() {
  FakeOptions fake;
  fake.host_cost.fill(1);
  return fake;
}

inline ExecuteResult Shuffled(const Program& program, const TrainingStep* step, std::uint64_t seed,
                              int iterations = 1) {
  return FakeRun(program, step, AtOnce(), {.iterations = iterations, .debug = true, .shuffle_seed = seed});
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_FAKE_RUN_H_
