
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "hw/text/lists.h"
#include "model/profile/profile_text.h"

namespace spillway {
namespace {

constexpr const char* kNotPositive = "must be more than zero";
constexpr std::string_view kVoxel = "1x1x1";  // called 1x1

// Two or three sizes with an x between, as windows are called.
bool IsWindow(std::string_view text) {
  if (text == kVoxel) return false;
  int sizes = 0;
  for (std::size_t begin = 0; begin <= text.size(); ++sizes) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const std::string_view size = text.substr(begin, end - begin);
    const bool whole = !size.empty() && size.front() != '0' && size.find_first_not_of("0123456789") == size.npos;
    if (!whole) return false;
    begin = end + 1;
  }
  return sizes == 2 || sizes == 3;
}

// Of a law's window; "" where there is none.
std::string WindowMistake(const std::string& window) {
  if (window.empty() || window == kGroupedWindow || IsWindow(window)) return "";
  return fmt::format(
      "window '{}': expected {}, or sizes such as 3x3 and 3x3x3{}", window, kGroupedWindow,
      window == kVoxel ? "; one of a single voxel is 1x1, with a depth too" : DidYouMean(window, {kGroupedWindow}));
}

class ProfileReader {
 public:
  explicit ProfileReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Machine Read(MapReader& reader);

 private:
  Source ReadSource(MapReader& reader) { return spillway::ReadSource(reader, diagnostics_); }
  HostNode ReadHost(const Node& node);
  Device ReadDevice(const Node& node);
  void ReadFigures(const Node& node, const std::string& owner, Device& device);
  void ReadMemory(const Node& node, const std::string& owner, Device& device);
  HostCosts ReadHostCosts(const Node& node, const PartOwner& owner);
  CostLaw ReadLaw(const Node& node, const PartOwner& owner);
  void ReadKernels(MapReader& reader, const PartOwner& owner, Device& device);
  void CheckLinked(const Node* devices, const Machine& machine);

  template <typename T>
  void CheckNames(const Node* list, const std::vector<T>& values) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].name.empty() || seen.insert(values[i].name).second) continue;
      const Node* name = list->items[i].Find("name");
      diagnostics_.Error(name->mark, fmt::format("a second entry is called '{}'", values[i].name));
    }
  }

  Diagnostics& diagnostics_;
  std::string machine_;  // its name
};

HostNode ProfileReader::ReadHost(const Node& node) {
  MapReader reader(node, diagnostics_, Called("host", node), HostKeys());
  HostNode host;
  host.name = reader.RequiredString("name");
  host.memory = reader.RequiredBytes("memory");
  host.pinned_limit = reader.BytesOr("pinned_limit", host.memory);
  host.source = ReadSource(reader);
  reader.Finish();
  reader.Check(host.memory > 0, "memory", kNotPositive);
  reader.Check(host.memory <= 0 || host.pinned_limit <= host.memory, "pinned_limit", "exceeds the memory of the host");
  return host;
}

void ProfileReader::ReadFigures(const Node& node, const std::string& owner, Device& device) {
  MapReader reader(node, diagnostics_, "figures of " + owner, FigureKeys());
  const ChipPeaks peaks = ReadPeaks(reader, diagnostics_);
  device.peak_flops = peaks.fp32;
  device.math_peaks = peaks.others;
  device.math_source = peaks.others_source;
  device.memory_bandwidth = reader.RequiredBandwidth("memory_bandwidth");
  device.multiprocessors = static_cast<int>(reader.RequiredInteger("multiprocessors", 1, kMostMultiprocessors));
  device.l2_cache = reader.BytesOr("l2_cache", 0);
  device.source = ReadSource(reader);
  reader.Finish();
  reader.Check(device.memory_bandwidth > 0, "memory_bandwidth", kNotPositive);
}

