// What a device refuses is remembered beside the journal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "calibrate/measure/refused.h"
#include "calibrate/sample/file.h"
#include "tests/calibrate/made_up_bench.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// A device that refuses an algorithm and all of an op, and a run of it that goes on.
struct Refusing {
  explicit Refusing(const std::function<void()>& refuses) {
    device.refuses = refuses;
    device.refused = OpKind::kBatchNorm;
  }
  BenchReport Resume(const std::string& path, Nanos budget = 1'000'000 * kSecond) {
    BenchJournal journal(path);
    journal.Resume(MadeUpIdentity());
    StopAfter watcher(kNeverStops);
    device.now = 0;
    device.measured = device.refusals = 0;
    return RunBench(TinyPlan(), device, device, {.budget = budget, .loop = {}, .date = ""}, journal, watcher);
  }
  MadeUpDevice device;
};

}  // namespace

TEST_CASE("what the device refused is known when a run goes on: not tried again, not left out, told once") {
  const TemporaryFolder folder("refused");
  const std::string path = folder.Path("a.samples.csv");
  Refusing all([] { throw UserError("no gemm"); });
  const BenchReport first = all.Resume(path);
  CHECK(std::count(first.refused.begin(), first.refused.end(), "no gemm") > 2);
  CHECK(std::count(first.refused.begin(), first.refused.end(), "no such kernel") > 2);
  CHECK(static_cast<int>(first.refused.size()) == all.device.refusals);
  for (const Nanos budget : {1'000'000 * kSecond, Nanos{-1}}) {  // all is late by the second
    INFO(budget);
    const BenchReport report = all.Resume(path, budget);
    CHECK(all.device.refusals == 0);
    CHECK(report.measured == 0);
    CHECK(report.left_out == 0);
    CHECK(report.known >= static_cast<int>(TinyPlan().size()));
    CHECK(std::multiset<std::string>(report.refused.begin(), report.refused.end()) ==
          std::multiset<std::string>(first.refused.begin(), first.refused.end()));
  }
  std::filesystem::remove(RefusedPath(path));
  CHECK(all.Resume(path).refused.size() == first.refused.size());
  CHECK(all.device.refusals == static_cast<int>(first.refused.size()));
}

TEST_CASE("what had no room is tried again when a run goes on") {
  const TemporaryFolder folder("no_room");
  const std::string path = folder.Path("a.samples.csv");
  Refusing some([] { throw NoRoom("too much"); });
  some.device.refused = OpKind::kCopy;
  const auto refused = some.Resume(path).refused.size();
  CHECK(refused > 2);
  CHECK_FALSE(std::filesystem::exists(RefusedPath(path)));
  CHECK(some.Resume(path).refused.size() == refused);
  CHECK(some.device.measured == 0);
  some.device.refuses = {};
  CHECK(some.Resume(path).refused.empty());
  CHECK(some.device.measured >= static_cast<int>(refused));
}

TEST_CASE("a launch of which one algorithm was refused and one is missing is not known") {
  const TemporaryFolder folder("half_refused");
  const std::string path = folder.Path("a.samples.csv");
  Refusing all([] { throw UserError("no gemm"); });
  all.Resume(path);
  std::string text = SampleHeader();
  int gone = 0;
  for (const Sample& sample : ParseRows(folder.Read("a.samples.csv"), path).samples) {
    const bool direct = sample.algorithm == "direct";
    if (direct) ++gone;
    if (!direct) text += SampleLine(sample);
  }
  const std::vector<BenchItem> plan = TinyPlan();
  const auto convolutions = std::count_if(plan.begin(), plan.end(), [](const BenchItem& item) {
    return item.kind == BenchItem::Kind::kKernel && item.launch.kind == OpKind::kConvolution;
  });
  folder.Write("a.samples.csv", text);
  CHECK(all.Resume(path, -1).left_out == convolutions);  // of all rounds, beside copies too
  CHECK(all.Resume(path).measured == gone);
}

}  // namespace spillway
