#include "scenarios/run/recorded_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hw/text/file_kind.h"
#include "hw/text/lists.h"
#include "model/recorded/gpu_differences.h"
#include "model/recorded/recorded_machine.h"
#include "sim/plan/runtime.h"

namespace spillway {

namespace {

double LinkRate(const std::string& text) {
  if (text.empty()) return 0;
  const auto rate = ParseBandwidth(text);
  if (rate && *rate > 0) return *rate;
  throw UserError(fmt::format("--link: expected a rate such as 12GB/s, found '{}'", text));
}

Bytes CardOf(const std::string& text, const Machine& machine) {
  if (text.empty()) return machine.devices.front().total_memory;
  const auto bytes = ParseBytes(text);
  if (bytes && *bytes > 0) return *bytes;
  throw UserError(fmt::format("--memory: expected a size such as 11GB, found '{}'", text));
}

// As a scenario file would have it.
Scenario ScenarioOf(const RecordingAsked& asked, const PreparedRecording& prepared, const std::string& machine) {
  Scenario scenario;
  scenario.name = prepared.recorded->step.network;
  scenario.file = asked.file;
  NetworkChoice network;
  network.graph = asked.file;
  network.recorded = prepared.recorded;
  network.batch = {prepared.recorded->step.batch};
  scenario.networks = {network};
  scenario.machines = {{.from = machine}};
  StrategyChoice best{.name = "best", .planned_on = "", .mark = {}};
  if (!prepared.swaps) best.parameters.Set("swap", false);
  scenario.strategies = {{.name = "in-core", .planned_on = "", .mark = {}}, best};
  scenario.options = {"plain"};
  scenario.runtimes = {RuntimeChoice{}};
  scenario.memory = {0};
  scenario.usable_memory = {prepared.memory.Left()};
  scenario.workspace = {kGrantOfOptions};
  scenario.link = {0};
  scenario.emulate = {Emulation{}};
  return scenario;
}

std::string DifferenceLine(const GpuDifference& difference) {
  std::string line = "on a GPU: " + difference.what;
  const auto add = [&line](Bytes bytes, const char* form) {
    if (bytes > 0) line += fmt::format(fmt::runtime(form), FormatBytes(bytes));
  };
  add(difference.whole_step, ", {} more");
  add(difference.update, ", {} more at updates");
  add(difference.maybe, ", up to {} more");
  add(difference.less, ", up to {} less");
  return line;
}

void SayWhatDiffers(const CardMemory& memory, const RecordedStep& recorded, std::vector<std::string>& said) {
  Bytes live = 0, maybe = 0;
  for (const Tensor& tensor : recorded.step.tensors) live += tensor.Traits().resident ? tensor.bytes : 0;
  for (const GpuDifference& difference : DifferencesOnGpu(recorded)) {
    maybe += difference.maybe;
    std::string line = DifferenceLine(difference);
    if (difference.update > 0 && live + difference.update > memory.Left()) line += ", for which there is no room";
    said.push_back(fmt::format("{} ({})", line, difference.source));
  }
  if (maybe <= memory.margin) return;
  said.push_back(
      fmt::format("on a GPU: the margin of {} may not hold {} of workspaces and reserves; --margin widens it",
                  FormatBytes(memory.margin), FormatBytes(maybe)));
}

}  // namespace

bool IsRecording(const Document& document) {
  const auto has = [&](FileKind kind) {
    const auto& keys = KeysOfKind(kind);
    return std::any_of(keys.begin(), keys.end(),
                       [&](const std::string& key) { return document.root.Find(key) != nullptr; });
  };
  return document.root.IsMap() && has(FileKind::kGraph) && !has(FileKind::kScenario);
}

CardMemory CardMemoryOf(const std::string& memory, double margin, const Machine& machine, const RecordedStep& recorded,
                        bool profile) {
  CardMemory left{.card = CardOf(memory, machine)};
  if (left.card == 0) {
    throw UserError(
        "--memory: expected the memory of the card, such as 11GB: the recording does not say its machine's");
  }
  const bool card = profile || !memory.empty() || recorded.about.device_type == "cuda";
  const Bytes reserve = machine.devices.front().reserve;
  if (card) left.context = profile ? reserve : kUsualContext;
  if (card) {
    for (const GpuDifference& difference : DifferencesOnGpu(recorded)) left.workspace += difference.whole_step;
  }
  left.margin = static_cast<Bytes>(static_cast<double>(left.card) * margin);
  if (left.Left() > 0) return left;
  throw UserError(fmt::format("--memory: {}", CardText(left)));
}

std::string CardText(const CardMemory& memory) {
  const std::string less =
      fmt::format("{} less {} of context, {} of workspace and {} of margin", FormatBytes(memory.card),
                  FormatBytes(memory.context), FormatBytes(memory.workspace), FormatBytes(memory.margin));
  return memory.Left() > 0 ? fmt::format("{} leave {}", less, FormatBytes(memory.Left())) : less + " leave nothing";
}

std::vector<std::string> FitTorch(PreparedRun& run) {
  const Runtime &torch = RuntimeByName("torch"), &saved = RuntimeByName("torch-saved");
  std::vector<std::string> said;
  for (Point& point : run.points) {
    const RecordedStep* const recorded = run.steps[point.step]->source->recorded.get();
    const bool carried = point.use_runtime && (point.runtime == torch || point.runtime == saved);
    if (recorded == nullptr || !carried) continue;
    if (recorded->about.carried_call > 0) point.runtime.framework_time = std::llround(recorded->about.carried_call);
    if (!recorded->unseen) continue;
    point.runtime.gaps = CarriedGaps::kSaved;
    AddOnce(said, std::string("something wrote tensors outside the recorded calls: only saved tensors leave"));
  }
  return said;
}

PreparedRecording PrepareRecording(const RecordingAsked& asked, const Document& document) {
  PreparedRecording prepared;
  MustBeOfKind(FileKind::kGraph, document);
  prepared.recorded = ReadRecordedStep(document);
  const double link = LinkRate(asked.link);
  const bool profile = !asked.machine.empty();
  Machine machine = profile ? LoadMachine(asked.machine) : MachineOfRecording(*prepared.recorded, link);
  prepared.memory = CardMemoryOf(asked.memory, asked.margin, machine, *prepared.recorded, profile);
  prepared.swaps = profile || link > 0 || prepared.recorded->about.copy_in > 0;
  const std::string from = profile ? asked.machine : machine.name;
  prepared.run.profiles.emplace(from, std::move(machine));
  Scenario scenario = ScenarioOf(asked, prepared, from);
  if (profile) scenario.link = {link};
  Overrides overrides;
  overrides.strategies = asked.strategies;
  overrides.runtime = asked.runtime;
  ApplyOverrides(overrides, scenario);
  Prepare(scenario, overrides, prepared.run);
  prepared.said = FitTorch(prepared.run);
  prepared.said.push_back("memory: " + CardText(prepared.memory));
  if (!prepared.swaps) {
    prepared.said.emplace_back("no link was measured: nothing is swapped (--link 12GB/s says its rate)");
  }
  for (const std::string& warning : prepared.run.warnings) prepared.said.push_back(warning);
  const bool card = profile || !asked.memory.empty();
  if (card) SayWhatDiffers(prepared.memory, *prepared.recorded, prepared.said);
  return prepared;
}

}  // namespace spillway
