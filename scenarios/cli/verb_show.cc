// spillway show: one network, machine, strategy or menu in full.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hw/text/lists.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "reports/tables/text.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"
#include "scenarios/cli/show.h"
#include "scenarios/cli/topics.h"
#include "scenarios/file/scenario.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/run/run.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

// ---- network

Network NetworkByName(const std::string& name, std::int64_t batch) {
  if (name.ends_with(".yaml")) return LoadNetwork(name, batch);
  return BuildZooNetwork(name, {.batch = batch});
}

struct LayerSums {
  double flops = 0, bytes = 0;
};

std::vector<LayerSums> WorkByLayer(const Network& network, const TrainingStep& step) {
  std::vector<LayerSums> sums(network.layers.size());
  for (const Op& op : step.ops) {
    if (op.layer < 0) continue;
    sums[static_cast<std::size_t>(op.layer)].flops += op.work.flops;
    sums[static_cast<std::size_t>(op.layer)].bytes += op.work.bytes;
  }
  return sums;
}

std::string InputNames(const Network& network, const Layer& layer) {
  std::string names;
  for (const LayerId id : layer.inputs) {
    names += names.empty() ? "" : " ";
    names += id == kNetworkInput ? "input" : network.layers[static_cast<std::size_t>(id)].name;
  }
  return names;
}

std::string Giga(double value) { return ShortNumber(value / 1e9); }

std::string LayersText(const Network& network, const TrainingStep& step) {
  const std::vector<LayerSums> sums = WorkByLayer(network, step);
  TextTable table({"<layer", "<result", "GFLOP", "GB touched", "<inputs"});
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    table.Row(
        {layer.name, ShapeText(layer.shape), Giga(sums[i].flops), Giga(sums[i].bytes), InputNames(network, layer)});
  }
  return table.Text();
}

std::string MapsText(const TrainingStep& step) {
  TextTable table({"<feature map", "<shape", "bytes"});
  for (const TensorId id : step.maps) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(id)];
    table.Row({tensor.name, ShapeText(tensor.shape), std::to_string(tensor.bytes)});
  }
  return table.Text();
}

std::string ShowNetwork(const ShowAsked& asked) {
  const Network network = NetworkByName(asked.name, asked.batch);
  const TrainingStep step = BuildTrainingStep(network);
  double flops = 0;
  for (const Op& op : step.ops) flops += op.work.flops;
  std::string text = fmt::format("{}: input {}, {} layers, {} parameters\n", network.name, ShapeText(network.input),
                                 network.layers.size(), CountParameters(network));
  text += fmt::format("one training step: {} ops, {} GFLOP, {} feature maps of {} in all\n\n", step.ops.size(),
                      Giga(flops), step.maps.size(), FormatBytes(step.MapBytes()));
  return text + LayersText(network, step) + "\n" + MapsText(step);
}

// ---- machine

std::string SourceText(const Source& source) {
  return fmt::format("[{}: {}]", SourceKindName(source.kind), source.text);
}

std::string CurveText(const TransferCurve& curve, const char* direction) {
  std::string text = fmt::format("  {} {}\n", direction, SourceText(curve.source));
  TextTable table({"    bytes", "time", "GB/s"});
  for (const auto& point : curve.points) {
    const double rate = point.time > 0 ? static_cast<double>(point.bytes) / static_cast<double>(point.time) : 0;
    table.Row({FormatBytesExact(point.bytes), FormatDuration(point.time), ShortNumber(rate)});
  }
  return text + table.Text();
}

std::string LawsText(const Device& device) {
  TextTable table({"<  op", "<pass", "<window", "flop share", "bandwidth share", "fixed", "error", "<source"});
  for (const CostLaw& law : device.laws) {
    table.Row({fmt::format("  {}", OpKindName(law.op)), PassName(law.pass), law.window, ShortNumber(law.flop_fraction),
               ShortNumber(law.bandwidth_fraction), FormatDuration(law.fixed), Percent(law.error),
               SourceKindName(law.source.kind)});
  }
  return table.Text();
}

