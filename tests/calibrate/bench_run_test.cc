// Carrying a plan out on a device that is made up: nothing is measured twice, whatever ends a run.
#include <catch2/catch.hpp>
#include <new>
#include <set>
#include <stdexcept>
#include <system_error>

#include "calibrate/measure/plan.h"
#include "model/samples/file.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/execute/device.h"
#include "tests/calibrate/made_up_bench.h"
#include "tests/temporary_folder.h"

namespace spillway {

TEST_CASE("everything is measured once, and a second run measures nothing") {
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice device;
  BenchJournal journal("");
  const BenchReport first = RunIt(plan, device, journal);
  CHECK(first.measured == device.measured);
  CHECK(first.measured == static_cast<int>(journal.samples().size()));
  CHECK(first.known == 0);
  CHECK(first.left_out == 0);
  CHECK_FALSE(first.stopped);
  for (const auto& [key, count] : Counted(journal)) CHECK(count == 1);
  const BenchReport second = RunIt(plan, device, journal);
  CHECK(second.measured == 0);
  CHECK(second.known == static_cast<int>(plan.size()));
}

TEST_CASE("rows hold the result and where it comes from") {
  MadeUpDevice device;
  BenchJournal journal("");
  RunIt(TinyPlan(), device, journal);
  const auto direct = std::find_if(journal.samples().begin(), journal.samples().end(),
                                   [](const Sample& sample) { return sample.algorithm == "direct"; });
  REQUIRE(direct != journal.samples().end());
  CHECK(direct->microseconds == 1000);
  CHECK(direct->repetitions == 10);
  CHECK(direct->workspace == 100);
  CHECK(direct->network == "cifar-resnet20");
  CHECK(direct->date == "2020-01-01");
  CHECK(direct->kind == "step");
  // What is written is read again.
  const SampleSet set = ParseRows(SampleHeader() + SampleLine(*direct), "x.csv");
  REQUIRE(set.samples.size() == 1);
  CHECK(BenchKey(set.samples[0]) == BenchKey(*direct));
  CHECK(set.samples[0].spread == direct->spread);
}

TEST_CASE("killed at any moment, twenty times: resumed runs measure what is missing and nothing twice") {
  const TemporaryFolder folder("run");
  const std::string path = folder.Path("a.samples.csv");
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice whole;
  BenchJournal expected("");
  RunIt(plan, whole, expected);
  Random random(4);
  int measured = 0;
  for (int kill = 0; kill <= 20; ++kill) {
    MadeUpDevice device;
    device.lives = kill == 20 ? -1 : static_cast<long>(random.Below(12));
    {
      BenchJournal journal(path);
      journal.Resume(MadeUpIdentity());
      CHECK(journal.resumed() == measured);
      try {
        RunIt(plan, device, journal);
      } catch (const Killed&) {
      }
    }
    measured += device.measured;
    if (kill == 20) break;
    // Some kills tear the line that was being written.
    if (random.Below(2) == 0) {
      const std::string text = folder.Read("a.samples.csv");
      folder.Write("a.samples.csv", text + text.substr(text.size() - 20, 12));
    }
  }
  BenchJournal journal(path);
  journal.Resume(MadeUpIdentity());
  CHECK(Counted(journal) == Counted(expected));
  CHECK(measured == whole.measured);
}

TEST_CASE("a stop ends the run between two measurements") {
  MadeUpDevice device;
  BenchJournal journal("");
  const BenchReport report = RunIt(TinyPlan(), device, journal, 9);
  CHECK(report.stopped);
  CHECK(report.left_out > 0);
  CHECK(device.measured <= 9);
  CHECK(device.measured > 0);
}

TEST_CASE("the budget is shared among the groups") {
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice device;
  BenchJournal journal("");
  StopAfter watcher(kNeverStops);
  // A second each. Of 60, copies may take 12 (there are as many) and host calls what they want; networks are begun until
  // 36 have passed, what runs beside copies until 39.6; there is no grid, and the rest goes to what was late.
  const BenchReport report =
      RunBench(plan, device, device, {.budget = 60 * kSecond, .loop = {}, .date = ""}, journal, watcher);
  CHECK(device.now > 60 * kSecond);
  CHECK(device.now <= 63 * kSecond);  // the last launch has two algorithms
  CHECK(report.left_out > 0);
  // The last ones are first looks at launches of the network.
  CHECK(RoundOf(journal.samples().back()) == 1);
  CHECK(journal.samples().back().contention == "none");
  CHECK(watcher.done == std::vector<BenchGroup>{BenchGroup::kCopies, BenchGroup::kHost, BenchGroup::kNetworks,
                                                BenchGroup::kBeside, BenchGroup::kAgain});
}

TEST_CASE("what the journal has is not left out, however late it is") {
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice device;
  BenchJournal whole("");
  RunIt(plan, device, whole);
  // A journal of everything but the copies: the first one takes longer than the whole budget.
  BenchJournal journal("");
  for (const Sample& sample : whole.samples()) {
    if (sample.what != SampleKind::kCopy) journal.Append(sample);
  }
  const auto copies = static_cast<int>(std::count_if(
      plan.begin(), plan.end(), [](const BenchItem& item) { return item.kind == BenchItem::Kind::kCopy; }));
  REQUIRE(copies > 1);
  MadeUpDevice again;
  StopAfter watcher(kNeverStops);
  const BenchReport report =
      RunBench(plan, again, again, {.budget = kSecond / 2, .loop = {}, .date = ""}, journal, watcher);
  CHECK(again.measured == 1);
  CHECK(report.left_out == copies - 1);
  CHECK(report.known == static_cast<int>(plan.size()) - copies);
}

TEST_CASE("a launch of which a killed run left one algorithm is late, and measured when there is time after all") {
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice device;
  BenchJournal whole("");
  RunIt(plan, device, whole);
  BenchJournal journal("");
  Sample missing;
  for (const Sample& sample : whole.samples()) {
    const bool gone = missing.algorithm.empty() && sample.algorithm == "gemm" && sample.contention == "none";
    if (gone) missing = sample;
    if (!gone) journal.Append(sample);
  }
  REQUIRE(missing.algorithm == "gemm");
  MadeUpDevice again;
  again.now = 0;
  StopAfter watcher(kNeverStops);
  const BenchReport none = RunBench(plan, again, again, {.budget = -1, .loop = {}, .date = ""}, journal, watcher);
  CHECK(none.left_out == 1);
  CHECK(again.measured == 0);
  const BenchReport rest = RunIt(plan, again, journal);
  CHECK(rest.left_out == 0);
  CHECK(again.measured == 1);
  CHECK(Counted(journal) == Counted(whole));
}

TEST_CASE("what is stopped counts as left out unless the journal has it") {
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice device;
  BenchJournal journal("");
  RunIt(plan, device, journal);
  const BenchReport report = RunIt(plan, device, journal, 3);
  CHECK(report.stopped);
  CHECK(report.left_out == 0);
  CHECK(report.known == static_cast<int>(plan.size()));
}

TEST_CASE("a device or a system that fails is told as the user's error, and the journal keeps what there is") {
  const std::pair<std::function<void()>, std::string> failures[] = {
      {[] { throw DeviceError(Fault::kFailed, kNoInstruction, "no thread for stream 1"); }, "no thread for stream 1"},
      {[] { throw std::bad_alloc(); }, "there is not enough memory"},
      {[] { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "thread"); },
       "thread: "},
  };
  for (const auto& [fails, why] : failures) {
    MadeUpDevice device;
    device.fails = fails;
    BenchJournal journal("");
    std::string message;
    try {
      RunIt(TinyPlan(), device, journal);
    } catch (const UserError& error) {
      message = error.what();
    }
    CHECK(message.starts_with("host call event_record cannot be measured on this device: " + why));
    CHECK(static_cast<int>(journal.samples().size()) == device.measured);
    CHECK(device.measured > 0);
  }
}

