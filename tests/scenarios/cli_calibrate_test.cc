// spillway calibrate as a user meets it, and as whatever kills it leaves it. Timings decide nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "calibrate/host/pin.h"
#include "calibrate/measure/journal.h"
#include "model/profile/machine.h"
#include "model/samples/file.h"
#include "model/step/launch.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "scenarios/cli/calibrate_command.h"
#include "scenarios/file/bench_networks.h"
#include "tests/bench_samples.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

constexpr const char* kTiny =
    "name: tiny\n"
    "input: {channels: 3, image: 8}\n"
    "layers:\n"
    "  - {name: conv, kind: convolution, out: 8, window: 3, pad: 1, bias: true}\n"
    "  - {name: relu, kind: relu}\n"
    "  - {name: fc, kind: linear, out: 10}\n"
    "  - {name: loss, kind: softmax_loss}\n";

class Tiny {
 public:
  Tiny() : folder_("calibrate"), network_(folder_.Write("tiny.yaml", kTiny) + ":2") {}

  std::vector<std::string> Words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"calibrate", "--device",  "cpu",     "-o",          Profile(), "--networks",
                                      network_,    "--no-grid", "--quick", "--link-rate", "8 GB/s"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string Profile() const { return folder_.Path("mine.yaml"); }
  std::string Journal() const { return folder_.Read("mine.samples.csv"); }
  std::string JournalPath() const { return folder_.Path("mine.samples.csv"); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string network_;
};

// Runs the command line in a process of its own and sends it a signal after a while; how it ended, as waitpid() says.
int RunAndKill(const std::vector<std::string>& words, int signal, std::chrono::milliseconds after) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int caught : {SIGINT, SIGTERM}) std::signal(caught, SIG_DFL);  // the test runner's handlers print
    int status = 99;
    try {
      status = Spillway(words).status;
    } catch (...) {
    }
    _exit(status);
  }
  std::this_thread::sleep_for(after);
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Whole rows of the journal, each of another measurement.
std::size_t CheckJournal(const std::string& text) {
  const std::string whole = text.substr(0, text.rfind('\n') + 1);
  if (whole.size() <= SampleHeader().size()) return 0;
  std::set<std::pair<std::string, int>> keys;
  const SampleSet set = ParseRows(whole, "mine.samples.csv");
  for (const Sample& sample : set.samples) keys.emplace(BenchKey(sample), RoundOf(sample));
  CHECK(keys.size() == set.samples.size());
  return set.samples.size();
}

}  // namespace

TEST_CASE("killed and interrupted twenty times: files stay valid, nothing is measured twice, the end is reached") {
  const Tiny tiny;
  Random random(11);
  std::size_t rows = 0;
  int cut = 0;  // runs that did not reach the end
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    const int signals[] = {SIGKILL, SIGINT, SIGTERM};
    const int signal = signals[random.Below(3)];
    const int status = RunAndKill(tiny.Words({"--resume"}), signal, std::chrono::milliseconds(random.Below(100)));
    INFO(kill_number << " signal " << signal << " status " << status);
    // Before the handler is there a signal ends the process as usual; afterwards it leaves in good order.
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == signal;
    const bool left =
        WIFEXITED(status) && (WEXITSTATUS(status) == kExitInterrupted || WEXITSTATUS(status) == kExitDone);
    CHECK((killed || left));
    cut += killed || WEXITSTATUS(status) == kExitInterrupted ? 1 : 0;
    if (std::filesystem::exists(tiny.Profile())) CHECK_NOTHROW(LoadMachine(tiny.Profile()));
    if (!std::filesystem::exists(tiny.JournalPath())) continue;
    const std::size_t now = CheckJournal(tiny.Journal());
    CHECK(now >= rows);
    rows = now;
  }
  CHECK(cut >= 5);  // or there was nothing to be torn
  const Outcome rest = Spillway(tiny.Words({"--resume"}));
  CHECK(rest.status == kExitDone);
  CHECK(Contains(rest.err, std::to_string(rows) + " were in the journal"));
  const std::string journal = tiny.Journal();
  CHECK(CheckJournal(journal) >= rows);
  const Machine machine = LoadMachine(tiny.Profile());
  CHECK(machine.name == "mine");
  CHECK(machine.devices[0].measured.size() > 5);
  CHECK(machine.links[0].curves[0].source.kind == Source::Kind::kMeasured);
  CHECK(machine.devices[0].host_costs.source.kind == Source::Kind::kMeasured);

  // There is nothing left to do.
  const Outcome again = Spillway(tiny.Words({"--resume"}));
  CHECK(again.status == kExitDone);
  CHECK(Contains(again.err, ": 0 samples measured"));
  CHECK(tiny.Journal() == journal);
  Machine same = LoadMachine(tiny.Profile());
  same.notes = machine.notes;  // of the load
  CHECK(same == machine);

  // Without --resume, and as another set-up, the journal is left alone.
  const Outcome anew = Spillway(tiny.Words({}));
  CHECK(anew.status == kExitWrongInput);
  CHECK(Contains(anew.err, "--resume continues it"));
  const Outcome other = Spillway(tiny.Words({"--resume", "--protocol", "cold", "--threads", "2"}));
  CHECK(other.status == kExitWrongInput);
  CHECK(Contains(other.err, AllowedCores().size() > 1 ? "set-up" : "--threads: computes on 2 threads"));
  CHECK(tiny.Journal() == journal);
}

