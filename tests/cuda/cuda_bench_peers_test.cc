// Copies between two devices, as they are measured on the CUDA device, and where they and all else that no step has come in
// the plan: over a stand-in whose times are known.
#include <catch2/catch.hpp>
#include <set>

#include "calibrate/devices/cuda/bench_copy.h"
#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/fit/transfer.h"
#include "hw/text/document.h"
#include "tests/cuda/cuda_bench_rows.h"

namespace spillway {
namespace {

using Catch::Contains;
using What = StandInFault::What;

StandInOptions Two() {
  StandInOptions options = UsualStandIn();
  options.devices = 2;
  options.peer_rate = 16;
  options.staged_rate = 2;
  return options;
}

BenchItem PeerItem(const char* kind, int from, int to, Bytes bytes) {
  BenchItem item = CopyItem(kind, "d2d", bytes);
  item.link = "cuda" + std::to_string(from) + "-cuda" + std::to_string(to);
  item.from_device = from;
  item.to_device = to;
  return item;
}

}  // namespace

TEST_CASE("copies between two devices take what lies between them: straight, or through the host") {
  CudaBench bench(Two());
  const double bytes = 8 * static_cast<double>(kMiB);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    CHECK(bench.Measure(PeerItem(kPeerCopies, from, to, 8 * kMiB)).median == Approx(500 + bytes / 16));
    CHECK(bench.Measure(PeerItem(kStagedCopies, from, to, 8 * kMiB)).median == Approx(500 + bytes / 2));
    CHECK(bench.Measure(PeerItem(kPeerCopies, from, to, 64 * kKiB)).median == Approx(500 + 64 * 1024 / 16));
    CHECK(bench.cuda->peer_access().empty());  // as it was found
  }
  bench.CheckClean();
}

TEST_CASE("peer access that was there before stays") {
  CudaBench bench(Two());
  CHECK(bench.cuda->EnablePeerAccess(0, 1));
  CHECK(bench.Measure(PeerItem(kPeerCopies, 0, 1, kMiB)).median == Approx(500 + 1024 * 1024 / 16));
  CHECK(bench.cuda->peer_access() == std::set<std::pair<int, int>>{{0, 1}});
  bench.cuda->DisablePeerAccess(0, 1);
  bench.CheckClean();
}

TEST_CASE("one device: no copies between devices, and one sentence says so") {
  CudaStandIn one(UsualStandIn());
  const CudaPeerPlan beyond = CudaPeerItems(one, false);
  CHECK(beyond.items.empty());
  REQUIRE(beyond.not_measured.size() == 1);
  CHECK_THAT(beyond.not_measured[0], Contains("this machine has one"));
  // Without a way between them only what goes through the host is left.
  StandInOptions options = Two();
  options.peers = false;
  CudaStandIn apart(options);
  const CudaPeerPlan staged = CudaPeerItems(apart, false);
  CHECK(staged.items.size() == 2 * 8);  // 64 KiB to 1 GiB
  for (const BenchItem& item : staged.items) CHECK(item.memory == kStagedCopies);
  REQUIRE(staged.not_measured.size() == 1);
  CHECK_THAT(staged.not_measured[0], Contains("cuda0 and cuda1"));
}

TEST_CASE("three devices: this one with each other, both ways, both kinds") {
  StandInOptions options = Two();
  options.devices = 3;
  CudaStandIn cuda(options);
  const CudaPeerPlan beyond = CudaPeerItems(cuda, false);
  CHECK(beyond.not_measured.empty());
  CHECK(beyond.items.size() == 2 * 2 * 2 * 8);
  std::set<std::string> links;
  for (const BenchItem& item : beyond.items) links.insert(item.link);
  CHECK(links == std::set<std::string>{"cuda0-cuda1", "cuda1-cuda0", "cuda0-cuda2", "cuda2-cuda0"});
  CHECK(CudaPeerItems(cuda, true).items.size() == 2 * 2 * 2 * 3);  // 64 KiB, 1 and 16 MiB
}

TEST_CASE("rows of copies between devices are read back, and no link of the profile is made of them") {
  CudaBench bench(Two());
  std::vector<BenchItem> plan = {CopyItem("pinned", "h2d", kMiB), CopyItem("pinned", "d2h", kMiB)};
  for (const char* kind : {kPeerCopies, kStagedCopies}) {
    for (const Bytes bytes : {kMiB, 4 * kMiB}) plan.push_back(PeerItem(kind, 0, 1, bytes));
  }
  BenchJournal journal("");
  CHECK(RunOver(plan, bench, journal).refused.empty());
  const std::vector<Sample> rows = ReadBack(journal);
  REQUIRE(rows.size() == 6);
  CHECK(rows[2].direction == "d2d");
  CHECK(rows[2].kind == kPeerCopies);
  CHECK(rows[2].link == "cuda0-cuda1");
  CHECK(rows[2].bytes == kMiB);
  CHECK(rows[5].kind == kStagedCopies);
  const TransferFit fit = FitTransfers(rows);
  REQUIRE(fit.links.size() == 1);
  CHECK(fit.links[0].link == "local");
  bench.CheckClean();
}

