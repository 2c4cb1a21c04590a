// spillway calibrate: measures this machine and writes its profile, with the journal of what was measured beside it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "calibrate/measure/profile.h"
#include "calibrate/measure/run.h"
#include "hw/text/lists.h"
#include "reports/html/calibration_page.h"
#include "scenarios/run/output_folder.h"
#include "scenarios/verbs/command.h"
#include "scenarios/verbs/devices.h"
#include "scenarios/verbs/interrupts.h"
#include "sim/execute/clock.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

// A little less than a minute and five: the last fit and starting up take their time too.
constexpr Nanos kQuickBudget = 52 * kSecond, kFullBudget = 280 * kSecond;
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

// ---- what is asked for

Nanos BudgetOf(const Command& command) {
  if (command.budget.empty()) return command.quick ? kQuickBudget : kFullBudget;
  const auto budget = ParseDuration(command.budget);
  if (!budget || *budget <= 0) {
    throw UserError(fmt::format("--budget: expected a duration with a unit, as 300s, found '{}'", command.budget));
  }
  return *budget;
}

// On a quiet machine the target is reached long before the time is up; on a busy one it pays more to come back in
// another round.
LoopOptions LoopOf(const Command& command) {
  LoopOptions loop;
  loop.target = command.quick ? 0.05 : 0.03;
  loop.least = command.quick ? 3 : 6;
  loop.time_limit = (command.quick ? 40 : 80) * kMillisecond;
  return loop;
}

double LinkRateOf(const Command& command) {
  if (command.link_rate.empty()) return 0;
  const auto rate = ParseBandwidth(command.link_rate);
  if (!rate || *rate <= 0) {
    throw UserError(
        fmt::format("--link-rate: expected a rate with a unit, as \"2 GB/s\", found '{}'", command.link_rate));
  }
  return *rate;
}

Bytes PinnedLimitOf(const Command& command) {
  if (command.pinned_limit.empty()) return 0;
  const auto limit = ParseBytes(command.pinned_limit);
  if (!limit || *limit <= 0) {
    throw UserError(fmt::format("--pinned-limit: expected a size above 0 with a unit, as 100GiB, found '{}'",
                                command.pinned_limit));
  }
  return *limit;
}

BenchProtocol ProtocolOf(const Command& command) {
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    if (command.protocol.empty() || command.protocol == BenchProtocolName(protocol)) return protocol;
  }
  throw UserError(fmt::format("--protocol: expected step, cold or warm, found '{}'", command.protocol));
}

fs::path JournalOf(const fs::path& profile) {
  fs::path journal = profile;
  return journal.replace_extension(".samples.csv");
}

void CheckOutput(const std::string& out) {
  std::error_code ignored;
  if (fs::is_directory(out, ignored)) throw UserError(fmt::format("--output: {} is a folder", out));
  if (fs::path(out).extension() == ".yaml") return;
  throw UserError(fmt::format("--output: a profile is a file that ends in .yaml, found '{}'", out));
}

// ---- the profile

class ProfileWriter : public BenchWatcher {
 public:
  ProfileWriter(const Command& command, const CalibrateSetup& setup, const BenchJournal& journal, Nanos budget,
                const Clock& clock, Interrupts& interrupts, Console& console)
      : command_(command),
        setup_(setup),
        journal_(journal),
        written_(journal.samples().size()),
        budget_(budget),
        clock_(clock),
        begin_(clock.Now()),
        interrupts_(interrupts),
        console_(console),
        lines_(console) {}

  bool Stop() override { return interrupts_.Came(); }
  void Progress(const BenchItem& item, std::size_t done, std::size_t items) override;
  void GroupDone(BenchGroup group) override;
  // Returns the host as the profile has it.
  HostNode Write(const std::vector<std::string>& notes, int folds);
  void ClearLine() {
    if (console_.terminal) console_.Screen() << "\r\x1b[K" << std::flush;
  }

 private:
  const Command& command_;
  const CalibrateSetup& setup_;
  const BenchJournal& journal_;
  std::size_t written_ = 0;  // rows of the journal that are in the profile, or were there when this run began
  Nanos budget_;
  const Clock& clock_;
  Nanos begin_;
  Interrupts& interrupts_;
  Console& console_;
  MinuteLines lines_;
};

void ProfileWriter::Progress(const BenchItem& item, std::size_t done, std::size_t items) {
  const Nanos left = std::max<Nanos>(0, budget_ - (clock_.Now() - begin_)) / kSecond;
  const std::string text = fmt::format("calibrate {} {}/{}, at most {}:{:02} left", BenchGroupName(item.group), done,
                                       items, left / 60, left % 60);
  if (console_.terminal) console_.Screen() << "\r\x1b[K" << text << std::flush;
  lines_.Say(text);
}

// A long journal is resumed for one group's sake: fitting it anew after each of the others would take most of the time.
void ProfileWriter::GroupDone(BenchGroup group) {
  if (group != BenchGroup::kAgain && journal_.samples().size() > written_)
    Write({fmt::format("the calibration was cut off after '{}'", BenchGroupName(group))}, 0);
}

