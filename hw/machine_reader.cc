#include "hw/machine_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace spillway {
namespace {

constexpr double kMostError = 10;
constexpr double kMostFraction = 5;  // fast algorithms, counted by their direct operations, exceed the peak
constexpr double kMostSlowdown = 10;
constexpr const char* kNotPositive = "must be more than zero";

class ProfileReader {
 public:
  explicit ProfileReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Machine Read(MapReader& reader);

 private:
  Source ReadSource(MapReader& reader);
  HostNode ReadHost(const Node& node);
  Device ReadDevice(const Node& node);
  void ReadFigures(const Node& node, const std::string& owner, Device& device);
  void ReadMemory(const Node& node, const std::string& owner, Device& device);
  HostCosts ReadHostCosts(const Node& node, const std::string& owner);
  CostLaw ReadLaw(const Node& node, const std::string& owner);
  void CheckLaws(const Node& list, const std::vector<CostLaw>& laws);
  Link ReadLink(const Node& node, const Machine& machine);
  void ReadDuplex(const Node& node, const std::string& owner, Link& link);
  TransferCurve ReadCurve(const Node& node, const std::string& what);
  TransferCurve::Point ReadPoint(const Node& node);
  void CheckPoints(const Node& list, const std::vector<TransferCurve::Point>& points);

  void CheckLinked(const Node* devices, const Machine& machine);

  // Reads the items of `list` (none when it is nullptr) by one, at least `least` of them, each
  // called `what` in messages.
  template <typename T, typename ReadItem>
  std::vector<T> ReadList(const Node* list, std::size_t least, const std::string& what, ReadItem read) {
    std::vector<T> values;
    if (list == nullptr) return values;
    if (!list->IsSequence()) {
      diagnostics_.Error(list->mark, fmt::format("expected a list, one entry for each {}", what));
    } else if (list->items.size() < least) {
      diagnostics_.Error(list->mark, fmt::format("expected at least {} {}{}", least, what, least == 1 ? "" : "s"));
    }
    for (const Node& item : list->items) values.push_back(read(item));
    return values;
  }

  // Index of the thing named under `key`. Says nothing when `known` is empty: that was reported.
  template <typename T>
  int Endpoint(MapReader& reader, std::string_view key, const std::vector<T>& known) {
    const std::string name = reader.RequiredString(key);
    std::vector<std::string> names;
    for (const T& candidate : known) names.push_back(candidate.name);
    const auto found = std::find(names.begin(), names.end(), name);
    reader.Check(known.empty() || found != names.end(), key,
                 fmt::format("no {} is called '{}'{}", key, name, DidYouMean(name, names)));
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  }

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
};

// "device 'gpu0'", or "device" while it has no name.
std::string Called(const char* what, const Node& node) {
  const Node* name = node.Find("name");
  return name != nullptr && name->IsScalar() ? fmt::format("{} '{}'", what, name->scalar) : what;
}

Source ProfileReader::ReadSource(MapReader& reader) {
  const Node* node = reader.Required("source");
  if (node == nullptr) return {};
  Source source;
  MapReader kinds(*node, diagnostics_, "source");
  int given = 0;
  for (const Source::Kind kind : {Source::Kind::kMeasured, Source::Kind::kPublished, Source::Kind::kAssumed}) {
    const std::string text = kinds.StringOr(SourceKindName(kind), "");
    if (text.empty()) continue;
    source = {kind, text};
    ++given;
  }
  kinds.Finish();
  if (given != 1 && node->IsMap()) {
    diagnostics_.Error(node->mark, "source: expected exactly one of measured, published, assumed, with a text");
  }
  return source;
}

HostNode ProfileReader::ReadHost(const Node& node) {
  MapReader reader(node, diagnostics_, Called("host", node));
  HostNode host;
  host.name = reader.RequiredString("name");
  host.memory = reader.RequiredBytes("memory");
  host.pinned_limit = reader.BytesOr("pinned_limit", host.memory);
  host.source = ReadSource(reader);
  reader.Finish();
  reader.Check(host.memory > 0, "memory", kNotPositive);
  reader.Check(host.pinned_limit <= host.memory, "pinned_limit", "exceeds the memory of the host");
  return host;
}

void ProfileReader::ReadFigures(const Node& node, const std::string& owner, Device& device) {
  MapReader reader(node, diagnostics_, "figures of " + owner);
  device.peak_flops = reader.RequiredFlopRate("peak");
  device.memory_bandwidth = reader.RequiredBandwidth("memory_bandwidth");
  device.multiprocessors = static_cast<int>(reader.RequiredInteger("multiprocessors", 1, 10000));
  device.source = ReadSource(reader);
  reader.Finish();
  reader.Check(device.peak_flops > 0, "peak", kNotPositive);
  reader.Check(device.memory_bandwidth > 0, "memory_bandwidth", kNotPositive);
}

void ProfileReader::ReadMemory(const Node& node, const std::string& owner, Device& device) {
  MapReader reader(node, diagnostics_, "memory of " + owner);
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

HostCosts ProfileReader::ReadHostCosts(const Node& node, const std::string& owner) {
  MapReader reader(node, diagnostics_, "host costs of " + owner);
  HostCosts costs;
  costs.kernel_launch = reader.RequiredDuration("kernel_launch");
  costs.copy_submit = reader.RequiredDuration("copy_submit");
  costs.event_record = reader.RequiredDuration("event_record");
  costs.stream_wait = reader.RequiredDuration("stream_wait");
  costs.pool_alloc = reader.RequiredDuration("pool_alloc");
  costs.pool_free = reader.RequiredDuration("pool_free");
  costs.sync = reader.RequiredDuration("sync");
  costs.source = ReadSource(reader);
  reader.Finish();
  return costs;
}

CostLaw ProfileReader::ReadLaw(const Node& node, const std::string& owner) {
  MapReader reader(node, diagnostics_, "law of " + owner);
  CostLaw law;
  law.op = reader.RequiredString("op");
  law.pass = reader.RequiredString("pass");
  law.window = reader.StringOr("window", "");
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

void ProfileReader::CheckLaws(const Node& list, const std::vector<CostLaw>& laws) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const CostLaw& law = laws[i];
    if (law.op.empty() || law.pass.empty() || seen.emplace(law.op, law.pass, law.window).second) continue;
    diagnostics_.Error(list.items[i].mark, fmt::format("a second law for {} {}{}{}", law.op, law.pass,
                                                       law.window.empty() ? "" : " ", law.window));
  }
}

Device ProfileReader::ReadDevice(const Node& node) {
  const std::string owner = Called("device", node);
  MapReader reader(node, diagnostics_, owner);
  Device device;
  device.name = reader.RequiredString("name");
  if (const Node* figures = reader.Required("figures")) ReadFigures(*figures, owner, device);
  if (const Node* memory = reader.Required("memory")) ReadMemory(*memory, owner, device);
  if (const Node* costs = reader.Required("host_costs")) device.host_costs = ReadHostCosts(*costs, owner);
  if (const Node* laws = reader.Optional("laws")) {
    device.laws = ReadList<CostLaw>(laws, 0, "law", [&](const Node& item) { return ReadLaw(item, owner); });
    CheckLaws(*laws, device.laws);
  }
  reader.Finish();
  return device;
}

TransferCurve::Point ProfileReader::ReadPoint(const Node& node) {
  if (node.IsSequence() && node.items.size() == 2) {
    const auto bytes = ParseBytes(node.items[0].scalar);
    const auto time = ParseDuration(node.items[1].scalar);
    if (bytes && time) return {*bytes, *time};
  }
  diagnostics_.Error(node.mark, "expected a point [size, time], such as [64 KiB, 15 us]");
  return {-1, -1};
}

void ProfileReader::CheckPoints(const Node& list, const std::vector<TransferCurve::Point>& points) {
  for (const TransferCurve::Point& point : points) {
    if (point.bytes < 0) return;  // reported; the order of the others means little
  }
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Mark mark = list.items[i].mark;
    if (points[i].bytes <= points[i - 1].bytes) diagnostics_.Error(mark, "points: sizes must increase");
    if (points[i].time < points[i - 1].time) diagnostics_.Error(mark, "points: a larger copy cannot take less time");
    if (i + 1 == points.size() && points[i].time == points[i - 1].time) {
      diagnostics_.Error(mark, "points: the last interval gives the rate of larger copies and must take time");
    }
  }
}