// The cheapest and the dearest stand for all.
std::string LaunchesText(const HostCosts& costs) {
  if (costs.launches.empty()) return "";
  const auto [least, most] = std::minmax_element(costs.launches.begin(), costs.launches.end(),
                                                 [](const auto& a, const auto& b) { return a.time < b.time; });
  const auto text = [](const LaunchCost& cost) {
    return fmt::format("{} ({} {})", FormatDuration(cost.time), OpKindName(cost.op), PassName(cost.pass));
  };
  return fmt::format("  launch by op and pass, {} of them: {} to {} {}\n", costs.launches.size(), text(*least),
                     text(*most), SourceText(costs.launches_source));
}

// "" where the profile states fp32's alone.
std::string MathPeaksText(const Device& d) {
  std::string text;
  for (const MathMode mode : {MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    if (!d.StatesPeakOf(mode)) continue;
    text += fmt::format("{}{} {:.4g} TFLOP/s", text.empty() ? "  products in " : ", ", MathModeName(mode),
                        d.PeakOf(mode) / 1000);
  }
  return text.empty() ? "" : text + " " + SourceText(d.math_source) + "\n";
}

std::string DeviceText(const Device& d) {
  std::string text = fmt::format("device {}\n", d.name);
  const double tera = d.peak_flops / 1000;
  text += fmt::format(
      "  {}, {} GB/s {}\n", tera >= 0.1 ? fmt::format("{:.1f} TFLOP/s", tera) : ShortNumber(d.peak_flops) + " GFLOP/s",
      d.memory_bandwidth >= 10 ? fmt::format("{:.0f}", d.memory_bandwidth) : ShortNumber(d.memory_bandwidth),
      SourceText(d.source));
  text += MathPeaksText(d);
  text += fmt::format("  {} memory, {} reserved, {} of the rest usable: {} {}\n", FormatBytes(d.total_memory),
                      FormatBytes(d.reserve), Percent(d.pool_fraction), FormatBytes(d.UsableMemory()),
                      SourceText(d.memory_source));
  text += fmt::format("  launch {}, copy {}, synchronisation {} {}\n", FormatDuration(d.host_costs.kernel_launch),
                      FormatDuration(d.host_costs.copy_submit), FormatDuration(d.host_costs.sync),
                      SourceText(d.host_costs.source));
  return text + LaunchesText(d.host_costs) + LawsText(d);
}

// "90 %"; "48 % (to the device) and 96 % (to the host)"
std::string DuplexText(const std::array<double, 2>& factor) {
  if (factor[0] == factor[1]) return Percent(factor[0]);
  return fmt::format("{} (to the device) and {} (to the host)", Percent(factor[0]), Percent(factor[1]));
}

std::string ShowMachine(const ShowAsked& asked) {
  const Machine machine = LoadMachine(asked.name);
  [[maybe_unused]] const CostModel costs(machine);  // refuses a profile that no run would accept
  std::string text = fmt::format("{}: {}\nsoftware: {}\n", machine.name, machine.description, machine.software);
  for (const std::string& note : machine.notes) text += fmt::format("note: {}\n", note);
  for (const Device& device : machine.devices) text += "\n" + DeviceText(device);
  for (const HostNode& host : machine.hosts) {
    text += fmt::format("\nhost {}: {}, {} of it may be pinned {}\n", host.name, FormatBytes(host.memory),
                        FormatBytes(host.pinned_limit), SourceText(host.source));
  }
  for (const Link& link : machine.links) {
    text += fmt::format("\nlink {}: both directions at once run at {} of their rates {}\n", link.name,
                        DuplexText(link.duplex_factor), SourceText(link.duplex_source));
    text += CurveText(link.curves[static_cast<std::size_t>(Direction::kHostToDevice)], "host to device");
    text += CurveText(link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)], "device to host");
  }
  return text;
}