TEST_CASE("a budget ends a calibration, and the profile says what is missing") {
  const Tiny tiny;
  const Outcome outcome = Spillway(tiny.Words({"--budget", "1 ms"}));
  CHECK(outcome.status == kExitDone);
  const Machine machine = LoadMachine(tiny.Profile());
  const auto says_it = [](const std::string& note) { return Contains(note, "the budget left out"); };
  CHECK(std::count_if(machine.notes.begin(), machine.notes.end(), says_it) == 1);
  CHECK(machine.devices[0].source.kind == Source::Kind::kAssumed);
}

namespace {

// Times are made up. Keeps what the profile held when a kernel was asked for first.
class Looking : public BenchTarget {
 public:
  Looking(std::string profile, std::string* seen) : profile_(std::move(profile)), seen_(seen) {}
  Sample Identity() const override { return MadeUpIdentity(); }
  std::vector<BenchVariant> Variants(const BenchItem& /*item*/) override {
    std::ostringstream text;
    text << std::ifstream(profile_).rdbuf();
    if (seen_->empty()) *seen_ = text.str();
    return {{}};
  }
  LoopResult Measure(const BenchItem& item, const BenchVariant& /*variant*/, const LoopOptions& /*options*/) override {
    LoopResult result;
    const Work work = item.kind == BenchItem::Kind::kKernel ? CountWork(item.launch) : Work{};
    result.median = 1000 + work.flops / 10 + static_cast<double>(work.bytes) + static_cast<double>(item.bytes) / 8;
    result.p10 = result.p90 = result.median;
    result.timings = result.runs = 1;
    return result;
  }

 private:
  std::string profile_;
  std::string* seen_;
};

class StandingClock : public Clock {
 public:
  Nanos Now() const override { return 0; }
};

// A Looking is what is calibrated. The host has a GiB more each time that it is asked.
class LookingBackend : public DeviceBackend {
 public:
  LookingBackend(std::string profile, std::string* seen, const Clock& clock)
      : DeviceBackend(clock), profile_(std::move(profile)), seen_(seen) {}
  const DeviceTraits& traits() const override { return traits_; }
  void Need() override {}
  std::string Identity() override { return "made up"; }
  void CheckProfile(const Machine& /*profile*/) override {}
  std::vector<std::string> UsualNetworks() const override { return {"cifar-resnet20:2"}; }
  CalibrateSetup Calibrate(const CalibrateRequest& request) override {
    CalibrateSetup setup;
    setup.plan = MakeBenchPlan(request.networks, {}, {.quick = true});
    setup.facts.device = "cpu0";
    setup.facts.description = setup.facts.software = setup.facts.measured = "made up";
    setup.facts.cache = kMiB;
    setup.target = std::make_unique<Looking>(profile_, seen_);
    return setup;
  }
  std::unique_ptr<BenchTarget> Bench(const Machine& /*profile*/) override { return nullptr; }
  AskDevice Offers(const Machine& /*profile*/) override { return {}; }
  std::unique_ptr<ExecutionDevice> Open(const Machine& /*profile*/, const DeviceTerms& /*terms*/) override {
    return nullptr;
  }
  Bytes HostMemory() override { return ++gibibytes_ * kGiB; }
  double Room(const Machine& /*profile*/) override { return -1; }

 private:
  std::string profile_;
  std::string* seen_;
  DeviceTraits traits_;
  int gibibytes_ = 0;
};

// What the profile held after copies and host calls, which come before kernels.
std::string BeforeKernels(const TemporaryFolder& folder) {
  std::string seen;
  CalibrateAsked asked;
  asked.out = folder.Path("mine.yaml");
  asked.resume = true;
  std::ostringstream out, err;
  Console console{out, err};
  const StandingClock clock;
  LookingBackend backend(folder.Path("mine.yaml"), &seen, clock);
  CHECK(CalibrateWith(backend, asked, console) == kExitDone);
  CHECK(LoadMachine(folder.Path("mine.yaml")).name == "mine");  // at the end, whatever was there
  CHECK_FALSE(Contains(folder.Read("mine.yaml"), "cut off"));
  return seen;
}

}  // namespace

