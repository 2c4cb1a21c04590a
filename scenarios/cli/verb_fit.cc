// spillway fit: from samples to the kernel models of a machine profile, and how far they are to be trusted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "calibrate/accuracy/report.h"
#include "calibrate/fit/profile.h"
#include "calibrate/fit/transfer.h"
#include "hw/machine/chips.h"
#include "hw/text/lists.h"
#include "model/cost/model_cost.h"
#include "model/samples/file.h"
#include "model/samples/sample.h"
#include "scenarios/cli/command.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

// ---- links: whose copies were meant, and putting them into a profile

struct LinkFit {
  TransferFit transfers;
  LinkChoice choice;
};

std::string TextOf(const CopyPlace& place) { return place.host + "@" + place.device; }

std::vector<std::string> HostsOf(const std::vector<CopyPlace>& places) {
  std::vector<std::string> hosts;
  for (const CopyPlace& place : places) {
    AddOnce(hosts, place.host);
  }
  return hosts;
}

// The places that `text` can mean: HOST@DEVICE, or a host with the devices in --devices, if it has copies of those, or
// with all of its devices.
std::vector<CopyPlace> Meant(const std::string& text, const std::vector<CopyPlace>& places,
                             const std::vector<std::string>& devices) {
  std::vector<CopyPlace> of_host, of_devices;
  for (const CopyPlace& place : places) {
    if (text == TextOf(place)) return {place};
    if (text != place.host) continue;
    of_host.push_back(place);
    if (Contains(devices, place.device)) of_devices.push_back(place);
  }
  return of_devices.empty() ? of_host : of_devices;
}

UserError NoSuchPlace(const char* option, const std::string& text, const std::vector<CopyPlace>& places) {
  std::vector<std::string> names = HostsOf(places);
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  const std::size_t at = text.rfind('@');
  if (at != std::string::npos && Contains(names, text.substr(0, at))) {
    names.clear();
    for (const CopyPlace& place : places) names.push_back(TextOf(place));
    return UserError(fmt::format("{}: no copies of '{}'{}", option, text, DidYouMean(text, names)));
  }
  return UserError(fmt::format("{}: no copies of host '{}'{}; the samples are of {}", option, text.substr(0, at),
                               DidYouMean(text.substr(0, at), names), known));
}

CopyPlace PlaceNamed(const char* option, const std::string& text, const TransferFit& fit,
                     const std::vector<std::string>& devices) {
  const std::vector<CopyPlace> places = PlacesOf(fit);
  if (places.empty()) {
    throw UserError(fmt::format("{}: the samples hold no copies between a host and a device", option));
  }
  const std::vector<CopyPlace> meant = Meant(text, places, devices);
  if (meant.empty()) throw NoSuchPlace(option, text, places);
  if (meant.size() == 1) return meant.front();
  std::vector<std::string> names;
  for (const CopyPlace& place : meant) names.push_back("'" + TextOf(place) + "'");
  throw UserError(fmt::format("{}: copies of host '{}' are of several devices; choose one of {}", option, text,
                              fmt::join(names, ", ")));
}

void CheckDuplex(const TransferFit& fit, const CopyPlace& place) {
  const bool measured = std::any_of(fit.links.begin(), fit.links.end(), [&](const FittedLink& link) {
    return CopyPlace{link.host, link.device} == place && link.duplex.samples > 0;
  });
  if (measured) return;
  throw UserError(fmt::format("--duplex: no copies of '{}' beside others in the other direction, with the same alone",
                              TextOf(place)));
}

// Fits the copies and finds those that --copies and --duplex name. UserError: no such copies, or of several devices.
LinkFit FitLinks(const Command& command, const SampleSet& set) {
  LinkFit fit{FitTransfers(set.samples), {}};
  fit.choice.curves = PlaceNamed("--copies", command.copies, fit.transfers, command.devices);
  fit.choice.scale = command.copies_scale;
  fit.choice.other_device = !command.devices.empty() && !Contains(command.devices, fit.choice.curves.device);
  if (!command.duplex.empty()) {
    fit.choice.duplex = PlaceNamed("--duplex", command.duplex, fit.transfers, command.devices);
    CheckDuplex(fit.transfers, fit.choice.duplex);
  }
  return fit;
}

// Sets the links of `machine` and says so. UserError: none of its links was measured.
void ApplyLinks(const Command& command, const LinkFit& fit, Console& console, Machine* machine) {
  const CopyPlace& place = fit.choice.curves;
  const int links = SetLinks(fit.transfers, fit.choice, machine);
  if (links == 0) {
    std::vector<std::string> found;
    for (const FittedLink& link : fit.transfers.links) {
      if (CopyPlace{link.host, link.device} == place) found.push_back("'" + link.link + "'");
    }
    throw UserError(fmt::format(
        "--copies: {} sets no link of {}: pinned copies in both directions over 'local' or a link called '{}' are "
        "needed, found {}",
        TextOf(place), machine->name, machine->links.at(0).name, fmt::join(found, ", ")));
  }
  for (const std::string& note : machine->notes) {
    if (note.starts_with(kLinkNote)) console.err << note << "\n";
  }
  console.err << fmt::format("{}: {} links from copies of {} with {}\n", command.out, links, place.host, place.device);
}

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
  options.forms = KernelForms(PlatformOf(device));
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
    "# Keys, units and ranges: `spillway help machine`.\n";

