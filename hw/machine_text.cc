// A profile as YAML. The keys are described in machine_file.cc.
#include <fmt/format.h>

#include <iterator>

#include "hw/machine.h"

namespace spillway {
namespace {

using Text = fmt::memory_buffer;

template <typename... Args>
void Print(Text& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// Always quoted: a text from a user may look like anything in YAML.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string SourceText(const Source& source) {
  return fmt::format("{{{}: {}}}", SourceKindName(source.kind), Quoted(source.text));
}

void PrintHosts(Text& out, const Machine& machine) {
  Print(out, "hosts:\n");
  for (const HostNode& host : machine.hosts) {
    Print(out, "  - name: {}\n", Quoted(host.name));
    Print(out, "    memory: {}\n", FormatBytesExact(host.memory));
    Print(out, "    pinned_limit: {}\n", FormatBytesExact(host.pinned_limit));
    Print(out, "    source: {}\n", SourceText(host.source));
  }
}

void PrintHostCosts(Text& out, const HostCosts& costs) {
  Print(out, "    host_costs:\n");
  const auto line = [&out](const char* key, Nanos time) {
    Print(out, "      {}: {}\n", key, FormatDurationExact(time));
  };
  line("kernel_launch", costs.kernel_launch);
  line("copy_submit", costs.copy_submit);
  line("event_record", costs.event_record);
  line("stream_wait", costs.stream_wait);
  line("pool_alloc", costs.pool_alloc);
  line("pool_free", costs.pool_free);
  line("sync", costs.sync);
  Print(out, "      source: {}\n", SourceText(costs.source));
}

void PrintLaws(Text& out, const std::vector<CostLaw>& laws) {
  Print(out, "    laws:{}\n", laws.empty() ? " []" : "");
  for (const CostLaw& law : laws) {
    Print(out, "      - op: {}\n        pass: {}\n", Quoted(law.op), Quoted(law.pass));
    if (!law.window.empty()) Print(out, "        window: {}\n", Quoted(law.window));
    Print(out, "        flop_fraction: {}\n        bandwidth_fraction: {}\n", law.flop_fraction,
          law.bandwidth_fraction);
    Print(out, "        fixed: {}\n        workspace: {}\n", FormatDurationExact(law.fixed),
          FormatBytesExact(law.workspace));
    Print(out, "        error: {}\n        copy_slowdown: {}\n", law.error, law.copy_slowdown);
    Print(out, "        source: {}\n", SourceText(law.source));
  }
}

void PrintDevice(Text& out, const Device& device) {
  Print(out, "  - name: {}\n    figures:\n", Quoted(device.name));
  Print(out, "      peak: {} GFLOP/s\n", device.peak_flops);
  Print(out, "      memory_bandwidth: {} GB/s\n", device.memory_bandwidth);
  Print(out, "      multiprocessors: {}\n", device.multiprocessors);
  Print(out, "      source: {}\n    memory:\n", SourceText(device.source));
  Print(out, "      total: {}\n", FormatBytesExact(device.total_memory));
  Print(out, "      reserve: {}\n", FormatBytesExact(device.reserve));
  Print(out, "      pool_fraction: {}\n", device.pool_fraction);
  Print(out, "      source: {}\n", SourceText(device.memory_source));
  PrintHostCosts(out, device.host_costs);
  PrintLaws(out, device.laws);
}

void PrintCurve(Text& out, const char* key, const TransferCurve& curve) {
  Print(out, "    {}:\n      points:\n", key);
  for (const TransferCurve::Point& point : curve.points) {
    Print(out, "        - [{}, {}]\n", FormatBytesExact(point.bytes), FormatDurationExact(point.time));
  }
  Print(out, "      error: {}\n      source: {}\n", curve.error, SourceText(curve.source));
}

void PrintLink(Text& out, const Machine& machine, const Link& link) {
  Print(out, "  - name: {}\n", Quoted(link.name));
  Print(out, "    host: {}\n", Quoted(machine.hosts[static_cast<std::size_t>(link.host)].name));
  Print(out, "    device: {}\n", Quoted(machine.devices[static_cast<std::size_t>(link.device)].name));
  PrintCurve(out, "host_to_device", link.curves[static_cast<std::size_t>(Direction::kHostToDevice)]);
  PrintCurve(out, "device_to_host", link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)]);
  Print(out, "    duplex:\n      factor: {}\n      source: {}\n", link.duplex_factor, SourceText(link.duplex_source));
}

}  // namespace

std::string MachineToYaml(const Machine& machine) {
  Text out;
  Print(out, "name: {}\n", Quoted(machine.name));
  Print(out, "description: {}\n", Quoted(machine.description));
  Print(out, "software: {}\n", Quoted(machine.software));
  Print(out, "notes:{}\n", machine.notes.empty() ? " []" : "");
  for (const std::string& note : machine.notes) Print(out, "  - {}\n", Quoted(note));
  PrintHosts(out, machine);
  Print(out, "devices:\n");
  for (const Device& device : machine.devices) PrintDevice(out, device);
  Print(out, "links:\n");
  for (const Link& link : machine.links) PrintLink(out, machine, link);
  return fmt::to_string(out);
}

}  // namespace spillway