TransferCurve ProfileReader::ReadCurve(const Node& node, const std::string& what) {
  MapReader reader(node, diagnostics_, what);
  TransferCurve curve;
  const Node* points = reader.Required("points");
  curve.points = ReadList<TransferCurve::Point>(points, 2, "point", [&](const Node& item) { return ReadPoint(item); });
  if (points != nullptr) CheckPoints(*points, curve.points);
  curve.error = reader.NumberOr("error", curve.error, 0, kMostError);
  curve.source = ReadSource(reader);
  reader.Finish();
  return curve;
}

void ProfileReader::ReadDuplex(const Node& node, const std::string& owner, Link& link) {
  MapReader reader(node, diagnostics_, "duplex of " + owner);
  link.duplex_factor = reader.RequiredNumber("factor", 0.5, 1);
  link.duplex_source = ReadSource(reader);
  reader.Finish();
}

Link ProfileReader::ReadLink(const Node& node, const Machine& machine) {
  const std::string owner = Called("link", node);
  MapReader reader(node, diagnostics_, owner);
  Link link;
  link.name = reader.RequiredString("name");
  link.host = Endpoint(reader, "host", machine.hosts);
  link.device = Endpoint(reader, "device", machine.devices);
  const auto curve = [&](const char* key, Direction direction) {
    const Node* value = reader.Required(key);
    if (value == nullptr) return;
    link.curves[static_cast<std::size_t>(direction)] = ReadCurve(*value, fmt::format("{} of {}", key, owner));
  };
  curve("host_to_device", Direction::kHostToDevice);
  curve("device_to_host", Direction::kDeviceToHost);
  if (const Node* duplex = reader.Required("duplex")) ReadDuplex(*duplex, owner, link);
  reader.Finish();
  return link;
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
  machine.name = reader.RequiredString("name");
  machine.description = reader.RequiredString("description");
  machine.software = reader.RequiredString("software");
  machine.notes = reader.StringsOrNone("notes");
  const Node* const hosts = reader.Required("hosts");
  const Node* const devices = reader.Required("devices");
  const Node* const links = reader.Required("links");
  machine.hosts = ReadList<HostNode>(hosts, 1, "host", [&](const Node& item) { return ReadHost(item); });
  machine.devices = ReadList<Device>(devices, 1, "device", [&](const Node& item) { return ReadDevice(item); });
  machine.links = ReadList<Link>(links, 1, "link", [&](const Node& item) { return ReadLink(item, machine); });
  CheckNames(hosts, machine.hosts);
  CheckNames(devices, machine.devices);
  CheckNames(links, machine.links);
  CheckLinked(devices, machine);
  return machine;
}

}  // namespace

Machine ReadMachine(MapReader& reader, Diagnostics& diagnostics) { return ProfileReader(diagnostics).Read(reader); }

}  // namespace spillway