// ---- menu

std::string ShowMenuOf(const ShowAsked& asked) {
  return ShowMenu(asked, [&asked] { return NetworkByName(asked.name, asked.batch); });
}

// ---- strategy

std::string ShowStrategy(const ShowAsked& asked) {
  const Strategy& s = StrategyByName(asked.name);
  return fmt::format("{}: {}\npaper: {}\n", s.name, s.description, s.paper);
}

// ---- floor

std::string ShowFloorOf(const ShowAsked& asked) {
  if (asked.name == "all") return ShowFloors(asked, NamesOf(Zoo()));
  return ShowFloor(asked, NetworkByName(asked.name, asked.batch));
}

// ---- shares

std::string ShowSharesOf(const ShowAsked& asked) {
  return ShowShares(asked, [&asked](std::int64_t batch) { return NetworkByName(asked.name, batch); });
}

constexpr Topic<std::string(const ShowAsked&)> kTopics[] = {
    {"network", ShowNetwork}, {"machine", ShowMachine}, {"strategy", ShowStrategy}, {"menu", ShowMenuOf},
    {"floor", ShowFloorOf},   {"shares", ShowSharesOf}, {"step", ShowStep}};

std::vector<std::string> NamesToShow() {
  std::vector<std::string> names;
  for (const auto& some : {ZooNames(), ListMachines(), StrategyNames()}) {
    names.insert(names.end(), some.begin(), some.end());
  }
  return names;
}

class ShowCommand : public Command {
 public:
  void Declare(Options& options) override {
    options
        .Text("WHAT", topic_,
              "network, machine, strategy, menu (algorithms), floor (memory), shares (batch of each GPU), step")
        .Required()
        .Offer([] { return NamesOf(kTopics); });
    options.Text("NAME", asked_.name, "its name, or a file; `show floor all`: every network of the zoo")
        .Required()
        .Offer(NamesToShow);
    options.Text("OTHER", asked_.other, "of step: the same step recorded at another batch");
    options.Batch("--batch", asked_.batch, "batch size of the network");
    options
        .Text("--machine", asked_.machine, "profile for menu, floor and step; for shares one for each GPU, with commas")
        .Offer(ListMachines);
    options.Text("--memory", asked_.memory, "of step: the memory of the card, e.g. 11GB");
    options.Text("--html", asked_.page, "of step: file for a page with its memory over the calls, by module");
  }
  ExitCode Run(Console& console) const override {
    if (topic_ != "step" && !(asked_.other + asked_.memory + asked_.page).empty()) {
      throw UserError("show: a second file, --memory and --html are for `show step`");
    }
    MustNotDestroy(asked_.page, Written::kPage, {asked_.name, asked_.other});
    const std::string answer = AnswerTo(topic_, kTopics, "show")(asked_);
    if (!asked_.page.empty()) WriteText(asked_.page, StepPage(asked_), console);
    if (asked_.page != "-") console.out << answer;
    return kExitDone;
  }

 private:
  std::string topic_;
  ShowAsked asked_;
};

}  // namespace

Verb ShowVerb() {
  return {.name = "show",
          .description = "describe a network, machine, strategy, algorithm menu, memory floor or recorded step",
          .examples = {"spillway show network resnet50 --batch 256", "spillway show machine v100-x86-pcie3",
                       "spillway show strategy pooch", "spillway show menu vgg16 --batch 32 --machine v100-x86-pcie3",
                       "spillway show floor vgg16 --batch 256 --machine p100-x86-pcie3",
                       "spillway show step step.json --memory 11GB --html step.html",
                       "spillway show step step.json --machine a100-pcie4",
                       "spillway show shares resnet18 --batch 128 --machine v100-x86-pcie3,p100-x86-pcie3"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<ShowCommand>};
}

}  // namespace spillway
