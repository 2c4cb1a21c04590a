// A profile as YAML. The keys are described in machine_keys.cc.
#include <fmt/format.h>

#include <iterator>

#include "model/profile/machine.h"
#include "model/profile/profile_text.h"

namespace spillway {
namespace {

template <typename... Args>
void Print(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  out += fmt::format(format, std::forward<Args>(args)...);
}

void PrintHosts(std::string& out, const Machine& machine) {
  Print(out, "hosts:\n");
  for (const HostNode& host : machine.hosts) {
    Print(out, "  - name: {}\n", Quoted(host.name));
    Print(out, "    memory: {}\n", FormatBytesExact(host.memory));
    Print(out, "    pinned_limit: {}\n", FormatBytesExact(host.pinned_limit));
    Print(out, "    source: {}\n", SourceText(host.source));
  }
}

void PrintHostCosts(std::string& out, const HostCosts& costs) {
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
  Print(out, "      source: {}\n{}", SourceText(costs.source), LaunchCostsText(costs));
}

void PrintLaws(std::string& out, const std::vector<CostLaw>& laws) {
  Print(out, "    laws:{}\n", laws.empty() ? " []" : "");
  for (const CostLaw& law : laws) {
    Print(out, "      - op: {}\n        pass: {}\n", Quoted(OpKindName(law.op)), Quoted(PassName(law.pass)));
    if (!law.window.empty()) Print(out, "        window: {}\n", Quoted(law.window));
    Print(out, "        flop_fraction: {}\n        bandwidth_fraction: {}\n", law.flop_fraction,
          law.bandwidth_fraction);
    Print(out, "        fixed: {}\n        workspace: {}\n", FormatDurationExact(law.fixed),
          FormatBytesExact(law.workspace));
    Print(out, "        error: {}\n        copy_slowdown: {}\n", law.error, law.copy_slowdown);
    Print(out, "        source: {}\n", SourceText(law.source));
  }
}

void PrintPeaks(std::string& out, const Device& device) {
  if (!device.math_peaks.Any()) return Print(out, "      peak: {} GFLOP/s\n", device.peak_flops);
  Print(out, "      peak:\n        fp32: {} GFLOP/s\n", device.peak_flops);
  for (const MathMode mode : {MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    const double peak = device.math_peaks.Of(mode);
    if (peak > 0) Print(out, "        {}: {} GFLOP/s\n", MathModeName(mode), peak);
  }
  Print(out, "        source: {}\n", SourceText(device.math_source));
}

void PrintDevice(std::string& out, const Device& device) {
  Print(out, "  - name: {}\n    figures:\n", Quoted(device.name));
  PrintPeaks(out, device);
  Print(out, "      memory_bandwidth: {} GB/s\n", device.memory_bandwidth);
  Print(out, "      multiprocessors: {}\n      l2_cache: {}\n", device.multiprocessors,
        FormatBytesExact(device.l2_cache));
  Print(out, "      source: {}\n    memory:\n", SourceText(device.source));
  Print(out, "      total: {}\n", FormatBytesExact(device.total_memory));
  Print(out, "      reserve: {}\n", FormatBytesExact(device.reserve));
  Print(out, "      pool_fraction: {}\n", device.pool_fraction);
  Print(out, "      source: {}\n", SourceText(device.memory_source));
  PrintHostCosts(out, device.host_costs);
  PrintLaws(out, device.laws);
  if (!device.cudnn.empty()) Print(out, "    cudnn: {}\n", Quoted(device.cudnn));
  Print(out, "    stack_error: {}\n", device.stack_error);
  if (!device.measured.empty()) Print(out, "{}", MeasuredText(device));
  if (!device.models_from.empty()) {
    Print(out, "    models_from: {}\n", Quoted(device.models_from));
    return;
  }
  Print(out, "    models:{}\n", device.models.empty() ? " []" : "");
  for (const KernelModel& model : device.models) Print(out, "{}", KernelModelText(model));
  Print(out, "    call_floors:{}\n", device.call_floors.empty() ? " []" : "");
  for (const CallFloor& floor : device.call_floors) Print(out, "{}", CallFloorText(floor));
  if (device.stacks.empty()) return;
  Print(out, "    stacks:\n");
  for (const SoftwareStack& stack : device.stacks) Print(out, "{}", StackText(stack));
}

void PrintCurve(std::string& out, const std::string& indent, const char* key, const TransferCurve& curve) {
  Print(out, "{}{}:\n{}  points:\n", indent, key, indent);
  for (const TransferCurve::Point& point : curve.points) {
    Print(out, "{}    - [{}, {}]\n", indent, FormatBytesExact(point.bytes), FormatDurationExact(point.time));
  }
  Print(out, "{}  error: {}\n{}  source: {}\n", indent, curve.error, indent, SourceText(curve.source));
}

void PrintCurves(std::string& out, const std::string& indent, const std::array<TransferCurve, 2>& curves) {
  PrintCurve(out, indent, "host_to_device", curves[static_cast<std::size_t>(Direction::kHostToDevice)]);
  PrintCurve(out, indent, "device_to_host", curves[static_cast<std::size_t>(Direction::kDeviceToHost)]);
}

void PrintDuplex(std::string& out, const Link& link) {
  const auto [in, out_factor] = link.duplex_factor;
  Print(out, "    duplex:\n");
  if (in == out_factor) {
    Print(out, "      factor: {}\n", in);
  } else {
    Print(out, "      host_to_device: {}\n      device_to_host: {}\n", in, out_factor);
  }
  Print(out, "      source: {}\n", SourceText(link.duplex_source));
}

void PrintLink(std::string& out, const Machine& machine, const Link& link) {
  Print(out, "  - name: {}\n", Quoted(link.name));
  Print(out, "    host: {}\n", Quoted(machine.hosts[static_cast<std::size_t>(link.host)].name));
  Print(out, "    device: {}\n", Quoted(machine.devices[static_cast<std::size_t>(link.device)].name));
  PrintCurves(out, "    ", link.curves);
  if (!link.other_memory.empty()) Print(out, "    other_memory:\n");
  for (const OtherMemory& memory : link.other_memory) {
    Print(out, "      - kind: {}\n", OtherMemoryName(memory.kind));
    if (!memory.note.empty()) Print(out, "        note: {}\n", Quoted(memory.note));
    PrintCurves(out, "        ", memory.curves);
  }
  PrintDuplex(out, link);
  Print(out, "    host_error: {}\n", link.host_error);
}

}  // namespace

std::string MachineToYaml(const Machine& machine) {
  std::string out;
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
  return out;
}

std::string ReadableProfile(const Machine& machine) {
  std::string text = MachineToYaml(machine);
  ParseMachine(text, "the profile that was to be written");
  return text;
}

}  // namespace spillway
