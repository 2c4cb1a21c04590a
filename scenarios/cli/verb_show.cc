// spillway show: one network, machine, strategy or menu in full.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/lists.h"
#include "model/cost/kernel_form.h"
#include "model/cost/measured_cost.h"
#include "model/cost/menu.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "reports/tables/text.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/show_floor.h"
#include "scenarios/cli/show_shares.h"
#include "scenarios/cli/topics.h"
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

std::string ShowNetwork(const Command& command) {
  const Network network = NetworkByName(command.name, command.batch);
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
    table.Row({"  " + law.op, law.pass, law.window, ShortNumber(law.flop_fraction), ShortNumber(law.bandwidth_fraction),
               FormatDuration(law.fixed), Percent(law.error), SourceKindName(law.source.kind)});
  }
  return table.Text();
}

// The cheapest and the dearest stand for all.
std::string LaunchesText(const HostCosts& costs) {
  if (costs.launches.empty()) return "";
  const auto [least, most] = std::minmax_element(costs.launches.begin(), costs.launches.end(),
                                                 [](const auto& a, const auto& b) { return a.time < b.time; });
  const auto text = [](const LaunchCost& cost) {
    return fmt::format("{} ({} {})", FormatDuration(cost.time), cost.op, cost.pass);
  };
  return fmt::format("  launch by op and pass, {} of them: {} to {} {}\n", costs.launches.size(), text(*least),
                     text(*most), SourceText(costs.launches_source));
}

std::string DeviceText(const Device& d) {
  std::string text = fmt::format("device {}\n", d.name);
  const double tera = d.peak_flops / 1000;
  text += fmt::format(
      "  {}, {} GB/s {}\n", tera >= 0.1 ? fmt::format("{:.1f} TFLOP/s", tera) : ShortNumber(d.peak_flops) + " GFLOP/s",
      d.memory_bandwidth >= 10 ? fmt::format("{:.0f}", d.memory_bandwidth) : ShortNumber(d.memory_bandwidth),
      SourceText(d.source));
  text += fmt::format("  {} memory, {} reserved, {} of the rest usable: {} {}\n", FormatBytes(d.total_memory),
                      FormatBytes(d.reserve), Percent(d.pool_fraction), FormatBytes(d.UsableMemory()),
                      SourceText(d.memory_source));
  text += fmt::format("  launch {}, copy {}, synchronisation {} {}\n", FormatDuration(d.host_costs.kernel_launch),
                      FormatDuration(d.host_costs.copy_submit), FormatDuration(d.host_costs.sync),
                      SourceText(d.host_costs.source));
  return text + LaunchesText(d.host_costs) + LawsText(d);
}

std::string ShowMachine(const Command& command) {
  const Machine machine = LoadMachine(command.name);
  CheckMeasured(machine, command.name);
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
                        Percent(link.duplex_factor), SourceText(link.duplex_source));
    text += CurveText(link.curves[static_cast<std::size_t>(Direction::kHostToDevice)], "host to device");
    text += CurveText(link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)], "device to host");
  }
  return text;
}

// ---- menu

struct Convolutions {
  const Op* first = nullptr;
  int times = 0;
};

// Ops with a choice of algorithm, equal ones together.
std::vector<Convolutions> KindsOfConvolutions(const TrainingStep& step) {
  std::vector<Convolutions> kinds;
  for (const Op& op : step.ops) {
    const Launch launch = LaunchOf(op);
    if (AlgorithmNames(launch.kind, launch.pass).empty()) continue;
    const auto same =
        std::find_if(kinds.begin(), kinds.end(), [&](const Convolutions& k) { return LaunchOf(*k.first) == launch; });
    if (same == kinds.end()) {
      kinds.push_back({&op, 1});
    } else {
      ++same->times;
    }
  }
  return kinds;
}

// A grant of workspace that some framework gives, and the options that grant it: "8 MiB by plain, chainer".
struct UsualGrant {
  Bytes workspace = 0;
  std::string options;
};

std::vector<UsualGrant> UsualGrants() {
  std::vector<UsualGrant> grants;
  for (const StepOptions& options : StepOptionTable()) {
    const auto same = std::find_if(grants.begin(), grants.end(),
                                   [&](const UsualGrant& g) { return g.workspace == options.workspace_limit; });
    if (same == grants.end()) {
      grants.push_back({options.workspace_limit, options.name});
    } else {
      same->options += std::string(", ") + options.name;
    }
  }
  return grants;
}

