// The timer of the CUDA device, and what holds a stream until all is issued: that it is let go again, what happens when it
// runs out, what is measured without it.
#include <catch2/catch.hpp>

#include "calibrate/devices/cuda/bench_plan.h"
#include "tests/cuda/cuda_bench.h"

namespace spillway {

TEST_CASE("the timer counts what lies between its marks, at the device's pace") {
  CudaStandIn cuda(UsualStandIn());
  {
    CudaTimer timer(cuda);
    cuda.Spin(1, timer.stream());  // loaded
    timer.Hold(2);
    timer.Start();
    cuda.Spin(1000, timer.stream());
    timer.Stop();
    cuda.Spin(7000, timer.stream());
    timer.Start();
    cuda.Spin(500, timer.stream());
    cuda.Spin(250, timer.stream());
    timer.Stop();
    CHECK(timer.Finish() == 1750);
    CHECK(timer.Now() == 0);
    timer.Add(1750);
    CHECK(timer.Now() == 1750);
    // Not held, the second spin waits for the host, which takes 2 us for a call.
    timer.Start();
    cuda.Spin(1000, timer.stream());
    cuda.Spin(1000, timer.stream());
    timer.Stop();
    CHECK(timer.Finish() > 2000);
  }
  CHECK(cuda.leaks().empty());
}

TEST_CASE("a held stream is let go whatever is thrown") {
  CudaStandIn cuda(UsualStandIn());
  CudaTimer timer(cuda);
  try {
    const ReleaseAtEnd release(timer);
    timer.Hold();
    throw UserError("something");
  } catch (const UserError&) {
  }
  cuda.Synchronize(timer.stream());
  CHECK(cuda.Now() < kMillisecond);  // the hold did not run out
}

TEST_CASE("a hold that runs out is noticed, by the timer and by what is timed") {
  StandInOptions options = UsualStandIn();
  options.queue = 8;
  CudaStandIn cuda(options);
  {
    CudaTimer timer(cuda);
    const auto issue = [&](int count) {
      timer.Start();
      for (int k = 0; k < count; ++k) cuda.Spin(100, timer.stream());
      timer.Stop();
      return timer.Finish();
    };
    issue(1);
    timer.Hold();
    CHECK(issue(5) == 500);  // with hold and events it fills the queue, no more
    CHECK_FALSE(timer.ran_out());
    timer.Hold();
    issue(20);
    CHECK(timer.ran_out());
    issue(20);  // not held
    CHECK_FALSE(timer.ran_out());
  }
  // Eight kernels and their events behind one hold are more than 30 of a queue; fewer at once are not.
  options.queue = 30;
  CudaStandIn narrow(options);
  const auto network = SmallBenchNetwork();
  CudaBenchMemory memory(narrow, 2 * kMiB);
  CudaTimer timer(narrow);
  CudaKernelSubject subject(*network, 0, ItemOf(network, 0).launch, BenchProtocol::kStep, narrow, memory, timer);
  LoopOptions loop = FewTimings();
  loop.least_timing = kMillisecond;
  loop.most_runs = 8;
  CHECK(MeasureLoop(subject, {.wall = &timer, .limit = &narrow}, loop).median == kKernel);
  CHECK_FALSE(subject.unheld());
  CHECK(narrow.violations() == std::vector<std::string>{});
}

TEST_CASE("what cannot be issued behind a hold is measured without one, and says so") {
  StandInOptions options = UsualStandIn();
  options.queue = 3;  // not even one kernel between its events
  CudaBench bench(options);
  const LoopResult result = bench.Measure(ItemOf(SmallBenchNetwork(), 0));
  CHECK(result.unheld);
  CHECK(result.median < 10 * kKernel);  // and no hold of 100 ms
  CHECK(bench.Measure(CopyItem("pinned", "h2d", 8 * kMiB)).median < 2 * static_cast<double>(kMiB));
  BenchItem call;
  call.kind = BenchItem::Kind::kHost;
  call.call = "kernel_launch";
  CHECK(bench.Measure(call).median < 20 * kMicrosecond);
  bench.CheckClean();
}

TEST_CASE("host calls are timed while their stream is held") {
  CudaBench bench;
  for (const std::string& call : CudaHostCallNames()) {
    BenchItem item;
    item.kind = BenchItem::Kind::kHost;
    item.call = call;
    const LoopResult result = bench.Measure(item);
    INFO(call);
    CHECK(result.timings > 0);
    if (call == "kernel_launch" || call == "copy_submit") CHECK(result.median == 2000);
  }
  bench.CheckClean();
}

}  // namespace spillway