void ProfileReader::ReadMemory(const Node& node, const std::string& owner, Device& device) {
  MapReader reader(node, diagnostics_, "memory of " + owner, DeviceMemoryKeys());
  device.total_memory = reader.RequiredBytes("total");
  device.reserve = reader.RequiredBytes("reserve");
  device.pool_fraction = reader.RequiredNumber("pool_fraction", 0, 1);
  device.memory_source = ReadSource(reader);
  reader.Finish();
  reader.Check(device.total_memory > 0, "total", kNotPositive);
  reader.Check(device.total_memory == 0 || device.reserve < device.total_memory, "reserve",
               "leaves nothing of the total memory");
  reader.Check(device.pool_fraction > 0, "pool_fraction", kNotPositive);
}

HostCosts ProfileReader::ReadHostCosts(const Node& node, const PartOwner& owner) {
  MapReader reader(node, diagnostics_, "host costs of " + owner.device, HostCostKeys());
  HostCosts costs;
  costs.kernel_launch = reader.RequiredDuration("kernel_launch");
  costs.copy_submit = reader.RequiredDuration("copy_submit");
  costs.event_record = reader.RequiredDuration("event_record");
  costs.stream_wait = reader.RequiredDuration("stream_wait");
  costs.pool_alloc = reader.RequiredDuration("pool_alloc");
  costs.pool_free = reader.RequiredDuration("pool_free");
  costs.sync = reader.RequiredDuration("sync");
  costs.source = ReadSource(reader);
  if (const Node* launches = reader.Optional("launches")) ReadLaunchCosts(*launches, diagnostics_, owner, costs);
  reader.Finish();
  return costs;
}

CostLaw ProfileReader::ReadLaw(const Node& node, const PartOwner& owner) {
  MapReader reader(node, diagnostics_, "law of " + owner.device, LawKeys());
  EntryNames names(reader, diagnostics_, owner, "laws");
  CostLaw law;
  law.op = names.ReadOp();
  law.pass = names.ReadPass();
  law.window = reader.StringOr("window", "");
  const std::string mistake = WindowMistake(law.window);
  if (!mistake.empty()) diagnostics_.Error(reader.MarkOf("window"), owner.Text() + "laws: " + mistake);
  law.flop_fraction = reader.RequiredNumber("flop_fraction", 0, kMostFraction);
  law.bandwidth_fraction = reader.RequiredNumber("bandwidth_fraction", 0, kMostFraction);
  law.fixed = reader.DurationOr("fixed", law.fixed);
  law.workspace = reader.BytesOr("workspace", law.workspace);
  law.error = reader.NumberOr("error", law.error, 0, kMostError);
  law.copy_slowdown = reader.NumberOr("copy_slowdown", law.copy_slowdown, 1, kMostSlowdown);
  law.source = ReadSource(reader);
  reader.Finish();
  reader.Check(law.flop_fraction > 0 || law.bandwidth_fraction > 0 || law.fixed > 0, "flop_fraction",
               "nothing in this law takes time; one of flop_fraction, bandwidth_fraction and fixed must be positive");
  return law;
}

void ProfileReader::ReadKernels(MapReader& reader, const PartOwner& owner, Device& device) {
  if (const Node* laws = reader.Optional("laws")) {
    device.laws =
        ReadList<CostLaw>(laws, 0, "law", diagnostics_, [&](const Node& item) { return ReadLaw(item, owner); });
    RefuseRepeated(*laws, {"op", "pass", "window"}, "law for", diagnostics_);
  }
  device.models_from = reader.StringOr("models_from", "");
  device.call_floors = ReadList<CallFloor>(reader.Optional("call_floors"), 0, "call floor", diagnostics_,
                                           [&](const Node& item) { return ReadCallFloor(item, diagnostics_, owner); });
  device.stacks = ReadList<SoftwareStack>(reader.Optional("stacks"), 0, "stack", diagnostics_,
                                          [&](const Node& item) { return ReadStack(item, diagnostics_, owner); });
  device.cudnn = reader.StringOr("cudnn", "");
  device.stack_error = reader.NumberOr("stack_error", device.stack_error, 0, kMostError);
  device.models = ReadList<KernelModel>(reader.Optional("models"), 0, "model", diagnostics_,
                                        [&](const Node& item) { return ReadKernelModel(item, diagnostics_, owner); });
  if (const Node* measured = reader.Optional("measured")) ReadMeasured(*measured, diagnostics_, owner.device, device);
  reader.Check(device.models_from.empty() || device.models.empty(), "models_from", "there are models of its own too");
  reader.Check(device.models_from.empty() || device.call_floors.empty(), "models_from",
               "there are call floors of its own too");
  reader.Check(device.models_from.empty() || device.stacks.empty(), "models_from", "there are stacks of its own too");
}