bool IsEntry(const MenuEntry& entry, const Cost& cost) {
  return entry.cost.algorithm == cost.algorithm && entry.cost.time == cost.time &&
         entry.cost.workspace == cost.workspace;
}

// What no other entry beats in both workspace and time, and what a run takes, the fastest first.
std::vector<MenuEntry> EntriesToShow(const CostModel& costs, const Launch& launch, const std::vector<Cost>& taken) {
  const std::vector<MenuEntry> menu = costs.Menu(launch);
  std::vector<MenuEntry> entries = ParetoSet(menu);
  for (const Cost& cost : taken) {
    const auto is = [&cost](const MenuEntry& entry) { return IsEntry(entry, cost); };
    if (std::any_of(entries.begin(), entries.end(), is)) continue;
    const auto found = std::find_if(menu.begin(), menu.end(), is);
    entries.push_back(found != menu.end() ? *found : MenuEntry{0, cost.workspace, cost});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const MenuEntry& a, const MenuEntry& b) { return a.cost.time < b.cost.time; });
  return entries;
}

// What no other algorithm beats in both workspace and time, and what runs take.
std::string ShowMenu(const Command& command) {
  if (command.machine.empty()) throw UserError("show menu: --machine says whose; `spillway list machines` has them");
  const Machine machine = LoadMachine(command.machine);
  CheckMeasured(machine, command.machine);
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(NetworkByName(command.name, command.batch));
  const std::vector<UsualGrant> grants = UsualGrants();
  TextTable table({"<op", "times", "<algorithm", "time", "workspace", "<how", "<taken with"});
  const std::vector<Convolutions> kinds = KindsOfConvolutions(step);
  for (const Convolutions& kind : kinds) {
    Launch launch = LaunchOf(*kind.first);
    std::vector<Cost> taken;
    for (const UsualGrant& grant : grants) {
      launch.workspace = grant.workspace;
      taken.push_back(costs.Kernel(launch));
    }
    std::string name = kind.first->name, times = std::to_string(kind.times);
    for (const MenuEntry& entry : EntriesToShow(costs, LaunchOf(*kind.first), taken)) {
      std::string with;
      for (std::size_t i = 0; i < grants.size(); ++i) {
        if (IsEntry(entry, taken[i])) with += (with.empty() ? "" : ", ") + FormatBytesExact(grants[i].workspace);
      }
      table.Row({name, times, AlgorithmName(launch.kind, launch.pass, entry.cost.algorithm),
                 FormatDuration(entry.cost.time), FormatBytes(entry.workspace), entry.cost.how, with});
      name = times = "";
    }
  }
  std::string said;
  for (const UsualGrant& grant : grants) {
    said +=
        fmt::format("{}{} by options {}", said.empty() ? "" : "; ", FormatBytesExact(grant.workspace), grant.options);
  }
  return fmt::format(
             "{} at batch {} on {}: what runs its {} kinds of convolutions, the fastest first\n"
             "taken with: the workspace granted where no plan says otherwise, {}\n\n",
             command.name, command.batch, machine.name, kinds.size(), said) +
         table.Text();
}

// ---- strategy

std::string ShowStrategy(const Command& command) {
  const Strategy& s = StrategyByName(command.name);
  return fmt::format("{}: {}\npaper: {}\n", s.name, s.description, s.paper);
}

// ---- floor

std::string ShowFloorOf(const Command& command) {
  if (command.name == "all") return ShowFloors(command, NamesOf(Zoo()));
  return ShowFloor(command, NetworkByName(command.name, command.batch));
}

// ---- shares

std::string ShowSharesOf(const Command& command) {
  return ShowShares(command, [&command](std::int64_t batch) { return NetworkByName(command.name, batch); });
}

constexpr Topic<std::string(const Command&)> kTopics[] = {{"network", ShowNetwork},   {"machine", ShowMachine},
                                                          {"strategy", ShowStrategy}, {"menu", ShowMenu},
                                                          {"floor", ShowFloorOf},     {"shares", ShowSharesOf}};

}  // namespace

ExitCode ShowVerb(const Command& command, Console& console) {
  console.out << AnswerTo(command.topic, kTopics, "show")(command);
  return kExitDone;
}

}  // namespace spillway
