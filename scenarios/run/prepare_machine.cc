// From a machine as a scenario names it to costs: its profile, what the scenario changes about it, what it is called then.
#include <fmt/format.h>

#include <filesystem>

#include "calibrate/validate/step_costs.h"
#include "model/recorded/recorded_step.h"
#include "scenarios/run/prepare_internal.h"

namespace spillway {

namespace {

void AddToLabel(const std::string& text, PreparedMachine* prepared) {
  prepared->label += text;
  prepared->beside_link += text;
}

void Emulate(const Emulation& emulation, const std::string& file, PreparedMachine* prepared) {
  prepared->emulation = emulation;
  prepared->emulated_at = fmt::format("{}:{}:{}", file, emulation.mark.line, emulation.mark.column);
  if (!emulation.Any()) return;
  AddToLabel("+emulate=" + emulation.Label(), prepared);
  if (emulation.link_rate == 0) return;
  for (const TransferCurve& curve : prepared->machine.LinkOf(0).curves) {
    if (emulation.link_rate <= curve.Rate()) continue;
    throw UserError(fmt::format("{}: error: emulate: link_rate: {} is more than the {} of {}'s own link",
                                prepared->emulated_at, RateText(emulation.link_rate), RateText(curve.Rate()),
                                prepared->base));
  }
  prepared->machine = WithPacedLink(std::move(prepared->machine), emulation.link_rate);
}

}  // namespace

const Machine& ProfileOf(const std::string& from, const std::string& costs, PreparedRun& run) {
  const auto known = run.profiles.find(from);
  if (known != run.profiles.end()) return known->second;
  Machine profile = LoadMachine(from);
  if (!costs.empty()) profile = WithStepCosts(std::move(profile), ReadSamples({&costs, 1}));
  return run.profiles.emplace(from, std::move(profile)).first->second;
}

std::unique_ptr<PreparedMachine> PrepareMachine(const Machine& profile, const MachineChoice& choice,
                                                const MachineTerms& terms) {
  auto prepared = std::make_unique<PreparedMachine>();
  prepared->machine = WithConnection(profile, choice);
  prepared->base = prepared->machine.name;
  prepared->from = choice.from;
  prepared->link_rate = terms.link;
  const Link& near = prepared->machine.LinkOf(0);
  prepared->profile_rate = (near.curves[0].Rate() + near.curves[1].Rate()) / 2;
  prepared->label = prepared->beside_link = choice.name.empty() ? prepared->base : choice.name;
  if (terms.link > 0) {
    prepared->machine = WithLinkRate(std::move(prepared->machine), terms.link);
    prepared->label += "+link=" + RateText(terms.link);
  }
  Emulate(terms.emulation, terms.file, prepared.get());
  if (!terms.costs.empty()) AddToLabel("+costs=" + std::filesystem::path(terms.costs).stem().string(), prepared.get());
  if (terms.said) AddToLabel("+workspace=" + FormatBytesExact(terms.workspace), prepared.get());
  const CostOptions options{.workspace_limit = terms.workspace,
                            .compute_slowdown = terms.emulation.compute_slowdown,
                            .large_calls = terms.large_calls};
  if (terms.recorded != nullptr) {
    auto costs = std::make_unique<RecordedCosts>(prepared->machine, options, terms.recorded);
    prepared->times_note = costs->carried().note;
    prepared->costs = std::move(costs);
  } else {
    prepared->costs = std::make_unique<CostModel>(prepared->machine, options);
  }
  return prepared;
}

}  // namespace spillway
