// Decisions on ops from text: algorithm, workspace, parts, tiles, streamed operands.
#include <fmt/format.h>

#include "sim/plan/plan_keys.h"
#include "sim/plan/plan_lines.h"

namespace spillway {

namespace {

class OpReader {
 public:
  OpReader(const TrainingStep& step, PlanLines& lines, Diagnostics& diagnostics)
      : step_(step), lines_(lines), diagnostics_(diagnostics) {}

  OpDecision Read(const Node& node) {
    MapReader reader(node, diagnostics_, "op decision", OpDecisionKeys());
    OpDecision decision;
    decision.op = lines_.FindOp(reader, "op");
    decision.algorithm = lines_.Algorithm(reader, decision.op);
    decision.workspace = reader.BytesOr("workspace", 0);
    for (const Node& part : lines_.Items(reader, "parts")) ReadPart(part, decision);
    ReadAgain(reader, decision);
    ReadTiles(reader, decision);
    decision.streamed = lines_.FindTensors(reader, "streamed");
    decision.depth = static_cast<int>(reader.IntegerOr("depth", kTilesDeep, 1, kMostTilesDeep));
    decision.fused = reader.BoolOr("fused", false);
    reader.Finish();
    return decision;
  }

 private:
  // A map for all recomputations, or a list of maps by recomputation.
  void ReadAgain(MapReader& reader, OpDecision& decision) {
    const Node* const node = reader.Optional("again");
    if (node == nullptr) return;
    if (!node->IsSequence()) return ReadWayAgain(*node, decision);
    for (const Node& way : node->items) ReadWayAgain(way, decision);
    reader.Check(!node->items.empty(), "again", "expected a map or a list of maps, found an empty list");
    if (node->items.empty()) lines_.MakeBad();
  }

  void ReadWayAgain(const Node& node, OpDecision& decision) {
    MapReader again(node, diagnostics_, "again of an op", OpAgainKeys());
    decision.again.push_back({lines_.Algorithm(again, decision.op), again.BytesOr("workspace", 0)});
    again.Finish();
  }

  void ReadTiles(MapReader& reader, OpDecision& decision) {
    const Node* const node = reader.Optional("tiles");
    if (node == nullptr) return;
    MapReader tiles(*node, diagnostics_, "tiles of an op", OpTilesKeys());
    decision.tiles.in_channels = tiles.IntegerOr("in_channels", 1, 1, kAnyInteger);
    decision.tiles.out_channels = tiles.IntegerOr("out_channels", 1, 1, kAnyInteger);
    decision.tiles.rows = tiles.IntegerOr("rows", 1, 1, kAnyInteger);
    tiles.Finish();
  }

  void ReadPart(const Node& node, OpDecision& decision) {
    MapReader reader(node, diagnostics_, "part of an op", OpPartKeys());
    OpPart part;
    part.samples = reader.RequiredInteger("samples", 1, kAnyInteger);
    part.algorithm = lines_.Algorithm(reader, decision.op);
    part.workspace = reader.BytesOr("workspace", 0);
    const std::int64_t times = reader.IntegerOr("times", 1, 1, kAnyInteger);
    const bool within = times <= step_.batch - static_cast<std::int64_t>(decision.parts.size());
    reader.Check(within, "times",
                 fmt::format("expected no more parts than the batch's {} samples, found {} times", step_.batch, times));
    reader.Finish();
    if (!within) lines_.MakeBad();
    decision.parts.insert(decision.parts.end(), lines_.bad() ? 0 : static_cast<std::size_t>(times), part);
  }

  const TrainingStep& step_;
  PlanLines& lines_;
  Diagnostics& diagnostics_;
};

}  // namespace

OpDecision ReadOpDecision(const Node& node, const TrainingStep& step, PlanLines& lines, Diagnostics& diagnostics) {
  return OpReader(step, lines, diagnostics).Read(node);
}

}  // namespace spillway
