#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "reports/tables/tables.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

constexpr std::size_t kMapsTold = 20;

std::string MillisecondsText(Nanos time) {
  return ShortNumber(static_cast<double>(time) / static_cast<double>(kMillisecond)) + " ms";
}

std::string SignedMilliseconds(Nanos time) { return (time > 0 ? "+" : "") + MillisecondsText(time); }

std::string SignedBytes(Bytes bytes) { return (bytes < 0 ? "-" : "+") + FormatBytes(bytes < 0 ? -bytes : bytes); }

std::string CostsTable(const ResultRow& a, const ResultRow& b) {
  TextTable table({"<", a.strategy, b.strategy, "difference"});
  const auto times = [&](const char* name, Nanos of_a, Nanos of_b) {
    table.Row({name, MillisecondsText(of_a), MillisecondsText(of_b), SignedMilliseconds(of_b - of_a)});
  };
  const auto sizes = [&](const char* name, Bytes of_a, Bytes of_b) {
    table.Row({name, FormatBytes(of_a), FormatBytes(of_b), SignedBytes(of_b - of_a)});
  };
  table.Row({"samples/s", ShortNumber(a.SamplesPerSecond()), ShortNumber(b.SamplesPerSecond()),
             Percent(b.SamplesPerSecond() / a.SamplesPerSecond() - 1)});
  times("step", a.times.step, b.times.step);
  times("compute", a.times.compute - a.times.recompute, b.times.compute - b.times.recompute);
  times("recompute", a.times.recompute, b.times.recompute);
  times("waits for swap-outs", a.times.stall_out, b.times.stall_out);
  times("waits for swap-ins", a.times.stall_in, b.times.stall_in);
  times("waits for the host", a.times.stall_host, b.times.stall_host);
  sizes("copied to the host", a.memory.bytes_out, b.memory.bytes_out);
  sizes("copied to the device", a.memory.bytes_in, b.memory.bytes_in);
  sizes("peak", a.memory.peak, b.memory.peak);
  table.Row({"kept/swapped/recomputed", ClassesText(a.plan.classes), ClassesText(b.plan.classes), ""});
  return table.Text();
}

std::string MapsTable(const PlanSide& a, const PlanSide& b, const CostModel& costs) {
  const std::vector<std::optional<GapAction>> of_a = MapActions(a.plan, a.step), of_b = MapActions(b.plan, b.step);
  std::vector<std::size_t> differ;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_a[i] != of_b[i]) differ.push_back(i);
  }
  if (differ.empty()) return fmt::format("both plans decide the same about all {} feature maps\n", of_a.size());
  const auto tensor = [&a](std::size_t i) -> const Tensor& { return a.step.tensors[Index(a.step.maps[i])]; };
  Bytes all = 0;
  for (const std::size_t i : differ) all += tensor(i).bytes;
  std::stable_sort(differ.begin(), differ.end(),
                   [&](std::size_t x, std::size_t y) { return tensor(x).bytes > tensor(y).bytes; });
  const Uses uses(a.step);
  TextTable table({"<map", "size", "<" + a.row.strategy, "<" + b.row.strategy, "copies", "recompute"});
  for (std::size_t k = 0; k < std::min(differ.size(), kMapsTold); ++k) {
    const Tensor& map = tensor(differ[k]);
    const Nanos copies =
        costs.Copy(map.bytes, Direction::kDeviceToHost).time + costs.Copy(map.bytes, Direction::kHostToDevice).time;
    const Nanos again = ComputedAgain(a.step, uses, a.step.maps[differ[k]], costs);
    table.Row({map.name, FormatBytes(map.bytes), GapClassName(of_a[differ[k]]), GapClassName(of_b[differ[k]]),
               MillisecondsText(copies), again > 0 ? MillisecondsText(again) : ""});
  }
  if (differ.size() > kMapsTold) table.Line(fmt::format("and {} smaller maps", differ.size() - kMapsTold));
  return fmt::format("{} of {} feature maps differ, {}:\n", differ.size(), of_a.size(), FormatBytes(all)) +
         table.Text() +
         "copies: time to swap the map out and in on an idle link\n"
         "recompute: time of the kernels that write the map\n";
}

}  // namespace

std::string PlanDifference(const PlanSide& a, const PlanSide& b, const CostModel& costs) {
  const std::string head = fmt::format("{} at batch {} on {}, {} of device memory\n", a.row.network, a.row.batch,
                                       a.row.machine, FormatBytes(a.row.memory_limit));
  const bool same_maps = a.plan.accumulate == b.plan.accumulate;
  return head + CostsTable(a.row, b.row) + "\n" +
         (same_maps ? MapsTable(a, b, costs)
                    : fmt::format("the maps cannot be compared: the plans divide the batch into {} and {} parts\n",
                                  a.plan.accumulate, b.plan.accumulate));
}

}  // namespace spillway
