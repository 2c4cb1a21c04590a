// The probe of a GPU over a stand-in whose figures are known: each line says what was put in.
#include <catch2/catch.hpp>

#include "calibrate/devices/cuda/probe.h"
#include "tests/cuda/cuda_bench.h"

namespace spillway {
namespace {

struct Told {
  int failed = 0;
  std::string text;
};

Told Probed(const StandInOptions& options) {
  CudaStandIn cuda(options);
  Told told;
  told.failed = ProbeCuda(cuda, cuda, {.warm_up = 300 * kMillisecond, .copy = 8 * kMiB, .paced = 2},
                          [&](const std::string& line) { told.text += line + "\n"; });
  CHECK(cuda.leaks() == "");
  CHECK(cuda.violations() == std::vector<std::string>{});
  return told;
}

StandInOptions Known() {
  StandInOptions options = UsualStandIn();
  options.kernel_time = [](const OpCall&) { return 100'000; };
  options.clock_ghz = [](double) { return 1.98; };
  options.record_time = 700;
  options.spin_gap = 900;
  return options;
}

}  // namespace

TEST_CASE("a probe says what the device is and what its clocks tell") {
  const Told told = Probed(Known());
  INFO(told.text);
  CHECK(told.failed == 0);
  using Catch::Contains;
  CHECK_THAT(told.text, Contains("device       NVIDIA H200") && Contains("driver 1.2, CUDA 13.0, cuDNN 9.9"));
  CHECK_THAT(told.text, Contains("timer        ticks every 32 ns, from 32 to 32"));
  CHECK_THAT(told.text, Contains("a pair of events with nothing between takes 0.70 us"));
  CHECK_THAT(told.text, Contains("1 as 1.90, 10 as 10.90, 100 as 100.90, 1000 as 1000.90"));
  CHECK_THAT(told.text, Contains("a held stream waits") && Contains("left alone it goes on after 100"));
  CHECK_THAT(told.text, Contains("MHz by the counters, from rest: 1980, 1980"));
  CHECK_THAT(told.text, Contains("8.00 GB/s to the device, 4.00 from it"));
  CHECK_THAT(told.text, Contains("100.00 us between a pair of events, 100.00 us each of 20"));
  CHECK_THAT(told.text, Contains("forward by") && Contains("backward_filter by"));
}

TEST_CASE("a probe goes on behind what fails, and counts it") {
  StandInOptions options = Known();
  options.fault = {.what = StandInFault::What::kCopyCall, .nth = 0};
  const Told told = Probed(options);
  INFO(told.text);
  CHECK(told.failed == 1);
  CHECK_THAT(told.text, Catch::Contains("copies       failed: cudaMemcpyAsync"));
  CHECK_THAT(told.text, Catch::Contains("convolution "));
}

TEST_CASE("a probe of a lost device ends, with what is lost said") {
  StandInOptions options = Known();
  options.fault = {.what = StandInFault::What::kLost, .nth = 400};
  const Told told = Probed(options);
  INFO(told.text);
  CHECK(told.failed > 1);
  CHECK_THAT(told.text, Catch::Contains("the device is lost"));
}

}  // namespace spillway