Device ProfileReader::ReadDevice(const Node& node) {
  const std::string owner = Called("device", node);
  MapReader reader(node, diagnostics_, owner, DeviceKeys());
  Device device;
  device.name = reader.RequiredString("name");
  if (const Node* figures = reader.Required("figures")) ReadFigures(*figures, owner, device);
  if (const Node* memory = reader.Required("memory")) ReadMemory(*memory, owner, device);
  if (const Node* costs = reader.Required("host_costs")) device.host_costs = ReadHostCosts(*costs, {owner, machine_});
  ReadKernels(reader, {owner, machine_}, device);
  reader.Finish();
  return device;
}

// Silent when a link leads nowhere: that was reported, and it may have been meant for the device.
void ProfileReader::CheckLinked(const Node* devices, const Machine& machine) {
  const auto leads_to = [&](int device) {
    return std::any_of(machine.links.begin(), machine.links.end(),
                       [device](const Link& link) { return link.device == device; });
  };
  if (machine.links.empty() || leads_to(-1)) return;
  for (std::size_t i = 0; i < machine.devices.size(); ++i) {
    if (leads_to(static_cast<int>(i))) continue;
    diagnostics_.Error(devices->items[i].mark, fmt::format("device '{}' has no link", machine.devices[i].name));
  }
}

Machine ProfileReader::Read(MapReader& reader) {
  Machine machine;
  machine.name = machine_ = reader.RequiredString("name");
  machine.description = reader.RequiredString("description");
  machine.software = reader.RequiredString("software");
  machine.notes = reader.StringsOrNone("notes");
  const Node* const hosts = reader.Required("hosts");
  const Node* const devices = reader.Required("devices");
  const Node* const links = reader.Required("links");
  machine.hosts = ReadList<HostNode>(hosts, 1, "host", diagnostics_, [&](const Node& item) { return ReadHost(item); });
  machine.devices =
      ReadList<Device>(devices, 1, "device", diagnostics_, [&](const Node& item) { return ReadDevice(item); });
  machine.links = ReadList<Link>(links, 1, "link", diagnostics_, [&](const Node& item) {
    return ReadLink(item, NamesOf(machine.hosts), NamesOf(machine.devices), diagnostics_);
  });
  CheckNames(hosts, machine.hosts);
  CheckNames(devices, machine.devices);
  CheckNames(links, machine.links);
  CheckLinked(devices, machine);
  return machine;
}

}  // namespace

void RefuseRepeated(const Node& list, std::initializer_list<const char*> keys, const char* second,
                    Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (const Node& item : list.items) {
    std::string text;
    std::size_t said = 0;
    for (const char* key : keys) {
      const Node* const value = item.Find(key);
      if (value == nullptr || value->scalar.empty()) continue;
      text += (said++ == 0 ? "" : " ") + value->scalar;
    }
    if (said < 2 || seen.insert(text).second) continue;
    diagnostics.Error(item.mark, fmt::format("a second {} {}", second, text));
  }
}

Machine ReadMachine(MapReader& reader, Diagnostics& diagnostics) { return ProfileReader(diagnostics).Read(reader); }

}  // namespace spillway
