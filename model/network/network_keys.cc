#include "model/network/network_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/text/lists.h"
#include "model/network/optimizer.h"
#include "model/network/precision.h"

namespace spillway {

namespace {

KeyTable KeysOf(const LayerKind& kind) {
  return {.title = fmt::format("{} layer", kind.name),
          .keys = AttributeKeys(kind),
          .also = &LayerKeys(),
          .note = fmt::format("{}. Reads {}.", kind.description, InputCountText(kind))};
}

const std::vector<KeyTable>& KindTables() {
  static const std::vector<KeyTable> kTables = [] {
    std::vector<KeyTable> tables;
    for (const LayerKind* kind : LayerKinds()) tables.push_back(KeysOf(*kind));
    return tables;
  }();
  return kTables;
}

}  // namespace

const KeyTable& LayerKeys() {
  static const KeyTable kTable{
      .title = "layer",
      .keys = {{"name", kAnyText, "required", "unique; no spaces, no `:`; not `input`"},
               {"kind", kAnyText, "required", "what it computes: the tables below, or `spillway list layers`"},
               {"from", "a name, or a list of names", "the layer listed before it",
                "the layers it reads; `input` is the network's input; required right behind a layer of kind `input`"}}};
  return kTable;
}

const KeyTable& LayerKindKeys(const LayerKind& kind) {
  const auto& kinds = LayerKinds();
  return KindTables()[static_cast<std::size_t>(std::find(kinds.begin(), kinds.end(), &kind) - kinds.begin())];
}

const KeyTable& NetworkKeys() {
  static const KeyTable kTable = [] {
    KeyTable table{
        .title = "network",
        .keys = {{"name", kAnyText, "required", "the network's name in results"},
                 {"input", "a map", "required", "the shape of one sample", {&InputKeys()}},
                 {"optimizer", OneOf(NamesOf(OptimizerTable())), "that of the step options",
                  "what the update reads and writes beside gradient and parameter"},
                 {"precision", OneOf(NamesOf(PrecisionTable())), "single precision",
                  "types of tensors, and arithmetic of products"},
                 {"clip_gradients", kTrueOrFalse, "false", "scales the gradients down by the norm of all"},
                 {"frozen", "a list of names", "none",
                  "layers whose parameters are not trained; `*` stands for any letters: `[stem, stage1*]`"},
                 {"layers",
                  "a list of maps",
                  "required",
                  "in any order; every layer that no other reads is a loss, and there may be several",
                  {&LayerKeys()}}},
        .note = "A file that `network: {file: ...}` of a scenario names; model/networks/ has some to start from."};
    for (const KeyTable& kind : KindTables()) table.keys.back().maps.push_back(&kind);
    return table;
  }();
  return kTable;
}

std::string InputCountText(const LayerKind& kind) {
  if (kind.max_inputs == 0) return "nothing";
  if (kind.max_inputs == 1) return "one layer";
  if (kind.max_inputs == kind.min_inputs) return fmt::format("{} layers", kind.min_inputs);
  return fmt::format("{} to {} layers", kind.min_inputs, kind.max_inputs);
}

}  // namespace spillway
