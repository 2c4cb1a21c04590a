#include "sim/program/lower/launch_choice.h"

#include <algorithm>

#include "sim/plan/parts.h"

namespace spillway {

namespace {

Launch Chosen(Launch launch, std::int32_t algorithm, Bytes workspace) {
  launch.algorithm = algorithm;
  launch.workspace = workspace;
  return launch;
}

}  // namespace

LaunchChoice::LaunchChoice(const Plan& plan, const StepTables& tables, Program& program) : row_(tables.launch) {
  const std::size_t rows = tables.launches.size() + plan.ops.size();
  first_.reserve(rows + 1);
  workspace_.reserve(rows);
  parts_.reserve(rows);
  first_.push_back(0);
  program.launches = tables.launches;
  for (std::uint32_t row = 0; row < tables.launches.size(); ++row) {
    parts_.push_back({.launch = row});
    AddRow(tables.launches[row].workspace);
  }
  for (OpId op = 0; op < static_cast<OpId>(row_.size()); ++op) {
    if (tables.launch_again[Index(op)] != row_[Index(op)]) recompute_rows_[op] = {tables.launch_again[Index(op)]};
  }
  for (const OpDecision& decision : plan.ops) AddWhole(decision, tables, program);
  first_divided_ = static_cast<std::uint32_t>(workspace_.size());
  for (const OpDecision& decision : plan.ops) {
    if (!decision.parts.empty()) AddParts(decision, tables, program);
    if (!decision.streamed.empty()) AddStreamed(decision, tables);
    if (decision.fused) fused_.push_back(decision.op);
  }
  std::sort(streamed_.begin(), streamed_.end());
  std::sort(fused_.begin(), fused_.end());
}

void LaunchChoice::AddStreamed(const OpDecision& decision, const StepTables& tables) {
  depth_.resize(tables.step->ops.size(), 0);
  depth_[Index(decision.op)] = decision.depth;
  for (const TensorId tensor : decision.streamed) streamed_.push_back({decision.op, tensor});
}

void LaunchChoice::AddRow(Bytes workspace) {
  first_.push_back(static_cast<std::uint32_t>(parts_.size()));
  workspace_.push_back(workspace);
}

// What a decision says of the whole op: of its first run, and of recomputations.
void LaunchChoice::AddWhole(const OpDecision& decision, const StepTables& tables, Program& program) {
  const OpId op = decision.op;
  const Launch &first = tables.launches[tables.launch[Index(op)]],
               &again = tables.launches[tables.launch_again[Index(op)]];
  if (decision.parts.empty()) {
    const OpAgain way{decision.algorithm, decision.workspace};
    row_[Index(op)] = Add(first, way, program);
    if (again.recomputation && decision.again.empty()) recompute_rows_[op] = {Add(again, way, program)};
  }
  if (decision.again.empty()) return;
  std::vector<std::uint32_t>& rows = recompute_rows_[op];
  rows.clear();
  for (const OpAgain& way : decision.again) rows.push_back(Add(again, way, program));
}

Bytes LaunchChoice::MostWorkspaceOfRecomputations(OpId op) const {
  const auto found = recompute_rows_.find(op);
  if (found == recompute_rows_.end()) return workspace_[row_[Index(op)]];
  Bytes most = 0;
  for (const std::uint32_t row : found->second) most = std::max(most, workspace_[row]);
  return most;
}

// A launch of the whole op. Returns its row.
std::uint32_t LaunchChoice::Add(const Launch& usual, const OpAgain& way, Program& program) {
  parts_.push_back({.launch = static_cast<std::uint32_t>(program.launches.size())});
  program.launches.push_back(Chosen(usual, way.algorithm, way.workspace));
  AddRow(way.workspace);
  return static_cast<std::uint32_t>(workspace_.size()) - 1;
}

void LaunchChoice::AddParts(const OpDecision& decision, const StepTables& tables, Program& program) {
  const Op& op = tables.step->ops[Index(decision.op)];
  has_boxes_.resize(tables.step->tensors.size(), false);
  row_[Index(decision.op)] = static_cast<std::uint32_t>(workspace_.size());
  const bool padded = HoldsPadding(decision, op);
  AddTiles(decision, padded, false, tables, program);
  const bool differs = padded || op.recompute_differs;
  if (!differs || !decision.again.empty()) return;
  recompute_rows_[decision.op] = {static_cast<std::uint32_t>(workspace_.size())};
  AddTiles(decision, false, op.recompute_differs, tables, program);
}

// Tiles of one size and algorithm are one launch. A single one has no boxes: it is the whole op.
void LaunchChoice::AddTiles(const OpDecision& decision, bool padded, bool recomputation, const StepTables& tables,
                            Program& program) {
  const TrainingStep& step = *tables.step;
  const Op& op = step.ops[Index(decision.op)];
  const Launch& usual = tables.launches[tables.launch[Index(decision.op)]];
  const std::vector<OpTile> tiles = TilesOf(decision, op);
  const bool single = tiles.size() == 1;
  const std::size_t first_launch = program.launches.size();
  Bytes most = 0;
  for (const OpTile& tile : tiles) {
    const OpPart& part = decision.parts[tile.part];
    Launch launch = Chosen(LaunchOfTile(usual, tile, padded), part.algorithm, part.workspace);
    launch.recomputation = recomputation;
    const auto known =
        std::find(program.launches.begin() + static_cast<std::ptrdiff_t>(first_launch), program.launches.end(), launch);
    parts_.push_back({.launch = static_cast<std::uint32_t>(known - program.launches.begin()),
                      .first_box = single ? kWhole : static_cast<BoxId>(program.boxes.size()),
                      .adds = tile.adds});
    if (known == program.launches.end()) program.launches.push_back(launch);
    for (const StepTables::Touch& touch : tables.Touches(decision.op)) {
      if (single) break;
      program.boxes.push_back(BoxOfTile(step, op, touch.tensor, tile, padded));
      has_boxes_[Index(touch.tensor)] = true;
    }
    most = std::max(most, part.workspace);
  }
  AddRow(most);
}

}  // namespace spillway
