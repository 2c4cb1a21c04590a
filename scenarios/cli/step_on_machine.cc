#include "scenarios/cli/step_on_machine.h"

#include <fmt/format.h>

#include <optional>

#include "hw/text/document.h"
#include "reports/rows/result_row.h"
#include "reports/tables/text.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/run/recorded_plan.h"
#include "scenarios/run/run.h"

namespace spillway {

namespace {

constexpr double kWorthSaying = 0.01;  // of the step

std::optional<ResultRow> FastestRow(const PreparedRun& run) {
  std::optional<ResultRow> fastest;
  RunPoints(run, ScenarioOptions{}.Threads(), [&](const Point&, PointResult& result) {
    const bool better = result.row.feasible && (!fastest || result.row.times.step < fastest->times.step);
    if (better) fastest = result.row;
  });
  return fastest;
}

std::string HowText(const ResultRow& row) {
  if (row.strategy == "in-core") return "everything on the device";
  return "by a plan of " + row.strategy + ", which `spillway plan` writes";
}

std::string RestsOn(const ResultRow& row) {
  const SourceShares& shares = row.provenance.shares;
  std::string text;
  const auto add = [&text](double share, const char* on) {
    if (share >= kWorthSaying) text += fmt::format("{}{} of it {}", text.empty() ? "" : ", ", Percent(share), on);
  };
  add(shares.assumed, "by assumed costs");
  add(shares.beyond, "by kernel models beyond their data");
  add(shares.roofline, "at full peak and bandwidth, for lack of laws");
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string StepOnMachineText(const ShowAsked& asked) {
  const PreparedRecording prepared = PrepareRecording(
      {.file = asked.name, .machine = asked.machine, .memory = asked.memory}, LoadDocument(asked.name));
  const std::string& machine = prepared.run.machines.front()->label;
  const std::optional<ResultRow> row = FastestRow(prepared.run);
  std::string text = fmt::format("\nstep on {}: no plan fits\n", machine);
  if (row) {
    text = fmt::format("\nstep on {}: {}, in 80 % {} to {}; {} samples/s, {}\n", machine,
                       FormatDuration(row->times.step), FormatDuration(row->times.low), FormatDuration(row->times.high),
                       ShortNumber(row->SamplesPerSecond()), HowText(*row));
    text += RestsOn(*row);
  }
  for (const std::string& note : prepared.run.warnings) text += note + "\n";
  return text;
}

}  // namespace spillway
