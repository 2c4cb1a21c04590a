#include "hw/text/file_kind.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

namespace {

struct Kind {
  const char* name;
  const char* help;   // its page of keys
  const char* given;  // where such a file is given
  std::vector<std::string> keys;
};

// By FileKind.
const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kTable = {
      {"scenario",
       "scenario",
       "scenarios are the FILE of run, compare, plan, dump and validate",
       {"machines", "strategies", "expect", "usable_memory", "emulate", "workspace"}},
      {"plan", "plan", "plans are given by --plan", {"gaps", "ops", "recompute", "capacity", "search", "evaluations"}},
      {"network", "network", "networks are named in scenarios, by `network: {file: ...}`", {"layers", "input"}},
      {"recorded step",
       "graph",
       "recorded steps are named in scenarios, by `network: {graph: ...}`",
       {"graph", "nodes", "values", "fixed_bytes"}},
      {"machine profile",
       "machine",
       "profiles are given by --machine, or under `machines` of a scenario",
       {"devices", "hosts", "links", "same_as", "software"}}};
  return kTable;
}

// What this program writes and no reader of these kinds takes.
const std::vector<Kind>& WrittenKinds() {
  static const std::vector<Kind> kTable = {
      {"plan for PyTorch", "", "spillway_torch.apply carries it out", {"before", "step_time_ns", "end_ns"}},
      {"certificate", "", "certify reads it beside its plan", {"bound", "scope"}},
      {"file of results", "", "report shows the folder in which it lies", {"results", "what_helps"}}};
  return kTable;
}

const Kind& Of(FileKind kind) { return Kinds()[static_cast<std::size_t>(kind)]; }

const Node::Entry* FirstOf(const Kind& kind, const Node& root) {
  const auto found = std::find_if(root.entries.begin(), root.entries.end(), [&kind](const Node::Entry& entry) {
    return std::find(kind.keys.begin(), kind.keys.end(), entry.key) != kind.keys.end();
  });
  return found == root.entries.end() ? nullptr : &*found;
}

}  // namespace

const char* FileKindName(FileKind kind) { return Of(kind).name; }

const std::vector<std::string>& KeysOfKind(FileKind kind) { return Of(kind).keys; }

std::vector<std::string> KeysOfWritten() {
  std::vector<std::string> keys;
  for (const Kind& kind : WrittenKinds()) keys.insert(keys.end(), kind.keys.begin(), kind.keys.end());
  return keys;
}

void MustBeOfKind(FileKind expected, const Document& document) {
  const Kind& wanted = Of(expected);
  const auto refuse = [&](const std::vector<Kind>& kinds) {
    for (const Kind& kind : kinds) {
      const Node::Entry* const key = FirstOf(kind, document.root);
      if (key == nullptr) continue;
      Diagnostics diagnostics(document);
      diagnostics.Error(key->mark,
                        fmt::format("expected a {} (spillway help {}), found a {}, of which '{}' is a key; {}",
                                    wanted.name, wanted.help, kind.name, key->key, kind.given));
      diagnostics.ThrowIfAny();
    }
  };
  refuse(WrittenKinds());
  if (FirstOf(wanted, document.root) == nullptr) refuse(Kinds());
}

}  // namespace spillway
