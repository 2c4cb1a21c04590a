// The reader of a carrier's report.
#include <fmt/format.h>

#include <cmath>

#include "calibrate/validate/carried.h"
#include "hw/text/document.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostCalls = 1'000'000'000;
constexpr Bytes kMostBytes = 1'000'000 * kGB;
constexpr double kMostSeconds = 1e6, kLeastSeconds = 1e-9;

void MustBeAReport(MapReader& reader, Diagnostics& diagnostics) {
  const Node* format = reader.Optional("format");
  if (format == nullptr || format->scalar != kCarriedFormat) {
    diagnostics.Error(
        format == nullptr ? Mark{} : format->mark,
        fmt::format("expected a report of a carrier, which carrier.report(\"report.json\") writes: its key "
                    "'format' is {}",
                    kCarriedFormat));
    diagnostics.ThrowIfAny();
  }
  const std::int64_t version = reader.RequiredInteger("version", 1, kMostCalls);
  reader.Check(version <= kCarriedVersion, "version",
               fmt::format("this program reads version {}: the report is of a newer carrier", kCarriedVersion));
}

CarriedContext ReadContext(const Node& node, Diagnostics& diagnostics) {
  MapReader reader(node, diagnostics, "context");
  CarriedContext context;
  context.seconds = reader.RequiredNumber("seconds", kLeastSeconds, kMostSeconds);
  context.predicted = std::llround(reader.NumberOr("predicted_ns", 0, 0, kMostSeconds * 1e9));
  context.matched = reader.RequiredInteger("matched", 0, kMostCalls);
  context.missing = reader.IntegerOr("missing", 0, 0, kMostCalls);
  context.clock = reader.IntegerOr("clock", context.matched + context.missing, 0, kMostCalls);
  context.extra = reader.IntegerOr("extra", 0, 0, kMostCalls);
  context.lost_at = reader.StringOr("lost_at", "");
  context.counted = reader.IntegerOr("counted_peak_bytes", 0, 0, kMostBytes);
  context.allocated = reader.IntegerOr("allocated_peak_bytes", 0, 0, kMostBytes);
  context.reserved = reader.IntegerOr("reserved_peak_bytes", 0, 0, kMostBytes);
  context.process = reader.IntegerOr("process_peak_bytes", 0, 0, kMostBytes);
  return context;
}

void ReadContexts(MapReader& reader, Diagnostics& diagnostics, CarriedReport& report) {
  const Node* contexts = reader.Required("contexts");
  if (contexts == nullptr) return;
  if (!contexts->IsSequence()) return diagnostics.Error(contexts->mark, "contexts: expected a list");
  if (contexts->items.empty()) {
    return diagnostics.Error(contexts->mark, "contexts: none: ask for the report after at least one step of training");
  }
  for (const Node& node : contexts->items) report.contexts.push_back(ReadContext(node, diagnostics));
}

void ReadExtraCalls(MapReader& reader, Diagnostics& diagnostics, CarriedReport& report) {
  const Node* calls = reader.Optional("extra_calls");
  if (calls == nullptr) return;
  if (!calls->IsMap()) return diagnostics.Error(calls->mark, "extra_calls: expected names with numbers");
  for (const Node::Entry& entry : calls->entries) {
    const auto times = entry.value.IsScalar() ? ParseInteger(entry.value.scalar) : std::nullopt;
    if (!times) diagnostics.Error(entry.value.mark, "extra_calls: expected a whole number");
    report.extra_calls.emplace_back(entry.key, times.value_or(0));
  }
}

}  // namespace

CarriedReport LoadCarriedReport(const std::string& path) {
  const Document document = LoadDocument(path);
  Diagnostics diagnostics(document);
  MapReader reader(document.root, diagnostics, "report");
  MustBeAReport(reader, diagnostics);
  CarriedReport report;
  report.file = path;
  report.network = reader.RequiredString("network");
  report.strategy = reader.RequiredString("strategy");
  report.machine = reader.StringOr("machine", "");
  report.device = reader.StringOr("device", "");
  report.batch = reader.IntegerOr("batch", 1, 1, kMostCalls);
  report.capacity = reader.RequiredInteger("capacity_bytes", 1, kMostBytes);
  report.predicted_peak = reader.RequiredInteger("predicted_peak_bytes", 0, kMostBytes);
  report.predicted_step = std::llround(reader.RequiredNumber("predicted_step_ns", 1, kMostSeconds * 1e9));
  report.predicted_host = reader.IntegerOr("predicted_host_bytes", 0, 0, kMostBytes);
  report.host = reader.IntegerOr("host_bytes", 0, 0, kMostBytes);
  ReadContexts(reader, diagnostics, report);
  ReadExtraCalls(reader, diagnostics, report);
  diagnostics.ThrowIfAny();
  return report;
}

}  // namespace spillway