TEST_CASE("the profile is written after a group only where that measured something") {
  const TemporaryFolder folder("written");
  const std::string before = BeforeKernels(folder);
  CHECK(Contains(before, "cut off after 'host'"));
  // Memory of the host is what it is when a profile is written.
  CHECK(ParseMachine(before, "mine.yaml").hosts.at(0).memory <
        LoadMachine(folder.Path("mine.yaml")).hosts.at(0).memory);
  folder.Write("mine.yaml", "as it was");
  CHECK(BeforeKernels(folder) == "as it was");
  // Copies are missing, host calls are there.
  std::string text = SampleHeader();
  for (const Sample& sample : ParseRows(folder.Read("mine.samples.csv"), "mine.samples.csv").samples) {
    if (sample.what != SampleKind::kCopy) text += SampleLine(sample);
  }
  folder.Write("mine.samples.csv", text);
  CHECK(Contains(BeforeKernels(folder), "cut off after 'copies'"));
}

TEST_CASE(
    "of a scenario whose strategies run ops in parts, networks at powers of two below the batch are measured too") {
  const TemporaryFolder folder("bench-networks");
  folder.Write("tiny.yaml", kTiny);
  const auto batches = [&](const std::string& strategies) {
    const std::string scenario =
        folder.Write("scenario.yaml",
                     "name: x\nnetwork: {file: tiny.yaml, batch: [12, 4]}\nmachines: unit\nstrategies: " + strategies);
    std::vector<std::int64_t> found;
    for (const auto& network : BenchNetworksOf({scenario})) {
      CHECK(network->name == "tiny");
      found.push_back(network->step.batch);
    }
    return found;
  };
  CHECK(batches("[in-core, pooch]") == std::vector<std::int64_t>{12, 4});
  CHECK(batches("[in-core, ucudnn-wr]") == std::vector<std::int64_t>{12, 4, 8, 2, 1});
  CHECK(batches("swap-all-parts") == std::vector<std::int64_t>{12, 4, 8, 2, 1});
}

TEST_CASE("mistakes on the command line of calibrate") {
  const Tiny tiny;
  const auto says = [&](std::vector<std::string> words, const std::string& expected) {
    const Outcome outcome = Spillway(words);
    INFO(outcome.err);
    CHECK(outcome.status == kExitWrongInput);
    CHECK(Contains(outcome.err, expected));
    CHECK_FALSE(std::filesystem::exists(tiny.Profile()));
    CHECK_FALSE(std::filesystem::exists(tiny.JournalPath()));
  };
  says({"calibrate", "--device", "cuda:1000", "-o", tiny.Profile()}, "CUDA");  // no machine has so many
  says({"calibrate", "--device", "cuda:one", "-o", tiny.Profile()}, "expected a device such as cuda:0");
  says({"calibrate", "--device", "cpy", "-o", tiny.Profile()}, "did you mean 'cpu'?");
  says({"calibrate", "--device", "cpu", "-o", tiny.folder().Path("mine")}, "ends in .yaml");
  says({"calibrate", "--device", "cpu"}, "--output");
  says(tiny.Words({"--budget", "300"}), "--budget: expected a duration with a unit");
  says({"calibrate", "--device", "cpu", "-o", tiny.folder().Path(std::string(300, 'n') + ".yaml")},
       "nnn.samples.csv: error: the journal cannot be written: File name too long");
  says({"calibrate", "--device", "cpu", "-o", tiny.Profile(), "--link-rate", "2"}, "--link-rate: expected a rate");
  says(tiny.Words({"--pinned-limit", "100"}),
       "--pinned-limit: expected a size above 0 with a unit, as 100GiB, found '100'");
  says(tiny.Words({"--pinned-limit", "0 B"}), "found '0 B'");
  says({"calibrate", "--device", "cpu", "-o", tiny.Profile(), "--protocol", "hot"}, "expected step, cold or warm");
  says({"calibrate", "--device", "cpu", "-o", tiny.Profile(), "--networks", "cifar-vg,cifar-resnet20:0"},
       "did you mean 'cifar-vgg'");
  says({"calibrate", "--device", "cpu", "-o", tiny.Profile(), "--networks", "cifar-vgg:x"}, "expected NAME:BATCH");
}

}  // namespace spillway
