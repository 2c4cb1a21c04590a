// Carries a calibration out, and writes the profile whenever a group of measurements is done.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "calibrate/measure/profile.h"
#include "calibrate/measure/run.h"
#include "reports/html/page.h"
#include "scenarios/cli/calibrate_command.h"
#include "scenarios/file/bench_networks.h"
#include "scenarios/output/interrupts.h"
#include "scenarios/output/output_folder.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

constexpr int kFolds = 5;
constexpr const char* kHeader =
    "# Written by `spillway calibrate`; the samples that it comes from are in the journal beside it.\n"
    "# Keys, units and ranges: `spillway help machine`.\n";

std::string Today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm day{};
  gmtime_r(&now, &day);
  return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

// On a quiet machine the target is reached long before the time is up; on a busy one it pays more to come back in
// another round.
LoopOptions LoopOf(bool quick) {
  LoopOptions loop;
  loop.target = quick ? 0.05 : 0.03;
  loop.least = quick ? 3 : 6;
  loop.time_limit = (quick ? 40 : 80) * kMillisecond;
  return loop;
}

fs::path JournalOf(const fs::path& profile) {
  fs::path journal = profile;
  return journal.replace_extension(".samples.csv");
}

// ---- the profile

// One calibration while it goes on.
struct Calibration {
  const CalibrateAsked& asked;
  DeviceBackend& backend;
  const CalibrateSetup& setup;
  const BenchJournal& journal;
  Console& console;
};

class ProfileWriter : public BenchWatcher {
 public:
  ProfileWriter(const Calibration& calibration, Interrupts& interrupts)
      : of_(calibration),
        written_(of_.journal.samples().size()),
        begin_(of_.backend.clock().Now()),
        interrupts_(interrupts),
        lines_(of_.console) {}

  bool Stop() override { return interrupts_.Came(); }
  void Progress(const BenchItem& item, std::size_t done, std::size_t items) override;
  void GroupDone(BenchGroup group) override;
  // Returns the host as the profile has it.
  HostNode Write(const std::vector<std::string>& notes, int folds);
  void ClearLine() {
    if (of_.console.terminal) of_.console.Screen() << "\r\x1b[K" << std::flush;
  }

 private:
  const Calibration& of_;
  std::size_t written_ = 0;  // rows of the journal that are in the profile, or were there when this run began
  Nanos begin_;
  Interrupts& interrupts_;
  MinuteLines lines_;
};

void ProfileWriter::Progress(const BenchItem& item, std::size_t done, std::size_t items) {
  const Nanos left = std::max<Nanos>(0, of_.asked.budget - (of_.backend.clock().Now() - begin_)) / kSecond;
  const std::string text = fmt::format("calibrate {} {}/{}, at most {}:{:02} left", BenchGroupName(item.group), done,
                                       items, left / 60, left % 60);
  if (of_.console.terminal) of_.console.Screen() << "\r\x1b[K" << text << std::flush;
  lines_.Say(text);
}

// A long journal is resumed for one group's sake: fitting it anew after each of the others would take most of the time.
void ProfileWriter::GroupDone(BenchGroup group) {
  if (group != BenchGroup::kAgain && of_.journal.samples().size() > written_)
    Write({fmt::format("the calibration was cut off after '{}'", BenchGroupName(group))}, 0);
}

HostNode ProfileWriter::Write(const std::vector<std::string>& notes, int folds) {
  BenchFacts facts = of_.setup.facts;
  facts.notes.insert(facts.notes.end(), notes.begin(), notes.end());
  facts.memory = of_.backend.HostMemory();
  written_ = of_.journal.samples().size();
  const Machine machine = MachineOfBench(of_.journal.samples(), facts, folds);
  WriteFile(of_.asked.out, kHeader + ReadableProfile(machine));
  WriteFile(std::filesystem::path(of_.asked.out).replace_extension(".report.html"),
            CalibrationPage(of_.journal.samples(), machine));
  return machine.hosts.at(0);
}

