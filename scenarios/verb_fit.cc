// spillway fit: from samples to the kernel models of a machine profile, and how far they are to be trusted.
#include <fmt/format.h>

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

FitDevice FitDeviceOf(const std::string& name, const std::vector<ChipFigures>& chips, const SampleSet& set) {
  const std::vector<std::string> known = Devices(set);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw UserError(fmt::format("--devices: no sample of '{}'{}; the samples are of {}", name, DidYouMean(name, known),
                                fmt::join(known, ", ")));
  }
  if (const ChipFigures* figures = FindChip(chips, name)) return {name, ChipOf(*figures)};
  throw UserError(
      fmt::format("device '{}' is not in hw/chips/chips.yaml: its peak, bandwidth and multiprocessors are needed", name));
}

FitOptions OptionsOf(const Command& command, const SampleSet& set, const Machine& base) {
  FitOptions options;
  std::vector<std::string> devices = command.devices;
  if (devices.empty()) devices = Devices(set);
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
    for (const std::string& name : devices) options.devices.push_back(FitDeviceOf(name, chips, set));
  }
  if (!command.carry.empty()) {
    const Machine teacher = LoadMachine(command.carry);
    options.carried = teacher.devices.at(0).models;
    options.carried_from = teacher.name;
  }
  return options;
}

// Keeps samples of the chosen devices: those of others were read, and are not used.
void Say(const std::vector<std::string>& warnings, Console& console) {
  for (const std::string& warning : warnings) console.err << warning << "\n";
}

}  // namespace

ExitCode FitVerb(const Command& command, Console& console) {
  const SampleSet set = ReadSamples(command.files);
  Say(set.warnings, console);
  const Machine base = LoadMachine(command.base);
  const FitOptions options = OptionsOf(command, set, base);
  const FitResult fit = Fit(set.samples, options);
  Say(fit.warnings, console);
  Machine machine = ProfileFrom(base, fit);
  machine.name = std::filesystem::path(command.out).stem().string();
  WriteFile(command.out, MachineToYaml(machine));
  console.err << fmt::format("{}: {} models from {} samples\n", command.out, fit.models.size(), set.samples.size());
  if (command.report.empty()) return kExitDone;
  const AccuracyReport report = ReportAccuracy(set.samples, options, fit);
  WriteFile(command.report + ".md", report.markdown);
  WriteFile(command.report + ".csv", report.csv);
  console.err << fmt::format("{0}.md, {0}.csv: accuracy\n", command.report);
  return kExitDone;
}

}  // namespace spillway
