
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "hw/machine/hardware_text.h"
#include "hw/text/lists.h"

namespace spillway {
namespace {

class LinkReader {
 public:
  explicit LinkReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Link Read(const Node& node, const std::vector<std::string>& hosts, const std::vector<std::string>& devices);

 private:
  void ReadDuplex(const Node& node, const std::string& owner, Link& link);
  OtherMemory ReadOtherMemory(const Node& node, const std::string& owner);
  void CheckKinds(const Node& list, const std::vector<OtherMemory>& memories);
  std::array<TransferCurve, 2> ReadCurves(MapReader& reader, const std::string& owner);
  TransferCurve ReadCurve(const Node& node, const std::string& what);
  TransferCurve::Point ReadPoint(const Node& node);
  void CheckPoints(const Node& list, const std::vector<TransferCurve::Point>& points);

  Diagnostics& diagnostics_;
};

// Index of the thing named under `key`. Says nothing when there are no names: that was reported.
int Endpoint(MapReader& reader, std::string_view key, const std::vector<std::string>& names) {
  const std::string name = reader.RequiredString(key);
  const auto index = IndexIn(names, name);
  reader.Check(names.empty() || index, key, fmt::format("no {} is called '{}'{}", key, name, DidYouMean(name, names)));
  return index ? static_cast<int>(*index) : -1;
}

TransferCurve::Point LinkReader::ReadPoint(const Node& node) {
  if (node.IsSequence() && node.items.size() == 2) {
    const auto bytes = ParseBytes(node.items[0].scalar);
    const auto time = ParseDuration(node.items[1].scalar);
    if (bytes && time) return {*bytes, *time};
  }
  diagnostics_.Error(node.mark, "expected a point [size, time], such as [64 KiB, 15 us]");
  return {-1, -1};
}

void LinkReader::CheckPoints(const Node& list, const std::vector<TransferCurve::Point>& points) {
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

TransferCurve LinkReader::ReadCurve(const Node& node, const std::string& what) {
  MapReader reader(node, diagnostics_, what, CurveKeys());
  TransferCurve curve;
  const Node* points = reader.Required("points");
  curve.points = ReadList<TransferCurve::Point>(points, 2, "point", diagnostics_,
                                                [&](const Node& item) { return ReadPoint(item); });
  if (points != nullptr) CheckPoints(*points, curve.points);
  curve.error = reader.NumberOr("error", curve.error, 0, kMostError);
  curve.source = ReadSource(reader, diagnostics_);
  reader.Finish();
  return curve;
}

std::array<TransferCurve, 2> LinkReader::ReadCurves(MapReader& reader, const std::string& owner) {
  std::array<TransferCurve, 2> curves;
  const auto read = [&](const char* key, Direction direction) {
    const Node* value = reader.Required(key);
    if (value == nullptr) return;
    curves[static_cast<std::size_t>(direction)] = ReadCurve(*value, fmt::format("{} of {}", key, owner));
  };
  read("host_to_device", Direction::kHostToDevice);
  read("device_to_host", Direction::kDeviceToHost);
  return curves;
}

OtherMemory LinkReader::ReadOtherMemory(const Node& node, const std::string& owner) {
  MapReader reader(node, diagnostics_, "other_memory of " + owner, OtherMemoryKeys());
  OtherMemory memory;
  if (reader.Required("kind") != nullptr) {
    memory.kind = static_cast<OtherMemory::Kind>(reader.ChoiceOr("kind", OtherMemoryNames(), 0));
  }
  memory.note = reader.StringOr("note", "");
  memory.curves = ReadCurves(reader, fmt::format("{} memory of {}", OtherMemoryName(memory.kind), owner));
  reader.Finish();
  return memory;
}

void LinkReader::CheckKinds(const Node& list, const std::vector<OtherMemory>& memories) {
  std::set<OtherMemory::Kind> seen;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const Node* kind = list.items[i].Find("kind");
    if (kind == nullptr || kind->scalar != OtherMemoryName(memories[i].kind)) continue;  // reported
    if (seen.insert(memories[i].kind).second) continue;
    diagnostics_.Error(kind->mark, fmt::format("a second entry for {} memory", OtherMemoryName(memories[i].kind)));
  }
}

void LinkReader::ReadDuplex(const Node& node, const std::string& owner, Link& link) {
  MapReader reader(node, diagnostics_, "duplex of " + owner, DuplexKeys());
  const std::array<const char*, 2> each = {"host_to_device", "device_to_host"};  // by Direction
  const bool apart = std::any_of(each.begin(), each.end(), [&](const char* key) { return reader.Optional(key); });
  const double both = reader.NumberOr("factor", 1, kLeastDuplexFactor, 1);
  reader.Check(!apart, "factor", "it is that of both directions; leave it out, or the keys of each");
  const bool all = std::all_of(each.begin(), each.end(), [&](const char* key) { return reader.Optional(key); });
  if (!all && (apart || reader.Optional("factor") == nullptr)) {
    diagnostics_.Error(node.mark,
                       fmt::format("duplex of {}: expected 'factor', or both '{}' and '{}'", owner, each[0], each[1]));
  }
  for (std::size_t way = 0; way < each.size(); ++way) {
    link.duplex_factor[way] = reader.NumberOr(each[way], both, kLeastDuplexFactor, 1);
  }
  link.duplex_source = ReadSource(reader, diagnostics_);
  reader.Finish();
}

Link LinkReader::Read(const Node& node, const std::vector<std::string>& hosts,
                      const std::vector<std::string>& devices) {
  const std::string owner = Called("link", node);
  MapReader reader(node, diagnostics_, owner, LinkKeys());
  Link link;
  link.name = reader.RequiredString("name");
  link.host = Endpoint(reader, "host", hosts);
  link.device = Endpoint(reader, "device", devices);
  link.curves = ReadCurves(reader, owner);
  const Node* others = reader.Optional("other_memory");
  link.other_memory = ReadList<OtherMemory>(others, 0, "kind of memory", diagnostics_,
                                            [&](const Node& item) { return ReadOtherMemory(item, owner); });
  if (others != nullptr) CheckKinds(*others, link.other_memory);
  if (const Node* duplex = reader.Required("duplex")) ReadDuplex(*duplex, owner, link);
  link.host_error = reader.NumberOr("host_error", UsualHostError(link), 0, kMostError);
  reader.Finish();
  return link;
}

}  // namespace

Link ReadLink(const Node& node, const std::vector<std::string>& hosts, const std::vector<std::string>& devices,
              Diagnostics& diagnostics) {
  return LinkReader(diagnostics).Read(node, hosts, devices);
}

}  // namespace spillway
