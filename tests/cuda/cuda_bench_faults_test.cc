// Memory that comes by faults, as it is measured on the CUDA device: over a stand-in whose times are known.
#include <catch2/catch.hpp>

#include "calibrate/devices/cuda/bench_copy.h"
#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/measure/profile.h"
#include "hw/text/document.h"
#include "tests/cuda/cuda_bench_rows.h"

namespace spillway {

TEST_CASE("pages that nobody fetched come by faults, to the kernel that reads them and to the host") {
  StandInOptions options = UsualStandIn();
  options.fault_rate = 2;
  options.device_rate = 0;
  CudaBench bench(options);
  const double bytes = 8 * static_cast<double>(kMiB);
  CHECK(bench.Measure(CopyItem(kManagedTouch, "h2d", 8 * kMiB)).median == Approx(kKernel + bytes / 2));
  CHECK(bench.Measure(CopyItem(kManagedTouch, "d2h", 8 * kMiB)).median == Approx(bytes / 2));
  // Smaller ones in the same memory, each timing from the other side again.
  CHECK(bench.Measure(CopyItem(kManagedTouch, "h2d", kMiB)).median == Approx(kKernel + bytes / 16));
  CHECK(bench.Measure(CopyItem(kManagedTouch, "d2h", kMiB)).median == Approx(bytes / 16));
  bench.CheckClean();
}

TEST_CASE("faults are bounded as prefetches are, and refused without unified memory") {
  CudaBench bench;  // 4 GiB
  CHECK_THROWS_WITH(bench.Measure(CopyItem(kManagedTouch, "h2d", 2 * kGiB)),
                    Catch::Contains("managed memory are too much"));
  bench.CheckClean();
  StandInOptions options = UsualStandIn();
  options.properties.managed_memory = false;
  CudaBench without(options);
  CHECK_THROWS_AS(without.Measure(CopyItem(kManagedTouch, "h2d", kMiB)), UserError);
  without.CheckClean();
}

TEST_CASE("a profile has the curves of faults, both ways") {
  StandInOptions options = UsualStandIn();
  options.fault_rate = 2;
  CudaBench bench(options);
  std::vector<BenchItem> plan;
  for (const char* direction : {"h2d", "d2h"}) {
    for (const char* kind : {"pinned", kManagedTouch}) {
      for (Bytes bytes = 512 * kKiB; bytes <= 32 * kMiB; bytes *= 4) plan.push_back(CopyItem(kind, direction, bytes));
    }
  }
  BenchJournal journal("");
  CHECK(RunOver(plan, bench, journal).refused == std::vector<std::string>{});
  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  const Machine machine = MachineOfBench(ReadBack(journal), facts, 0);
  const OtherMemory* const touched = machine.links.at(0).FindOtherMemory(OtherMemory::Kind::kManagedTouch);
  REQUIRE(touched != nullptr);
  CHECK(touched->curves[0].Rate() == Approx(2).epsilon(0.02));
  CHECK(touched->curves[1].Rate() == Approx(2).epsilon(0.02));
  bench.CheckClean();
}

}  // namespace spillway
