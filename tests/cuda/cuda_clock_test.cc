// Clocks of the device: marks around timings tell how fast it ran, rest cools it, TF32 is told by what it rounds.
#include <catch2/catch.hpp>

#include "calibrate/devices/cuda/bench_checks.h"
#include "calibrate/devices/cuda/timer.h"
#include "tests/cuda/cuda_bench.h"
#include "tests/cuda/cuda_copies.h"

namespace spillway {

TEST_CASE("the rate between two marks is that of the multiprocessor in the middle") {
  const std::vector<CudaMoment> from = {
      {.cycles = 100, .nanoseconds = 1000}, {}, {.cycles = 0, .nanoseconds = 1000}, {.cycles = 7, .nanoseconds = 1010}};
  std::vector<CudaMoment> to = {{.cycles = 1600, .nanoseconds = 2000},
                                {.cycles = 5, .nanoseconds = 2000},
                                {.cycles = 1000, .nanoseconds = 2000},
                                {.cycles = 1987, .nanoseconds = 2000}};
  CHECK(Megahertz(Between(from, to)) == Approx(1500));  // of 1000, 1500 and 2000; the second took no part
  CHECK(Megahertz(Between({}, {})) == 0);
  to[0].nanoseconds = 900;  // time that went back tells nothing
  CHECK(Megahertz(Between({from.data(), 1}, {to.data(), 1})) == 0);
}

TEST_CASE("a row says at which clock it ran, by the device's own counters") {
  StandInOptions options = UsualStandIn();
  options.clock_ghz = [](double) { return 1.755; };
  CudaBench bench(options);
  const auto network = SmallBenchNetwork();
  CHECK(bench.Measure(ItemOf(network, 0)).sm_clock_mhz == 1755);
  bench.CheckClean();
}

TEST_CASE("marks around what is timed are none of its time, and tell the clock of that time") {
  StandInOptions options = UsualStandIn();
  options.call_cost = 0;
  options.clock_ghz = [](double now) { return now < 20 * kMillisecond ? 2.0 : 1.0; };
  CudaStandIn cuda(options);
  {
    CudaTimer timer(cuda);
    const auto time = [&] {
      timer.MarkBegin();
      timer.Start();
      cuda.Spin(1e6, timer.stream());
      timer.Stop();
      timer.MarkEnd();
      return timer.Finish();
    };
    CHECK(time() == 1e6);
    CHECK(Megahertz(timer.between_marks()) == Approx(2000));
    cuda.Sleep(30 * kMillisecond);
    time();
    CHECK(time() == 1e6);
    CHECK(Megahertz(timer.between_marks()) == Approx(1000));
    timer.Start();
    timer.Stop();
    timer.Finish();
    CHECK(Megahertz(timer.between_marks()) == 0);  // without marks nothing is known
  }
  CHECK(cuda.leaks() == "");
}

TEST_CASE("a device that idled for a second is warmed again, one that did not is not") {
  auto cuda = std::make_shared<CudaStandIn>(UsualStandIn());
  CudaBenchOptions options = UsualBenchOptions();
  options.warm_up = 40 * kMillisecond;
  CudaBenchTarget target(options, cuda, *cuda);
  const auto network = SmallBenchNetwork();
  const auto products = [&](OpId op) {
    cuda->ForgetDone();
    target.Measure(ItemOf(network, op), {}, FewTimings());
    int count = 0;
    for (const CudaStandIn::Done& done : cuda->done()) count += done.kernel.starts_with("linear") ? 1 : 0;
    return count;
  };
  const int first = products(0);
  CHECK(first > 0);
  CHECK(products(0) == 0);
  cuda->Sleep(2 * kSecond);
  const int again = products(0);
  CHECK(again > 0);
  CHECK(again < first);
}

TEST_CASE("each step of a session tells at which clock it ran") {
  StandInOptions options = Plain();
  options.clock_ghz = [](double now) { return now < 500'000 ? 1.98 : 1.41; };
  options.kernel_time = [](const OpCall&) { return 100'000; };
  CudaStandIn cuda(options);
  CudaCopies c;
  {
    CudaDevice device({}, cuda, cuda);
    const ExecuteResult result =
        Execute(SwapProgram().program, &c.step, device, cuda, {.iterations = 8, .values = &c.values});
    REQUIRE(Says(result) == "");
    REQUIRE(device.clocks().size() == 8);
    CHECK(device.clocks().front() == Approx(1980).epsilon(0.001));
    CHECK(device.clocks().back() == Approx(1410).epsilon(0.001));
  }
  CHECK(Wrong(cuda) == "");
}

TEST_CASE("results tell TF32 from fp32") {
  std::vector<float> fp32, rounded, summed;
  for (int k = 0; k < 1000; ++k) {
    const auto x = static_cast<float>(1 + 0.001 * k);
    fp32.push_back(x);
    rounded.push_back(x * (k % 2 == 0 ? 1.0003f : 0.9997f));
    summed.push_back(x * (1 + 3e-7f));
  }
  CHECK(RoundingBetween(rounded, fp32) == Rounding::kAsTf32);
  CHECK(RoundingBetween(summed, fp32) == Rounding::kAsFp32);
  CHECK(RoundingBetween(fp32, fp32) == Rounding::kAsFp32);
  const std::vector<float> nothing(1000, 0.0f);
  CHECK(RoundingBetween(nothing, nothing) == Rounding::kNotKnown);
}

}  // namespace spillway
