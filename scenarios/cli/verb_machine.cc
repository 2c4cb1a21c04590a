// spillway machine: a profile from a data sheet, with another chip's laws.
#include <fmt/format.h>

#include <filesystem>

#include "calibrate/fit/carry.h"
#include "hw/text/document.h"
#include "hw/text/lists.h"
#include "model/profile/machine.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/machine_chips.h"
#include "scenarios/cli/options.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

constexpr double kPoolFraction = 0.95;
constexpr Nanos kCopyLatency = 10'000;
constexpr Bytes kLargeCopy = Bytes{1} << 30;
constexpr double kCopyError = 0.15;  // of a rate without a curve
constexpr const char* kHostCostsOf = "a100-pcie4";
constexpr const char* kHeader =
    "# Written by `spillway machine`: a data sheet's figures, kernels as far as another profile's laws hold.\n"
    "# Keys, units and ranges: `spillway help machine`.\n";

class MachineCommand : public Command {
 public:
  void Declare(Options& options) override;
  void Parse() override;
  ExitCode Run(Console& console) const override;

 private:
  Machine Bare(const MachineChip& chip) const;
  ChipLink LinkOf(const MachineChip& chip) const;

  std::string chip_, host_memory_, like_, out_;
  std::vector<std::string> links_;
  std::vector<double> rates_;
  Bytes host_bytes_ = 0;
};

void MachineCommand::Declare(Options& options) {
  options.Text("--chip", chip_, "a chip by name, as rtx-4090; a wrong name lists all").Required().Offer([] {
    return NamesOf(MachineChips());
  });
  options.Texts("--link", links_, "rate to the device, or to it and from it: \"25 GB/s\" (default: the chip's)")
      .SplitAtCommas();
  options.Text("--host-memory", host_memory_, "pinned host memory, as 64GB").Required();
  options.Text("--like", like_, "profile whose kernel laws hold as fractions of peak and bandwidth")
      .Offer(ListMachines);
  options.Text("-o,--output", out_, "profile to write").Required();
}

void MachineCommand::Parse() {
  for (const std::string& link : links_) {
    const std::optional<double> rate = ParseBandwidth(link);
    if (!rate || *rate <= 0)
      throw UserError(fmt::format("--link: expected a bandwidth such as 25 GB/s, found '{}'", link));
    rates_.push_back(*rate);
  }
  if (rates_.size() > 2) throw UserError("--link: expected one rate, or two: to the device and from it");
  const std::optional<Bytes> bytes = ParseBytes(host_memory_);
  if (!bytes || *bytes <= 0) {
    throw UserError(fmt::format("--host-memory: expected a size such as 64 GB, found '{}'", host_memory_));
  }
  host_bytes_ = *bytes;
  if (!out_.ends_with(".yaml")) throw UserError("--output: expected a file that ends in .yaml");
}

TransferCurve CurveOf(double rate, const Source& source) {
  const auto time = [&](Bytes bytes) { return kCopyLatency + static_cast<Nanos>(static_cast<double>(bytes) / rate); };
  return {
      .points = {{4 * kKiB, time(4 * kKiB)}, {kLargeCopy, time(kLargeCopy)}}, .error = kCopyError, .source = source};
}

ChipLink MachineCommand::LinkOf(const MachineChip& chip) const {
  ChipLink link = chip.link;
  if (rates_.empty()) return link;
  link.rate = {rates_.front(), rates_.back()};
  link.source = {Source::Kind::kAssumed,
                 "as asked for; both directions at once as the chip's usual link: " + chip.link.source.text};
  return link;
}

Device DeviceOf(const MachineChip& chip) {
  Device device;
  device.name = "gpu0";
  device.total_memory = chip.total_memory;
  device.reserve = chip.reserve;
  device.pool_fraction = kPoolFraction;
  device.peak_flops = chip.peak_flops;
  device.memory_bandwidth = chip.memory_bandwidth;
  device.multiprocessors = chip.multiprocessors;
  device.l2_cache = chip.l2_cache;
  device.source = chip.source;
  device.memory_source = chip.memory_source;
  device.host_costs = LoadMachine(kHostCostsOf).devices.at(0).host_costs;
  device.host_costs.source.kind = Source::Kind::kAssumed;
  return device;
}

Link LinkAs(const ChipLink& chosen) {
  Link link;
  link.name = chosen.name;
  for (std::size_t d = 0; d < link.curves.size(); ++d) link.curves[d] = CurveOf(chosen.rate[d], chosen.source);
  link.duplex_factor = chosen.duplex;
  link.duplex_source = chosen.source;
  link.host_error = kOtherHostError;
  return link;
}

Machine MachineCommand::Bare(const MachineChip& chip) const {
  Machine machine;
  machine.name = std::filesystem::path(out_).stem().string();
  machine.description = fmt::format("{} with {} of host memory", chip.description, FormatBytes(host_bytes_));
  machine.software = like_.empty() ? "none: no kernel was measured" : "cost models carried from " + like_;
  machine.notes = {"From a data sheet: nothing of this machine was measured. A copy has 10 us of latency, assumed.",
                   "fp32 is without tensor cores."};
  machine.hosts = {{.name = "host0",
                    .memory = host_bytes_,
                    .pinned_limit = host_bytes_,
                    .source = {Source::Kind::kAssumed, "as asked for"}}};
  machine.devices.push_back(DeviceOf(chip));
  machine.links.push_back(LinkAs(LinkOf(chip)));
  return machine;
}

MachineChip ChipByName(const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const MachineChip& chip : MachineChips()) {
    if (chip.name == name) return chip;
    names.push_back(chip.name);
    all += (all.empty() ? "" : ", ") + chip.name;
  }
  throw UserError(fmt::format("--chip: unknown chip '{}'{} (chips: {})", name, DidYouMean(name, names), all));
}

ExitCode MachineCommand::Run(Console& console) const {
  MustNotDestroy(out_, Written::kMachine, {});
  Machine machine = Bare(ChipByName(chip_));
  std::string kernels = "no --like, so kernels run at full peak and bandwidth; rows are marked p";
  if (!like_.empty()) {
    const Machine teacher = LoadMachine(like_);
    const CarryCost cost = CostOfCarrying(teacher);
    machine = Carried(std::move(machine), teacher, cost);
    const Device& device = machine.devices.at(0);
    kernels = fmt::format("{} models and {} laws carried from {}; errors are wider by {}", device.models.size(),
                          device.laws.size(), teacher.name, CarryText(cost));
  }
  machine.notes.push_back(kernels);
  WriteFile(out_, kHeader + ReadableProfile(machine));
  console.err << out_ << ": " << kernels << "\n";
  return kExitDone;
}

}  // namespace

Verb MachineVerb() {
  return {.name = "machine",
          .description = "write a machine profile from a chip's data sheet and another profile's laws",
          .examples = {"spillway machine --chip rtx-4090 --link 25GB/s --host-memory 64GB --like a100-pcie4 "
                       "-o mine.yaml",
                       "spillway machine --chip gh200 --host-memory 480GB --like h100-sxm -o mine.yaml"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<MachineCommand>};
}

}  // namespace spillway
