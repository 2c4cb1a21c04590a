
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "model/profile/profile_text.h"

namespace spillway {
namespace {

constexpr double kMostParameter = 1e15;

std::vector<KernelModel::Parameter> ReadParameters(const Node& node, Diagnostics& diagnostics,
                                                   const std::string& owner) {
  MapReader reader(node, diagnostics, "parameters of " + owner);
  std::vector<KernelModel::Parameter> parameters;
  for (const auto& entry : node.entries) {
    parameters.push_back({entry.key, reader.RequiredNumber(entry.key, -kMostParameter, kMostParameter)});
  }
  reader.Finish();
  return parameters;
}

void ReadWork(const Node& node, Diagnostics& diagnostics, KernelModel& model) {
  MapReader reader(node, diagnostics, "work", ModelWorkKeys());
  model.least_work = reader.RequiredNumber("least", 0, kMostWork);
  model.most_work = reader.RequiredNumber("most", 0, kMostWork);
  reader.Finish();
  reader.Check(model.least_work <= model.most_work, "most", "must not be below least");
}

// What the program does not know; about values that are mistakes already there is nothing to add.
void ReportMistakes(const KernelModel& model, const EntryNames& names, MapReader& reader, Diagnostics& diagnostics,
                    const PartOwner& owner) {
  const Node* const parameters = reader.Optional("parameters");
  const auto is_number = [](const Node::Entry& entry) { return ParseNumber(entry.value.scalar).has_value(); };
  const bool readable = parameters != nullptr && parameters->IsMap() &&
                        std::all_of(parameters->entries.begin(), parameters->entries.end(), is_number);
  for (const ModelMistake& mistake : MistakesOf(model, names.Text())) {
    if (mistake.key == "form" && model.form.empty()) continue;
    if (mistake.key == "algorithm" && !names.known()) continue;
    if (mistake.key == "parameters" && !readable) continue;
    const Mark mark = mistake.parameter < 0 ? reader.MarkOf(mistake.key)
                                            : parameters->entries[static_cast<std::size_t>(mistake.parameter)].mark;
    diagnostics.Error(mark, owner.Text() + mistake.message);
  }
}

}  // namespace

KernelModel ReadKernelModel(const Node& node, Diagnostics& diagnostics, const PartOwner& owner) {
  MapReader reader(node, diagnostics, "model of " + owner.device, KernelModelKeys());
  EntryNames names(reader, diagnostics, owner, "models");
  KernelModel model;
  model.form = reader.RequiredString("form");
  model.op = names.ReadOp();
  model.pass = names.ReadPass();
  model.algorithm = reader.StringOr("algorithm", "");
  model.math = reader.StringOr("math", model.math);
  if (const Node* parameters = reader.Required("parameters")) {
    model.parameters = ReadParameters(*parameters, diagnostics, "model '" + model.form + "'");
  }
  model.shared_error = reader.NumberOr("shared_error", model.shared_error, 0, kMostError);
  model.own_error = reader.NumberOr("own_error", model.own_error, 0, kMostError);
  model.copy_slowdown = reader.NumberOr("copy_slowdown", model.copy_slowdown, 1, kMostSlowdown);
  if (const Node* work = reader.Optional("work")) ReadWork(*work, diagnostics, model);
  model.source = ReadSource(reader, diagnostics);
  reader.Finish();
  ReportMistakes(model, names, reader, diagnostics, owner);
  return model;
}

std::string KernelModelText(const KernelModel& model) {
  std::string out;
  const auto add = [&out]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    out += fmt::format(format, std::forward<Args>(args)...);
  };
  add("      - form: {}\n        op: {}\n        pass: {}\n", Quoted(model.form), Quoted(OpKindName(model.op)),
      Quoted(PassName(model.pass)));
  if (!model.algorithm.empty()) add("        algorithm: {}\n", Quoted(model.algorithm));
  add("        math: {}\n        parameters: {{", Quoted(model.math));
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    add("{}{}: {}", i == 0 ? "" : ", ", model.parameters[i].name, model.parameters[i].value);
  }
  add("}}\n");
  add("        shared_error: {}\n        own_error: {}\n        copy_slowdown: {}\n", model.shared_error,
      model.own_error, model.copy_slowdown);
  add("        work: {{least: {}, most: {}}}\n", model.least_work, model.most_work);
  add("        source: {}\n", SourceText(model.source));
  return out;
}

CallFloor ReadCallFloor(const Node& node, Diagnostics& diagnostics, const PartOwner& owner) {
  MapReader reader(node, diagnostics, "call floor of " + owner.device, CallFloorKeys());
  EntryNames names(reader, diagnostics, owner, "call_floors");
  CallFloor floor;
  floor.harness = reader.RequiredString("harness");
  floor.op = names.ReadOp();
  floor.pass = names.ReadPassIfAny();
  floor.math = reader.StringOr("math", "");
  floor.added = reader.DurationOr("added", 0);
  floor.floor = reader.RequiredDuration("floor");
  reader.Finish();
  return floor;
}

std::string CallFloorText(const CallFloor& floor) {
  const std::string math = floor.math.empty() ? "" : fmt::format("math: {}, ", Quoted(floor.math));
  return fmt::format("      - {{harness: {}, op: {}, pass: {}, {}added: {}, floor: {}}}\n", Quoted(floor.harness),
                     Quoted(OpKindName(floor.op)), Quoted(floor.pass ? PassName(*floor.pass) : ""), math,
                     FormatDurationExact(floor.added), FormatDurationExact(floor.floor));
}

SoftwareStack ReadStack(const Node& node, Diagnostics& diagnostics, const PartOwner& owner) {
  MapReader reader(node, diagnostics, "stack of " + owner.device, StackKeys());
  EntryNames names(reader, diagnostics, owner, "stacks");
  SoftwareStack stack;
  stack.name = reader.RequiredString("name");
  stack.op = names.ReadOp();
  stack.pass = names.ReadPass();
  stack.math = reader.StringOr("math", stack.math);
  stack.arithmetic = reader.NumberOr("arithmetic", 1, 1 / kMostFactor, kMostFactor);
  stack.memory = reader.NumberOr("memory", 1, 1 / kMostFactor, kMostFactor);
  stack.special = reader.NumberOr("special", 1, 1 / kMostFactor, kMostFactor);
  reader.Finish();
  return stack;
}

std::string StackText(const SoftwareStack& stack) {
  return fmt::format("      - {{name: {}, op: {}, pass: {}, math: {}, arithmetic: {}, memory: {}, special: {}}}\n",
                     Quoted(stack.name), Quoted(OpKindName(stack.op)), Quoted(PassName(stack.pass)), Quoted(stack.math),
                     stack.arithmetic, stack.memory, stack.special);
}

}  // namespace spillway