TEST_CASE("a device without room for its side is told, the other goes on") {
  StandInOptions options = Two();
  options.memory = 64 * kMiB;  // each
  CudaBench bench(options);
  void* const there = bench.cuda->MallocOn(1, 48 * kMiB);
  CHECK_THROWS_WITH(bench.Measure(PeerItem(kPeerCopies, 0, 1, 16 * kMiB)), Contains("cuda1 has to spare"));
  bench.cuda->FreeOn(1, there);
  CHECK(bench.Measure(PeerItem(kPeerCopies, 0, 1, kMiB)).median > 0);
  bench.CheckClean();
}

TEST_CASE("whatever fails while two devices copy, access is as it was and nothing leaks") {
  const std::vector<BenchItem> plan = {PeerItem(kPeerCopies, 0, 1, kMiB), PeerItem(kPeerCopies, 1, 0, kMiB)};
  const auto count = [&](What what) {
    CudaBench bench(Two());
    BenchJournal journal("");
    CHECK(RunOver(plan, bench, journal).refused.empty());
    return bench.cuda->count(what);
  };
  // Refused, and the other of the two goes on; or the device is lost, which ends it.
  for (const What what : {What::kPeer, What::kMalloc, What::kCopyCall, What::kCopyFails, What::kLost}) {
    const std::uint32_t calls = count(what);
    REQUIRE(calls > 0);
    for (std::uint32_t nth = 0; nth < calls; nth += std::max<std::uint32_t>(1, calls / 20)) {
      INFO(static_cast<int>(what) << " number " << nth);
      StandInOptions options = Two();
      options.fault = {what, nth};
      const auto cuda = std::make_shared<CudaStandIn>(options);
      bool lost = false;
      std::size_t rows = 0;
      try {
        CudaBenchTarget target(UsualBenchOptions(), cuda, *cuda);
        BenchJournal journal("");
        BenchWatcher watcher;
        const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
        RunBench(plan, target, *cuda, run, journal, watcher);
        rows = journal.samples().size();
      } catch (const UserError&) {
        lost = true;
      } catch (const DeviceError&) {  // before anything was measured
        lost = true;
      }
      CHECK(cuda->leaks() == "");
      const bool goes_on = what == What::kPeer || what == What::kCopyCall;
      if (goes_on) CHECK(rows == 1);
      if (what == What::kCopyFails || what == What::kLost) CHECK(lost);
    }
  }
}

TEST_CASE("the plan has faults after everything else, and copies between devices after the grid") {
  BenchPlanOptions options = CudaPlanOptions(false);
  for (std::size_t k = 0; k < BenchGroupNames().size(); ++k) options.groups.push_back(static_cast<BenchGroup>(k));
  CudaStandIn cuda(Two());
  options.beyond = CudaPeerItems(cuda, false).items;
  const auto network = SmallBenchNetwork();
  const std::vector<BenchItem> plan = MakeBenchPlan({network}, {network}, options);
  std::set<Bytes> sizes;
  std::size_t last_copy = 0, first_touch = plan.size(), first_beyond = plan.size(), peers = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    if (k > 0) CHECK(plan[k - 1].group <= plan[k].group);
    const bool beyond = plan[k].group == BenchGroup::kBeyond;
    if (beyond) first_beyond = std::min(first_beyond, k);
    CHECK((plan[k].from_device >= 0) == beyond);
    peers += plan[k].from_device >= 0 ? 1 : 0;
    if (plan[k].kind != BenchItem::Kind::kCopy || beyond) continue;
    if (plan[k].memory != kManagedTouch) {
      last_copy = k;
      continue;
    }
    first_touch = std::min(first_touch, k);
    sizes.insert(plan[k].bytes);
  }
  CHECK(first_touch > last_copy);
  CHECK(sizes == std::set<Bytes>{512 * kKiB, 2 * kMiB, 8 * kMiB, 32 * kMiB, 128 * kMiB});
  CHECK(peers == 2 * 2 * 8);
  CHECK(plan[first_beyond].from_device >= 0);
  CHECK(plan.back().group == BenchGroup::kManaged);
}

}  // namespace spillway
