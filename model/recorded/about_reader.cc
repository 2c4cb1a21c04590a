// The keys of a recording that say how, on what device and on what machine it was made.
#include <fmt/format.h>

#include "model/recorded/recorded_graph.h"

namespace spillway {

namespace {

constexpr double kNanosASecond = 1e9;

void ReadVersion(MapReader& reader, Diagnostics& diagnostics, RecordedAbout& about) {
  const Node* format = reader.Optional("format");
  const Node* version = reader.Optional("version");
  if (format != nullptr && format->scalar != kGraphFormat) {
    diagnostics.Error(format->mark, fmt::format("format: expected {}, found '{}'", kGraphFormat, format->scalar));
  }
  if ((format == nullptr) != (version == nullptr)) {
    diagnostics.Error(reader.mark(), "format and version: expected both or none, which is version 1");
  }
  if (version == nullptr) return;
  const auto number = version->IsScalar() ? ParseInteger(version->scalar) : std::nullopt;
  about.version = number.value_or(0);
  if (number && *number >= 1 && *number <= kGraphVersion) return;
  diagnostics.Error(version->mark, fmt::format("version: this program reads versions 1 to {}, found '{}'",
                                               kGraphVersion, version->scalar));
}

void ReadMade(const Node& node, Diagnostics& diagnostics, RecordedAbout& about) {
  MapReader reader(node, diagnostics, "made", GraphMadeKeys());
  about.how = GraphHowNames()[static_cast<std::size_t>(reader.ChoiceOr("how", GraphHowNames(), 0))];
  about.times = GraphTimesNames()[static_cast<std::size_t>(reader.ChoiceOr("times", GraphTimesNames(), 0))];
  reader.IntegerOr("steps", 0, 0, 1'000'000);
  about.torch = reader.StringOr("torch", "");
  about.python = reader.StringOr("python", "");
  about.date = reader.StringOr("date", "");
  about.notes = reader.StringsOrNone("notes");
  reader.Finish();
}

void ReadDevice(const Node& node, Diagnostics& diagnostics, RecordedAbout& about) {
  MapReader reader(node, diagnostics, "device", GraphDeviceKeys());
  const Node* type = reader.Required("type");
  const int of = type == nullptr ? 0 : reader.ChoiceOr("type", GraphDeviceNames(), 0);
  about.device_type = GraphDeviceNames()[static_cast<std::size_t>(of)];
  about.device = reader.StringOr("name", "");
  about.driver = reader.StringOr("driver", "");
  about.precision =
      GraphPrecisionNames()[static_cast<std::size_t>(reader.ChoiceOr("precision", GraphPrecisionNames(), 0))];
  reader.Finish();
}

void ReadMachineOf(const Node& node, Diagnostics& diagnostics, RecordedAbout& about) {
  MapReader reader(node, diagnostics, "machine", GraphMachineKeys());
  about.memory = reader.IntegerOr("memory_bytes", 0, 0, kMostRecordedBytes);
  about.memory_free = reader.IntegerOr("memory_free_bytes", 0, 0, kMostRecordedBytes);
  about.host_memory = reader.IntegerOr("host_memory_bytes", 0, 0, kMostRecordedBytes);
  about.call_time = reader.NumberOr("call_ns", 0, 0, kMostCallTime);
  about.carried_call = reader.NumberOr("carried_call_ns", 0, 0, kMostCallTime);
  about.copy_in = reader.NumberOr("copy_in_bytes_per_s", 0, 0, kMostRecordedRate) / kNanosASecond;
  about.copy_out = reader.NumberOr("copy_out_bytes_per_s", 0, 0, kMostRecordedRate) / kNanosASecond;
  about.both_in = reader.NumberOr("both_in_bytes_per_s", 0, 0, kMostRecordedRate) / kNanosASecond;
  about.both_out = reader.NumberOr("both_out_bytes_per_s", 0, 0, kMostRecordedRate) / kNanosASecond;
  reader.Check((about.copy_in > 0) == (about.copy_out > 0), "copy_in_bytes_per_s",
               "expected with copy_out_bytes_per_s, or neither");
  reader.Finish();
}

}  // namespace

RecordedAbout ReadRecordedAbout(MapReader& reader, Diagnostics& diagnostics) {
  RecordedAbout about;
  ReadVersion(reader, diagnostics, about);
  if (const Node* made = reader.Optional("made")) ReadMade(*made, diagnostics, about);
  if (const Node* device = reader.Optional("device")) ReadDevice(*device, diagnostics, about);
  if (const Node* machine = reader.Optional("machine")) ReadMachineOf(*machine, diagnostics, about);
  about.allocator_peak = reader.IntegerOr("allocator_peak_bytes", 0, 0, kMostRecordedBytes);
  return about;
}

}  // namespace spillway
