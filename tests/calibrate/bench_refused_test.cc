// What a device refuses is remembered beside the journal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "calibrate/measure/refused.h"
#include "model/samples/file.h"
#include "tests/bench_samples.h"
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

TEST_CASE("what was refused is read again with its message, and told once; a torn line costs itself alone") {
  const TemporaryFolder folder("refused");
  const std::string path = folder.Path("a.refused");
  CHECK_FALSE(BenchRefused(path).Has(ReluSample(1, 1)));
  {
    BenchRefused refused(path);
    refused.Add(ReluSample(1, 1), "first\nof\ttwo lines");
    refused.Add(ReluSample(2, 1), "second");
    refused.Add(ReluSample(1, 1, 3), "not again");
    std::vector<std::string> messages;
    CHECK(refused.Tell(ReluSample(1, 1), &messages));
    CHECK(messages.empty());  // told when it was added
  }
  const std::string whole = folder.Read("a.refused");
  CHECK(std::count(whole.begin(), whole.end(), '\n') == 2);
  BenchRefused again(path);
  std::vector<std::string> messages;
  for (const int round : {1, 2}) {
    CHECK(again.Tell(ReluSample(1, 9, round), &messages));
    CHECK(again.Tell(ReluSample(2, 9, round), &messages));
    CHECK_FALSE(again.Tell(ReluSample(3, 9, round), &messages));
  }
  CHECK(messages == std::vector<std::string>{"first of two lines", "second"});
  for (std::size_t size = whole.find('\n') + 1; size < whole.size(); size += 5) {
    INFO(size);
    folder.Write("a.refused", whole.substr(0, size));
    BenchRefused(path).Add(ReluSample(7, 1), "third");
    const BenchRefused torn(path);
    CHECK(torn.Has(ReluSample(1, 1)));
    CHECK(torn.Has(ReluSample(7, 1)));
    CHECK(torn.Has(ReluSample(2, 1)) == (size > whole.rfind('\t')));
  }
}

}  // namespace spillway
