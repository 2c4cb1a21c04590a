// Whether copies carry their bytes, before they are timed: what goes wrong on the way is found, and says which way.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "calibrate/devices/cuda/bench_checks.h"
#include "calibrate/measure/refused.h"
#include "tests/cuda/cuda_bench.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using What = StandInFault::What;

constexpr std::uint32_t kPieces = 3;  // of a MiB

// The usual stand-in whose `nth` copy arrives with a wrong byte.
StandInOptions Corrupting(std::uint32_t nth) {
  StandInOptions options = UsualStandIn();
  options.fault = {What::kCopyCorrupts, nth};
  return options;
}

// What is said of copies in this direction; "" where nothing is wrong.
std::string MessageOf(CudaBench& bench, const std::string& direction, Bytes bytes = 4096) {
  try {
    bench.Measure(CopyItem("pinned", direction, bytes));
  } catch (const WrongCopy& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a byte that a copy changes is found, with direction, place and checksums") {
  CudaBench in(Corrupting(0));  // the first copy of all is the one in one piece
  const std::string message = MessageOf(in, "h2d");
  CHECK_THAT(message, Catch::StartsWith(
                          "h2d copies of pinned memory do not arrive as they were sent: of 1.05 MB in one copy the 8 "
                          "bytes from 524288 on are others; checksum ") &&
                          Catch::Contains("expected, ") && Catch::Contains("found (read back in small pieces"));
  // Two checksums, which differ.
  const std::size_t expected = message.find("checksum ") + 9, found = message.find("expected, ") + 10;
  CHECK(message.substr(expected, 16).find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(message.substr(found, 16).find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(message.substr(expected, 16) != message.substr(found, 16));
  // It stays so: nothing is measured that way. The other way is none the worse.
  CHECK(MessageOf(in, "h2d", kMiB) == message);
  CHECK(MessageOf(in, "d2h").empty());
  in.CheckClean();

  CudaBench out(Corrupting(kPieces));
  CHECK_THAT(MessageOf(out, "d2h"), Catch::StartsWith("d2h copies") && Catch::Contains("bytes from 524288 on") &&
                                        Catch::Contains("put there in small pieces"));
  CHECK(MessageOf(out, "h2d").empty());
  out.CheckClean();
}

TEST_CASE("a byte that is changed on the way round is found too") {
  for (const char* direction : {"h2d", "d2h"}) {
    for (std::uint32_t nth = 0; nth <= kPieces; ++nth) {
      INFO(direction << " " << nth);
      CudaBench bench(Corrupting(nth));
      CHECK_THAT(MessageOf(bench, direction), Catch::StartsWith(direction));
      bench.CheckClean();
    }
  }
}

TEST_CASE("bytes are looked at once in each direction, of pinned memory alone, and not where that is not wanted") {
  const auto copies = [](Bytes checked, const BenchItem& item) {
    const auto cuda = std::make_shared<CudaStandIn>(UsualStandIn());
    CudaBenchOptions options = UsualBenchOptions();
    options.checked = checked;
    CudaBenchTarget target(options, cuda, *cuda);
    target.Measure(item, {}, FewTimings());
    const std::uint32_t first = cuda->count(What::kCopyCorrupts);
    target.Measure(item, {}, FewTimings());
    const std::uint32_t second = cuda->count(What::kCopyCorrupts) - first;
    return first - second;
  };
  for (const char* direction : {"h2d", "d2h"}) {
    CHECK(copies(kMiB, CopyItem("pinned", direction, 4096)) == kPieces + 1);
    CHECK(copies(0, CopyItem("pinned", direction, 4096)) == 0);
    CHECK(copies(kMiB, CopyItem("pageable", direction, 4096)) == 0);
  }
}

TEST_CASE("copies that go wrong are left out of a calibration by name, and the next one tries them again") {
  const TemporaryFolder folder("copy_check");
  const std::string path = folder.Path("x.samples.csv");
  const std::vector<BenchItem> plan = {CopyItem("pinned", "h2d", 4096), CopyItem("pinned", "d2h", 4096)};
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = kSecond * 1'000'000, .loop = FewTimings(), .date = "2020-01-01"};
  {
    CudaBench bench(Corrupting(0));
    BenchJournal journal(path);
    journal.Create();
    const BenchReport report = RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher);
    REQUIRE(report.refused.size() == 1);
    CHECK_THAT(report.refused[0], Catch::StartsWith("h2d copies of pinned memory do not arrive"));
    CHECK(report.measured == 1);
    bench.CheckClean();
  }
  CHECK_FALSE(std::filesystem::exists(RefusedPath(path)));
  CudaBench bench;
  BenchJournal journal(path);
  journal.Resume(bench.target->Identity());
  CHECK(RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher).measured == 1);
}

}  // namespace spillway