std::vector<std::string> NotesOf(const BenchReport& report, const BenchJournal& journal) {
  std::vector<std::string> notes;
  const auto noisy = std::count_if(journal.samples().begin(), journal.samples().end(),
                                   [](const Sample& sample) { return HasFlag(sample, kNoisyNote); });
  if (const double load = MedianLoad(journal.samples()); load > 0) {
    notes.push_back(fmt::format("load of the machine while it was measured: {:.1f} (median)", load));
  }
  if (report.stopped) notes.emplace_back("interrupted: what was not measured is predicted by models, or assumed");
  if (report.left_out > 0) notes.push_back(fmt::format("the budget left out {} measurements", report.left_out));
  if (noisy > 0) notes.push_back(fmt::format("{} of {} samples stayed noisy", noisy, journal.samples().size()));
  if (!report.refused.empty()) {
    notes.push_back(fmt::format("{} launches cannot run on this device; the first: {}", report.refused.size(),
                                report.refused.front()));
  }
  return notes;
}

void Summarise(const Calibration& of, const BenchReport& report, const HostNode& host) {
  std::ostream& err = of.console.err;
  err << fmt::format("{}: {} samples measured, {} of them noisy; {} were in the journal; {} left out for time\n",
                     of.journal.path(), report.measured, report.noisy, of.journal.resumed(), report.left_out);
  if (WasBusy(of.journal.samples(), of.setup.facts)) {
    err << fmt::format("warning: the machine is busy (load {:.1f} on {} cores); calibrate again when it is not\n",
                       MedianLoad(of.journal.samples()), of.setup.facts.cores);
  }
  for (const auto* list : {&of.setup.not_measured, &report.refused}) {
    for (const std::string& what : *list) err << "not measured: " << what << "\n";
  }
  err << fmt::format("{}: profile written; {} of the host's {} may be pinned{}\n", of.asked.out,
                     FormatBytes(host.pinned_limit), FormatBytes(host.memory),
                     report.stopped ? "; interrupted: --resume goes on" : "");
}

// A name that stands for nothing here is a mistake rather than nothing to do.
void CheckGroups(const std::vector<BenchGroup>& groups, const std::vector<BenchItem>& plan) {
  for (const BenchGroup group : groups) {
    if (std::any_of(plan.begin(), plan.end(), [&](const BenchItem& item) { return item.group == group; })) continue;
    throw UserError(
        fmt::format("--groups: with these options nothing of '{}' is measured on this device", BenchGroupName(group)));
  }
}

CalibrateRequest RequestOf(const CalibrateAsked& asked, const DeviceBackend& backend, const std::string& date) {
  CalibrateRequest request;
  request.networks = BenchNetworksOf(asked.networks.empty() ? backend.UsualNetworks() : asked.networks);
  request.protocol = asked.protocol;
  request.link_rate = asked.link_rate;
  request.threads = asked.threads;
  request.quick = asked.quick;
  request.no_grid = asked.no_grid;
  request.groups = asked.groups;
  request.date = date;
  return request;
}

void OpenJournal(bool resume, const Sample& identity, BenchJournal* journal, Console& console) {
  if (!resume) return journal->Create();
  for (const std::string& warning : journal->Resume(identity)) console.err << "warning: " << warning << "\n";
}

}  // namespace

ExitCode CalibrateWith(DeviceBackend& backend, const CalibrateAsked& asked, Console& console) {
  const std::string date = Today();
  Interrupts interrupts;  // before there are threads
  CalibrateSetup setup = backend.Calibrate(RequestOf(asked, backend, date));
  CheckGroups(asked.groups, setup.plan);
  setup.facts.name = fs::path(asked.out).stem().string();
  setup.facts.pinned_limit = asked.pinned_limit;
  BenchJournal journal(JournalOf(asked.out).string());
  OpenJournal(asked.resume, setup.target->Identity(), &journal, console);
  const Calibration calibration{asked, backend, setup, journal, console};
  ProfileWriter writer(calibration, interrupts);
  std::error_code ignored;
  if (!fs::exists(asked.out, ignored)) writer.Write({"the calibration was cut off before anything was measured"}, 0);
  const BenchRunOptions run{.budget = asked.budget, .loop = LoopOf(asked.quick), .date = date};
  const BenchReport report = RunBench(setup.plan, *setup.target, backend.clock(), run, journal, writer);
  writer.ClearLine();
  const HostNode host = writer.Write(NotesOf(report, journal), kFolds);
  Summarise(calibration, report, host);
  return report.stopped ? kExitInterrupted : kExitDone;
}

}  // namespace spillway
