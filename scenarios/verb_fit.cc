// spillway fit: from samples to the kernel models of a machine profile, and how far they are to be trusted.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "calibrate/accuracy_report.h"
#include "calibrate/profile.h"
#include "calibrate/sample_chip.h"
#include "calibrate/sample_file.h"
#include "hw/chips.h"
#include "model/model_cost.h"
#include "scenarios/command.h"
#include "scenarios/output_folder.h"

namespace spillway {

namespace {

void CheckSampled(const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UserError(fmt::format("--devices: no sample of '{}'{}; the samples are of {}", name, DidYouMean(name, known),
                              fmt::join(known, ", ")));
}

FitDevice FitDeviceOf(const std::string& name, const std::vector<ChipFigures>& chips) {
  if (const ChipFigures* figures = FindChip(chips, name)) return {name, ChipOf(*figures)};
  throw UserError(fmt::format(
      "device '{}' is not in hw/chips/chips.yaml: its peak, bandwidth and multiprocessors are needed", name));
}

FitOptions OptionsOf(const Command& command, const SampleSet& set, const Machine& base) {
  FitOptions options;
  const std::vector<std::string> known = Devices(set);
  for (const std::string& name : command.devices) CheckSampled(name, known);
  std::vector<std::string> devices = command.devices;
  if (devices.empty()) devices = known;
  if (devices.size() > 1 && command.devices.empty()) {
    throw UserError(
        fmt::format("the samples are of several devices: {}; choose one, or boards of the same chip, by "
                    "--devices",
                    fmt::join(devices, ", ")));
  }
  // The base profile's own figures count for a device that no table knows.
  std::vector<ChipFigures> chips = LoadChips();
  const Device& device = base.devices.at(0);
  if (devices.size() == 1 && FindChip(chips, devices[0]) == nullptr) {
    options.devices.push_back({devices[0], ChipOf(device)});
  } else {
    for (const std::string& name : devices) options.devices.push_back(FitDeviceOf(name, chips));
  }
  if (!command.carry.empty()) {
    const Machine teacher = LoadMachine(command.carry);
    options.carried = teacher.devices.at(0).models;
    options.carried_from = teacher.name;
  }
  return options;
}

constexpr const char* kHeader =
    "# Written by `spillway fit`: kernel models and measured curves are its own, the rest is the base profile's.\n"
    "# Keys, units and ranges: head of hw/machine_file.cc.\n";

void FitLinks(const Command& command, const SampleSet& set, Console& console, Machine& machine) {
  const TransferFit fit = FitTransfers(set.samples);
  const std::vector<std::string> hosts = HostsOf(fit);
  if (hosts.empty()) throw UserError("--copies: the samples hold no copies between a host and a device");
  if (std::find(hosts.begin(), hosts.end(), command.copies) == hosts.end()) {
    throw UserError(fmt::format("--copies: no copies of host '{}'{}; the samples are of {}", command.copies,
                                DidYouMean(command.copies, hosts), fmt::join(hosts, ", ")));
  }
  for (const std::string& warning : fit.warnings) console.err << warning << "\n";
  const int links = SetLinks(fit, command.copies, &machine);
  console.err << fmt::format("{}: {} links from copies of {}\n", command.out, links, command.copies);
}

void Say(const std::vector<std::string>& warnings, Console& console) {
  for (const std::string& warning : warnings) console.err << warning << "\n";
}

// Fits the kernels and writes the report that is asked for.
Machine FitKernels(const Command& command, const SampleSet& set, const Machine& base, Console& console) {
  const FitOptions options = OptionsOf(command, set, base);
  const FitResult fit = Fit(set.samples, options);
  Say(fit.warnings, console);
  console.err << fmt::format("{}: {} models from {} samples\n", command.out, fit.models.size(), set.samples.size());
  if (!command.report.empty()) {
    const AccuracyReport report = ReportAccuracy(set.samples, options, fit);
    WriteFile(command.report + ".md", report.markdown);
    WriteFile(command.report + ".csv", report.csv);
    console.err << fmt::format("{0}.md, {0}.csv: accuracy\n", command.report);
  }
  return ProfileFrom(base, fit);
}

}  // namespace

ExitCode FitVerb(const Command& command, Console& console) {
  const SampleSet set = ReadSamples(command.files);
  Say(set.warnings, console);
  Machine machine = LoadMachine(command.base);
  if (command.out == "-") throw UserError("--output: expected a file; a profile is named after it");
  // A profile that takes its models from another one has only links of its own to fit.
  const bool kernels = machine.devices.at(0).models_from.empty();
  if (!kernels && command.copies.empty()) {
    throw UserError(fmt::format("--base: {} takes its models from {}; fit that one, or this one's links by --copies",
                                machine.name, machine.devices[0].models_from));
  }
  if (!command.copies.empty()) FitLinks(command, set, console, machine);
  if (!kernels && !(command.report.empty() && command.carry.empty() && command.devices.empty())) {
    throw UserError(fmt::format("--report, --carry and --devices: no kernels are fitted, {} takes its models from {}",
                                machine.name, machine.devices[0].models_from));
  }
  if (kernels) machine = FitKernels(command, set, machine, console);
  machine.name = std::filesystem::path(command.out).stem().string();
  WriteFile(command.out, kHeader + MachineToYaml(machine));
  return kExitDone;
}

}  // namespace spillway