HostNode ProfileWriter::Write(const std::vector<std::string>& notes, int folds) {
  BenchFacts facts = setup_.facts;
  facts.notes.insert(facts.notes.end(), notes.begin(), notes.end());
  if (setup_.host_memory) facts.memory = setup_.host_memory();
  written_ = journal_.samples().size();
  const Machine machine = MachineOfBench(journal_.samples(), facts, folds);
  WriteFile(command_.out, kHeader + MachineToYaml(machine));
  WriteFile(std::filesystem::path(command_.out).replace_extension(".report.html"),
            CalibrationPage(journal_.samples(), machine));
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

void Summarise(const Command& command, const BenchReport& report, const CalibrateSetup& setup,
               const BenchJournal& journal, const HostNode& host, Console& console) {
  console.err << fmt::format(
      "{}: {} samples measured, {} of them noisy; {} were in the journal; {} left out for time\n", journal.path(),
      report.measured, report.noisy, journal.resumed(), report.left_out);
  if (WasBusy(journal.samples(), setup.facts)) {
    console.err << fmt::format(
        "warning: the machine is busy (load {:.1f} on {} cores); calibrate again when it is not\n",
        MedianLoad(journal.samples()), setup.facts.cores);
  }
  for (const auto* list : {&setup.not_measured, &report.refused}) {
    for (const std::string& what : *list) console.err << "not measured: " << what << "\n";
  }
  console.err << fmt::format("{}: profile written; {} of the host's {} may be pinned{}\n", command.out,
                             FormatBytes(host.pinned_limit), FormatBytes(host.memory),
                             report.stopped ? "; interrupted: --resume goes on" : "");
}

std::vector<BenchGroup> GroupsOf(const Command& command) {
  const std::vector<std::string>& names = BenchGroupNames();
  std::vector<BenchGroup> groups;
  for (const std::string& name : command.groups) {
    const auto index = IndexIn(names, name);
    if (!index) {
      throw UserError(fmt::format("--groups: there is no group '{}'{} ({})", name, DidYouMean(name, names),
                                  fmt::join(names, ", ")));
    }
    groups.push_back(static_cast<BenchGroup>(*index));
  }
  return groups;
}

// A name that stands for nothing here is a mistake rather than nothing to do.
void CheckGroups(const std::vector<BenchGroup>& groups, const std::vector<BenchItem>& plan) {
  for (const BenchGroup group : groups) {
    if (std::any_of(plan.begin(), plan.end(), [&](const BenchItem& item) { return item.group == group; })) continue;
    throw UserError(
        fmt::format("--groups: with these options nothing of '{}' is measured on this device", BenchGroupName(group)));
  }
}

CalibrateRequest RequestOf(const Command& command, const std::string& date) {
  CalibrateRequest request;
  request.device = DeviceByName(command.device).index;
  request.networks = command.networks;
  request.protocol = ProtocolOf(command);
  request.link_rate = LinkRateOf(command);
  request.threads = command.threads;
  request.quick = command.quick;
  request.no_grid = command.no_grid;
  request.groups = GroupsOf(command);
  request.date = date;
  return request;
}

void OpenJournal(const Command& command, const Sample& identity, BenchJournal* journal, Console& console) {
  if (!command.resume) return journal->Create();
  for (const std::string& warning : journal->Resume(identity)) console.err << "warning: " << warning << "\n";
}

}  // namespace

ExitCode CalibrateWith(const CalibrateOpener& open, const Command& command, const Clock& clock, Console& console) {
  CheckOutput(command.out);
  const Nanos budget = BudgetOf(command);
  const Bytes pinned_limit = PinnedLimitOf(command);
  const std::string date = Today();
  const CalibrateRequest request = RequestOf(command, date);
  Interrupts interrupts;  // before there are threads
  CalibrateSetup setup = open(request, clock);
  CheckGroups(request.groups, setup.plan);
  setup.facts.name = fs::path(command.out).stem().string();
  setup.facts.pinned_limit = pinned_limit;
  BenchJournal journal(JournalOf(command.out).string());
  OpenJournal(command, setup.target->Identity(), &journal, console);
  ProfileWriter writer(command, setup, journal, budget, clock, interrupts, console);
  std::error_code ignored;
  if (!fs::exists(command.out, ignored)) writer.Write({"the calibration was cut off before anything was measured"}, 0);
  const BenchRunOptions run{.budget = budget, .loop = LoopOf(command), .date = date};
  const BenchReport report = RunBench(setup.plan, *setup.target, clock, run, journal, writer);
  writer.ClearLine();
  const HostNode host = writer.Write(NotesOf(report, journal), kFolds);
  Summarise(command, report, setup, journal, host, console);
  return report.stopped ? kExitInterrupted : kExitDone;
}

ExitCode CalibrateVerb(const Command& command, Console& console) {
  const SteadyClock clock;
  return CalibrateWith(DeviceByName(command.device).kind->calibrate, command, clock, console);
}

}  // namespace spillway
