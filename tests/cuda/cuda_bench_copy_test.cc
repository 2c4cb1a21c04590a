// Copies as they are measured on the CUDA device, by kind of memory, and what runs beside kernels and copies.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/cuda/cuda_bench.h"

namespace spillway {
namespace {

using Did = CudaStandIn::Work;

}  // namespace

TEST_CASE("copies take what the link takes, by kind of memory") {
  CudaBench bench;
  // Pinned, one behind the other: 500 ns and 8 bytes per nanosecond in, 4 out.
  CHECK(bench.Measure(CopyItem("pinned", "h2d", 8 * kMiB)).median == Approx(500 + static_cast<double>(kMiB)));
  CHECK(bench.Measure(CopyItem("pinned", "d2h", 8 * kMiB)).median == Approx(500 + 2 * static_cast<double>(kMiB)));
  CHECK(bench.Measure(CopyItem("pinned", "h2d", 256)).median == Approx(532));
  // On the device 1000 bytes per nanosecond.
  CHECK(bench.Measure(CopyItem("device", "d2d", 1000 * 1024)).median == Approx(1024).margin(1));
  // The host's clock: each copy and each wait costs a call beside.
  CHECK(bench.Measure(CopyItem("pageable", "h2d", 8 * kMiB)).median > 500 + static_cast<double>(kMiB));
  CHECK(bench.Measure(CopyItem("managed_prefetch", "h2d", 8 * kMiB)).median > 0);
  BenchItem pitched = CopyItem("pitched", "d2h", 896 * 100);
  pitched.row_bytes = 896;
  pitched.pitch_bytes = 1792;
  CHECK(bench.Measure(pitched).median > 0);
  bench.CheckClean();
}

TEST_CASE("managed memory is never asked for beyond a quarter of what is free") {
  CudaBench bench;  // 4 GiB
  CHECK_THROWS_WITH(bench.Measure(CopyItem("managed_prefetch", "h2d", 2 * kGiB)),
                    Catch::Contains("managed memory are too"));
  bench.CheckClean();
}

TEST_CASE("without unified memory such copies are refused") {
  StandInOptions options = UsualStandIn();
  options.properties.managed_memory = false;
  CudaBench bench(options);
  CHECK_THROWS_AS(bench.Measure(CopyItem("managed_prefetch", "h2d", kMiB)), UserError);
  bench.CheckClean();
}

TEST_CASE("what runs beside runs all the time") {
  CudaBench bench;
  const auto network = SmallBenchNetwork();
  const auto covered = [&](Did measured) {
    // The last timing: from its hold on, copies of 32 MiB (or of the measured size) on a second stream.
    const std::vector<CudaStandIn::Done>& done = bench.cuda->done();
    std::size_t last = done.size();
    while (done[--last].work != measured || done[last].stream == done.back().stream) continue;
    double begin = 1e300, end = 0;
    for (std::size_t k = 0; k < done.size(); ++k) {
      if (done[k].work != Did::kCopy || done[k].stream == done[last].stream) continue;
      if (done[k].end < done[last].start) continue;
      begin = std::min(begin, done[k].start);
      end = std::max(end, done[k].end);
    }
    return begin <= done[last].start && end >= done[last].end;
  };
  BenchItem kernel = ItemOf(network, FirstConvolution(*network));
  for (const char* direction : {"h2d", "d2h"}) {
    kernel.contention = direction;
    CHECK(bench.Measure(kernel).median == kKernel);
    CHECK(covered(Did::kKernel));
  }
  BenchItem copy = CopyItem("pinned", "h2d", 8 * kMiB);
  copy.contention = "d2h";
  CHECK(bench.Measure(copy).median == Approx(500 + static_cast<double>(kMiB)));
  CHECK(covered(Did::kCopy));
  bench.CheckClean();
}

TEST_CASE("copies beside fill no queue") {
  StandInOptions options = UsualStandIn();
  options.kernel_time = [](const OpCall&) { return 5e6; };  // 512 copies of 10 us would last as long, 256 do not
  options.copy_latency = 10'000;
  options.copy_rate = {1e6, 1e6};
  options.queue = 300;
  CudaBench bench(options);
  BenchItem kernel = ItemOf(SmallBenchNetwork(), 0);
  kernel.contention = "h2d";
  CHECK_THROWS_WITH(bench.Measure(kernel), Catch::Contains("no number of copies"));
  for (const CudaStandIn::Done& done : bench.cuda->done()) {
    if (done.work == Did::kHold) CHECK(done.end - done.start < static_cast<double>(kCudaLongestHold));
  }
  bench.CheckClean();
}

}  // namespace spillway
