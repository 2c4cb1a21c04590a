// spillway fit: from samples to the kernel models of a machine profile, and how far they are to be trusted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <thread>

#include "calibrate/accuracy/report.h"
#include "calibrate/fit/carry.h"
#include "calibrate/fit/profile.h"
#include "calibrate/fit/transfer.h"
#include "hw/machine/chips.h"
#include "hw/text/lists.h"
#include "model/cost/model_cost.h"
#include "model/samples/file.h"
#include "model/samples/sample.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/fit_links.h"
#include "scenarios/cli/options.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

// ---- kernels

void CheckSampled(const std::string& name, const std::vector<std::string>& known) {
  if (Contains(known, name)) return;
  throw UserError(fmt::format("--devices: no sample of '{}'{}; the samples are of {}", name, DidYouMean(name, known),
                              fmt::join(known, ", ")));
}

FitDevice FitDeviceOf(const std::string& name, const std::vector<ChipFigures>& chips) {
  if (const ChipFigures* figures = FindChip(chips, name)) return {name, ChipOf(*figures)};
  throw UserError(fmt::format(
      "device '{}' is not in hw/chips/chips.yaml: its peak, bandwidth and multiprocessors are needed", name));
}

FitOptions OptionsOf(const FitAsked& asked, const SampleSet& set, const Machine& base) {
  FitOptions options;
  const std::vector<std::string> known = Devices(set);
  for (const std::string& name : asked.devices) CheckSampled(name, known);
  std::vector<std::string> devices = asked.devices;
  if (devices.empty()) devices = known;
  if (devices.size() > 1 && asked.devices.empty()) {
    throw UserError(
        fmt::format("the samples are of several devices: {}; choose one, or boards of the same chip, by "
                    "--devices",
                    fmt::join(devices, ", ")));
  }
  // The base profile's own figures count for a device that no table knows.
  std::vector<ChipFigures> chips = LoadChips();
  const Device& device = base.devices.at(0);
  options.forms = KernelForms(PlatformOf(device));
  if (devices.size() == 1 && FindChip(chips, devices[0]) == nullptr) {
    options.devices.push_back({devices[0], ChipOf(device)});
  } else {
    for (const std::string& name : devices) options.devices.push_back(FitDeviceOf(name, chips));
  }
  if (!asked.carry.empty()) {
    const Machine teacher = LoadMachine(asked.carry);
    options.carried = teacher.devices.at(0).models;
    options.carried_from = teacher.name;
  }
  return options;
}

constexpr const char* kHeader =
    "# Written by `spillway fit`: kernel models and measured curves are its own, the rest is the base profile's.\n"
    "# Keys, units and ranges: `spillway help machine`.\n";

// A profile is named after its file.
void WriteProfile(Machine machine, const std::string& out) {
  machine.name = std::filesystem::path(out).stem().string();
  WriteFile(out, kHeader + ReadableProfile(machine));
}

void Say(const std::vector<std::string>& warnings, Console& console) {
  for (const std::string& warning : warnings) console.err << warning << "\n";
}

// Fits the kernels and writes the report that is asked for.
Machine FitKernels(const FitAsked& asked, const SampleSet& set, const Machine& base, Console& console) {
  FitOptions options = OptionsOf(asked, set, base);
  options.stack_error = base.devices.at(0).stack_error;
  options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const FitResult fit = Fit(set.samples, options);
  Say(fit.warnings, console);
  console.err << fmt::format("{}: {} models from {} samples\n", asked.out, fit.models.size(), set.samples.size());
  if (!asked.report.empty()) {
    const AccuracyReport report = ReportAccuracy(set.samples, options, fit, set.files);
    WriteFile(asked.report + ".md", report.markdown);
    WriteFile(asked.report + ".csv", report.csv);
    console.err << fmt::format("{0}.md, {0}.csv: accuracy\n", asked.report);
  }
  Machine machine = ProfileFrom(base, fit);
  SetSlowdowns(FitSlowdowns(set.samples), NamesOf(options.devices), &machine.devices.at(0));
  return machine;
}

// Options that do not go together, before anything is read.
void CheckWords(const FitAsked& asked) {
  const auto refuse = [](bool wrong, const char* message) {
    if (wrong) throw UserError(message);
  };
  const bool report_alone = asked.links_only && asked.out.empty() && asked.base.empty();
  refuse(asked.copies.empty() && (asked.copies_scale != 1 || !asked.duplex.empty()),
         "--copies-scale, --duplex: of which links? --copies is missing");
  refuse(!report_alone && asked.out.empty(), "--output: expected a file; a profile is named after it");
  refuse(!report_alone && asked.base.empty(), "--base: expected a profile that tells what samples cannot");
  refuse(asked.samples.empty() && asked.carry.empty(),
         "SAMPLES: expected samples files, or --carry for models of another device alone");
  refuse(asked.samples.empty() &&
             !(asked.copies.empty() && asked.duplex.empty() && asked.devices.empty() && asked.report.empty()),
         "SAMPLES: --copies, --duplex, --devices and --report are about samples, and there are none");
  refuse(asked.out == "-", "--output: expected a file; a profile is named after it");
  refuse(report_alone && asked.report.empty(),
         "--links-only: nothing to write; expected --output and --base, or "
         "--report");
  refuse(report_alone && !asked.copies.empty(), "--copies: no profile to set links in; expected --output and --base");
  refuse(!report_alone && asked.links_only && asked.copies.empty(),
         "--links-only: whose copies make the links? --copies is missing");
  refuse(asked.links_only && !asked.carry.empty(), "--carry: no kernels are fitted with --links-only");
}