void Say(const std::vector<std::string>& warnings, Console& console) {
  for (const std::string& warning : warnings) console.err << warning << "\n";
}

// Fits the kernels and writes the report that is asked for.
Machine FitKernels(const Command& command, const SampleSet& set, const Machine& base, Console& console) {
  FitOptions options = OptionsOf(command, set, base);
  options.stack_error = base.devices.at(0).stack_error;
  const FitResult fit = Fit(set.samples, options);
  Say(fit.warnings, console);
  console.err << fmt::format("{}: {} models from {} samples\n", command.out, fit.models.size(), set.samples.size());
  if (!command.report.empty()) {
    const AccuracyReport report = ReportAccuracy(set.samples, options, fit, set.files);
    WriteFile(command.report + ".md", report.markdown);
    WriteFile(command.report + ".csv", report.csv);
    console.err << fmt::format("{0}.md, {0}.csv: accuracy\n", command.report);
  }
  Machine machine = ProfileFrom(base, fit);
  SetSlowdowns(FitSlowdowns(set.samples), NamesOf(options.devices), &machine.devices.at(0));
  return machine;
}

// Options that do not go together, before anything is read.
void CheckWords(const Command& command) {
  const auto refuse = [](bool wrong, const char* message) {
    if (wrong) throw UserError(message);
  };
  const bool report_alone = command.links_only && command.out.empty() && command.base.empty();
  refuse(command.copies.empty() && (command.copies_scale != 1 || !command.duplex.empty()),
         "--copies-scale, --duplex: of which links? --copies is missing");
  refuse(!report_alone && command.out.empty(), "--output: expected a file; a profile is named after it");
  refuse(!report_alone && command.base.empty(), "--base: expected a profile that tells what samples cannot");
  refuse(command.out == "-", "--output: expected a file; a profile is named after it");
  refuse(report_alone && command.report.empty(),
         "--links-only: nothing to write; expected --output and --base, or "
         "--report");
  refuse(report_alone && !command.copies.empty(), "--copies: no profile to set links in; expected --output and --base");
  refuse(!report_alone && command.links_only && command.copies.empty(),
         "--links-only: whose copies make the links? --copies is missing");
  refuse(command.links_only && !command.carry.empty(), "--carry: no kernels are fitted with --links-only");
}

void WriteTransferReport(const Command& command, const TransferFit& fit, Console& console) {
  const TransferReport report = ReportTransfers(fit);
  WriteFile(command.report + ".md", report.markdown);
  WriteFile(command.report + ".csv", report.csv);
  console.err << fmt::format("{0}.md, {0}.csv: accuracy of {1} links\n", command.report, fit.links.size());
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
bool HasKernels(const Command& command, const Machine& base) {
  const std::string& teacher = base.devices.at(0).models_from;
  if (command.links_only || teacher.empty()) return !command.links_only;
  if (command.copies.empty()) {
    throw UserError(fmt::format("--base: {} takes its models from {}; fit that one, or this one's links by --copies",
                                base.name, teacher));
  }
  if (!(command.report.empty() && command.carry.empty())) {
    throw UserError(
        fmt::format("--report and --carry: no kernels are fitted, {} takes its models from {}", base.name, teacher));
  }
  return false;
}

}  // namespace

ExitCode FitVerb(const Command& command, Console& console) {
  CheckWords(command);
  const SampleSet set = ReadSamples(command.files);
  Say(set.warnings, console);
  if (command.base.empty()) {
    WriteTransferReport(command, FitTransfers(set.samples), console);
    return kExitDone;
  }
  Machine machine = LoadMachine(command.base);
  const bool kernels = HasKernels(command, machine);
  std::optional<LinkFit> links;
  if (!kernels) CheckKnown(command.devices, set);
  if (!command.copies.empty()) links = FitLinks(command, set);
  if (links) ApplyLinks(command, *links, console, &machine);
  if (kernels) {
    machine = FitKernels(command, set, machine, console);
  } else {
    DropServedLaws(&machine);
    if (!command.report.empty()) WriteTransferReport(command, links->transfers, console);
  }
  machine.name = std::filesystem::path(command.out).stem().string();
  WriteFile(command.out, kHeader + MachineToYaml(machine));
  return kExitDone;
}

}  // namespace spillway
