// The reader of a carrier's report.
#include <fmt/format.h>

#include <cmath>

#include "calibrate/validate/carried.h"
#include "hw/text/document.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostCalls = 1'000'000'000, kMostKinds = 1'000'000;
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
  context.kind = reader.IntegerOr("kind", 0, 0, kMostKinds - 1);
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

// What was planned. `reader`: of the file, or of one of its kinds.
void ReadPlan(MapReader& reader, CarriedReport& report) {
  report.network = reader.RequiredString("network");
  report.strategy = reader.RequiredString("strategy");
  report.capacity = reader.RequiredInteger("capacity_bytes", 1, kMostBytes);
  report.predicted_peak = reader.RequiredInteger("predicted_peak_bytes", 0, kMostBytes);
  report.predicted_step = std::llround(reader.RequiredNumber("predicted_step_ns", 1, kMostSeconds * 1e9));
  report.predicted_host = reader.IntegerOr("predicted_host_bytes", report.predicted_host, 0, kMostBytes);
}

CarriedSums ReadSums(const Node& node, Diagnostics& diagnostics) {
  MapReader reader(node, diagnostics, "all_contexts");
  return {.contexts = reader.IntegerOr("contexts", 0, 0, kMostCalls),
          .extra = reader.IntegerOr("extra", 0, 0, kMostCalls),
          .missing = reader.IntegerOr("missing", 0, 0, kMostCalls),
          .lost = reader.IntegerOr("lost", 0, 0, kMostCalls),
          .counted = reader.IntegerOr("counted_peak_bytes", 0, 0, kMostBytes)};
}

CarriedSums SumsOf(const std::vector<CarriedContext>& contexts) {
  CarriedSums sums;
  for (const CarriedContext& context : contexts) {
    ++sums.contexts;
    sums.extra += context.extra;
    sums.missing += context.missing;
    sums.lost += context.lost_at.empty() ? 0 : 1;
  }
  return sums;
}

// Each with what the file says of its plan; contexts and calls are those of the whole file.
std::vector<CarriedReport> ReadKinds(MapReader& reader, Diagnostics& diagnostics, const CarriedReport& whole) {
  const Node* kinds = reader.Optional("kinds");
  if (kinds == nullptr) return {whole};
  if (!kinds->IsSequence() || kinds->items.empty()) {
    diagnostics.Error(kinds->mark, "kinds: expected a list of plans, one for each kind of step");
    return {whole};
  }
  std::vector<CarriedReport> all;
  for (const Node& node : kinds->items) {
    MapReader kind(node, diagnostics, "kind");
    CarriedReport& report = all.emplace_back(whole);
    ReadPlan(kind, report);
    if (const Node* sums = kind.Optional("all_contexts")) report.all = ReadSums(*sums, diagnostics);
  }
  return all;
}

// Leaves each kind its own contexts, and leaves out kinds without. Extra calls are of the whole file: told once.
std::vector<CarriedReport> Divided(std::vector<CarriedReport> kinds) {
  std::vector<CarriedReport> divided;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    CarriedReport& report = kinds[k];
    std::erase_if(report.contexts, [k](const CarriedContext& c) { return c.kind != static_cast<std::int64_t>(k); });
    if (report.contexts.empty()) continue;
    if (report.all.contexts == 0) report.all = SumsOf(report.contexts);
    if (kinds.size() > 1) report.file += fmt::format(", kind {}", k + 1);
    if (!divided.empty()) report.extra_calls.clear();
    divided.push_back(std::move(report));
  }
  return divided;
}

}  // namespace

std::vector<CarriedReport> LoadCarriedReports(const std::string& path) {
  const Document document = LoadDocument(path);
  Diagnostics diagnostics(document);
  MapReader reader(document.root, diagnostics, "report");
  MustBeAReport(reader, diagnostics);
  CarriedReport whole;
  whole.file = path;
  whole.machine = reader.StringOr("machine", "");
  whole.device = reader.StringOr("device", "");
  whole.batch = reader.IntegerOr("batch", 1, 1, kMostCalls);
  whole.host = reader.IntegerOr("host_bytes", 0, 0, kMostBytes);
  ReadPlan(reader, whole);
  ReadContexts(reader, diagnostics, whole);
  ReadExtraCalls(reader, diagnostics, whole);
  std::vector<CarriedReport> kinds = ReadKinds(reader, diagnostics, whole);
  for (const CarriedContext& context : whole.contexts) {
    if (context.kind < static_cast<std::int64_t>(kinds.size())) continue;
    reader.Check(false, "contexts", fmt::format("a context of kind {}, of {}", context.kind, kinds.size()));
    break;
  }
  diagnostics.ThrowIfAny();
  return Divided(std::move(kinds));
}

}  // namespace spillway
