// Samples and a device to measure, made up.
#ifndef SPILLWAY_TESTS_BENCH_SAMPLES_H_
#define SPILLWAY_TESTS_BENCH_SAMPLES_H_

#include <string>

#include "calibrate/measure/journal.h"

namespace spillway {

inline Sample MadeUpIdentity() {
  Sample sample;
  sample.device = "made-up";
  sample.host = "2 cores";
  sample.driver = "test 1, link 2 GB/s";
  sample.kind = "step";
  return sample;
}

// A ReLU on so many channels.
inline Sample ReluSample(std::int64_t channels, double microseconds, int round = 1) {
  Sample sample = MadeUpIdentity();
  sample.what = SampleKind::kKernel;
  sample.launch.kind = OpKind::kRelu;
  sample.launch.shape.in = sample.launch.shape.out = {.n = 1, .c = channels};
  sample.microseconds = sample.p10 = sample.p90 = microseconds;
  sample.repetitions = 10;
  sample.round = round;
  sample.load = 0.5;
  return sample;
}

inline Sample CopySample(Bytes bytes, const std::string& direction, double microseconds,
                         const std::string& contention = "none") {
  Sample sample = MadeUpIdentity();
  sample.what = SampleKind::kCopy;
  sample.kind = "pinned";
  sample.link = "local";
  sample.bytes = bytes;
  sample.direction = direction;
  sample.contention = contention;
  sample.microseconds = sample.p10 = sample.p90 = microseconds;
  sample.round = 1;
  sample.load = 0.5;
  return sample;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_BENCH_SAMPLES_H_