void WriteTransferReport(const FitAsked& asked, const TransferFit& fit, Console& console) {
  const TransferReport report = ReportTransfers(fit);
  WriteFile(asked.report + ".md", report.markdown);
  WriteFile(asked.report + ".csv", report.csv);
  console.err << fmt::format("{0}.md, {0}.csv: accuracy of {1} links\n", asked.report, fit.links.size());
}

// --devices then says what the profile stands for, whatever the samples are of.
void CheckKnown(const std::vector<std::string>& devices, const SampleSet& set) {
  std::vector<std::string> known = Devices(set);
  const std::vector<ChipFigures> chips = LoadChips();
  for (const ChipFigures& chip : chips) known.push_back(chip.name);
  for (const std::string& name : devices) {
    if (FindChip(chips, name) != nullptr || Contains(known, name)) continue;
    throw UserError(fmt::format("--devices: '{}' is neither in the samples nor in hw/chips/chips.yaml{}", name,
                                DidYouMean(name, known)));
  }
}

// A profile that takes its models from another one has only links of its own to fit.
bool HasKernels(const FitAsked& asked, const Machine& base) {
  const std::string& teacher = base.devices.at(0).models_from;
  if (asked.links_only || teacher.empty()) return !asked.links_only;
  if (asked.copies.empty()) {
    throw UserError(fmt::format("--base: {} takes its models from {}; fit that one, or this one's links by --copies",
                                base.name, teacher));
  }
  if (!(asked.report.empty() && asked.carry.empty())) {
    throw UserError(
        fmt::format("--report and --carry: no kernels are fitted, {} takes its models from {}", base.name, teacher));
  }
  return false;
}

// Without a sample: all kernels are those of another device.
Machine CarryAlone(const FitAsked& asked, Console& console) {
  const Machine base = LoadMachine(asked.base), teacher = LoadMachine(asked.carry);
  const CarryCost cost = CostOfCarrying(teacher);
  Machine machine = Carried(base, teacher, cost);
  const std::string text =
      fmt::format("{} models and {} laws carried from {}; errors are wider by {}", machine.devices[0].models.size(),
                  machine.devices[0].laws.size(), teacher.name, CarryText(cost));
  console.err << asked.out << ": " << text << "\n";
  std::erase_if(machine.notes, [](const std::string& note) { return note.starts_with(kFitNote); });
  machine.notes.push_back(kFitNote + text);
  return machine;
}

class FitCommand : public Command {
 public:
  void Declare(Options& options) override;
  ExitCode Run(Console& console) const override;

 private:
  void FitSamples(const SampleSet& set, Console& console) const;

  FitAsked asked_;
};

void FitCommand::Declare(Options& options) {
  options.Texts("SAMPLES", asked_.samples, "samples files; none with --carry alone");
  options.Text("-o,--output", asked_.out, "profile to write");
  options.Text("--base", asked_.base, "profile for the figures that samples lack: memory, host, links")
      .Offer(ListMachines);
  options.Texts("--devices,--device", asked_.devices, "use the samples of this device, or of boards of one chip")
      .SplitAtCommas();
  options.Text("--carry", asked_.carry, "profile of a device whose models are the starting point, or all there is")
      .Offer(ListMachines);
  options.Text("--copies", asked_.copies, "HOST or HOST@DEVICE (columns of the samples) for the links' curves");
  options.Number("--copies-scale", asked_.copies_scale, 0.01, 100,
                 "rate of the profile's link over the measured link's, e.g. fewer lanes");
  options.Text("--duplex", asked_.duplex, "HOST or HOST@DEVICE for copies in both directions at once");
  options.Flag("--links-only", asked_.links_only, "leave the kernel models as they are");
  options.Text("--report", asked_.report, "accuracy report NAME.md and NAME.csv; with --links-only, of copies");
}

ExitCode FitCommand::Run(Console& console) const {
  CheckWords(asked_);
  MustNotDestroy(asked_.out, Written::kMachine, asked_.samples);
  if (asked_.samples.empty()) {
    WriteProfile(CarryAlone(asked_, console), asked_.out);
    return kExitDone;
  }
  const SampleSet set = ReadSamples(asked_.samples, kFitted);
  Say(set.warnings, console);
  try {
    FitSamples(set, console);
  } catch (const std::bad_alloc&) {
    throw UserError(fmt::format("{}: error: memory ended while its {} operations were fitted; give fewer",
                                fmt::join(set.files, ", "), set.samples.size()));
  }
  return kExitDone;
}

void FitCommand::FitSamples(const SampleSet& set, Console& console) const {
  if (asked_.base.empty()) return WriteTransferReport(asked_, FitTransfers(set.samples), console);
  Machine machine = LoadMachine(asked_.base);
  const bool kernels = HasKernels(asked_, machine);
  std::optional<LinkFit> links;
  if (!kernels) CheckKnown(asked_.devices, set);
  if (!asked_.copies.empty()) links = FitLinks(asked_, set);
  if (links) ApplyLinks(asked_, *links, console, &machine);
  if (kernels) {
    machine = FitKernels(asked_, set, machine, console);
  } else {
    DropServedLaws(&machine);
    if (!asked_.report.empty()) WriteTransferReport(asked_, links->transfers, console);
  }
  WriteProfile(std::move(machine), asked_.out);
}

}  // namespace

Verb FitVerb() {
  return {.name = "fit",
          .description = "fit a machine profile's kernel models to samples",
          .examples = {"spillway fit samples.csv --base v100-x86-pcie3 -o hw/mine.yaml --report accuracy",
                       "spillway fit samples.csv --base hw/mine.yaml --links-only --copies myhost -o hw/mine.yaml",
                       "spillway fit --carry a100-pcie4 --base hw/mine.yaml -o hw/mine.yaml"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<FitCommand>};
}

}  // namespace spillway