TEST_CASE("what was late is measured when there is time after all") {
  const std::vector<BenchItem> plan = TinyPlan();
  MadeUpDevice whole;
  BenchJournal all("");
  RunIt(plan, whole, all);
  MadeUpDevice device;
  BenchJournal journal("");
  StopAfter watcher(kNeverStops);
  // Just enough for everything: groups run late on the way.
  const Nanos budget = whole.now + 2 * kSecond;
  const BenchReport report =
      RunBench(plan, device, device, {.budget = budget, .loop = {}, .date = ""}, journal, watcher);
  CHECK(report.left_out == 0);
  for (const auto& [key, count] : Counted(all)) {
    if (key.second == 1) CHECK(Counted(journal)[key] == 1);
  }
}

TEST_CASE("what is ten times slower than the best is cut short and not looked at again") {
  MadeUpDevice device;
  device.gemm = 11e6;
  BenchJournal journal("");
  RunIt(TinyPlan(), device, journal);
  CHECK(std::count(device.hopeless.begin(), device.hopeless.end(), 10e6) > 0);
  for (const Sample& sample : journal.samples()) {
    if (sample.algorithm != "gemm") continue;
    CHECK(HasFlag(sample, kCutShortNote));
    CHECK(RoundOf(sample) == 1);
  }
}

TEST_CASE("rivals are looked at again, others are not") {
  for (const double gemm : {1.1e6, 2e6}) {
    MadeUpDevice device;
    device.gemm = gemm;
    BenchJournal journal("");
    RunIt(TinyPlan(), device, journal);
    int again = 0, beside = 0;
    for (const Sample& sample : journal.samples()) {
      again += sample.algorithm == "gemm" && RoundOf(sample) == 3 ? 1 : 0;
      beside += sample.algorithm == "gemm" && sample.contention != "none" ? 1 : 0;
    }
    CHECK((again > 0) == (gemm < 1.15e6));
    CHECK(beside == 0);
  }
}

TEST_CASE("what was noisy comes first when things are measured again, launches of the grid included") {
  const auto network = MakeBenchNetwork("cifar-resnet20", BuildZooNetwork("cifar-resnet20", {.batch = 2}), {});
  const std::vector<BenchItem> plan = MakeBenchPlan({network}, BenchGrid(), {.quick = true});
  MadeUpDevice device;
  device.noisy = OpKind::kSoftmaxLoss;
  BenchJournal journal("");
  const BenchReport report = RunIt(plan, device, journal);
  CHECK(report.noisy > 2);
  std::vector<OpKind> again;
  bool grid = false;
  for (const Sample& sample : journal.samples()) {
    if (RoundOf(sample) != 3) continue;
    again.push_back(sample.launch.kind);
    grid = grid || sample.network == "grid";
    CHECK((sample.network == "grid") <= (sample.launch.kind == OpKind::kSoftmaxLoss));
  }
  CHECK(grid);
  const auto others = std::find_if(again.begin(), again.end(), [](OpKind k) { return k != OpKind::kSoftmaxLoss; });
  CHECK(others - again.begin() > 2);
  CHECK(std::count(others, again.end(), OpKind::kSoftmaxLoss) == 0);
}

TEST_CASE("launches that the device refuses are told, the rest is measured") {
  MadeUpDevice device;
  device.refused = OpKind::kBatchNorm;
  BenchJournal journal("");
  const BenchReport report = RunIt(TinyPlan(), device, journal);
  CHECK(report.refused.size() > 2);
  CHECK(report.refused.front() == "no such kernel");
  CHECK(report.measured > 20);
  for (const Sample& sample : journal.samples()) CHECK(sample.launch.kind != OpKind::kBatchNorm);
}

}  // namespace spillway
