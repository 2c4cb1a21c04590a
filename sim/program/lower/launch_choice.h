// The launches of each op of a step under a plan: rows of the Program's launch table, and for ops in parts the boxes of
// their operands.
//
//   plan: op 1 in two parts of 4 samples; op 2 by algorithm 3; nothing else       (Touches of op 1: x, then y)
//   FirstRun(0).parts   {launch 0}                            as StepTables has it
//   FirstRun(1).parts   {launch 5, boxes x[0,4) y[0,4)} {launch 5, boxes x[4,8) y[4,8)}
//   FirstRun(2).parts   {launch 4}                            launch 1 with another algorithm
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_LAUNCH_CHOICE_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_LAUNCH_CHOICE_H_

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/program/step_tables.h"

namespace spillway {

// One kernel of an op. Boxes are numbered in the order of StepTables::Touches.
struct PartLaunch {
  std::uint32_t launch = 0;  // row of Program::launches
  BoxId first_box = kWhole;  // of the first touch; kWhole: none has one, the kernel runs the whole op
  bool adds = false;         // to the result of an earlier part
  BoxId BoxOf(std::size_t touch) const { return first_box == kWhole ? kWhole : first_box + static_cast<BoxId>(touch); }
};

// One run of an op.
struct OpLaunch {
  OpId op = kNoOp;
  bool recomputation = false;
  std::span<const PartLaunch> parts;  // in order, at least one
  Bytes workspace = 0;                // its kernels share it, one after the other
  bool divided = false;               // the plan has the op in parts, be it in one
};

class LaunchChoice {
 public:
  // Fills the launches and boxes of `program`. REQUIRES: CheckPlan found nothing wrong.
  LaunchChoice(const Plan& plan, const StepTables& tables, Program& program);

  OpLaunch FirstRun(OpId op) const { return InRow(op, row_[static_cast<std::size_t>(op)], false); }
  // The recomputation after `before` others of the op. Recomputed, an op streams nothing: none of its boxes reaches beyond
  // its tensor.
  OpLaunch Recomputation(OpId op, std::size_t before) const {
    const auto found = recompute_rows_.find(op);
    if (found == recompute_rows_.end()) return InRow(op, row_[static_cast<std::size_t>(op)], true);
    return InRow(op, found->second[std::min(before, found->second.size() - 1)], true);
  }
  Bytes MostWorkspaceOfRecomputations(OpId op) const;
  // Recomputations of the op differ from each other.
  bool CountsRecomputations(OpId op) const {
    const auto found = recompute_rows_.find(op);
    return found != recompute_rows_.end() && found->second.size() > 1;
  }
  // In its first run the op streams some operands; this one.
  bool Streams(OpId op) const { return !depth_.empty() && depth_[static_cast<std::size_t>(op)] > 0; }
  bool Streams(OpId op, TensorId tensor) const {
    return Streams(op) && std::binary_search(streamed_.begin(), streamed_.end(), std::pair(op, tensor));
  }
  TileDepth DepthOf(OpId op) const { return TileDepth(depth_[static_cast<std::size_t>(op)]); }
  // One past the last op that is fused with `first`, directly or by ops in between; first + 1: none is.
  OpId EndOfGroup(OpId first) const {
    OpId end = first + 1;
    while (!fused_.empty() && std::binary_search(fused_.begin(), fused_.end(), end)) ++end;
    return end;
  }
  // Some op touches boxes of the tensor.
  bool HasBoxes(TensorId tensor) const { return !has_boxes_.empty() && has_boxes_[static_cast<std::size_t>(tensor)]; }

 private:
  OpLaunch InRow(OpId op, std::uint32_t row, bool recomputation) const {
    const PartLaunch* const parts = parts_.data();
    return {op, recomputation, {parts + first_[row], parts + first_[row + 1]}, workspace_[row], row >= first_divided_};
  }
  std::uint32_t Add(const Launch& usual, const OpAgain& way, Program& program);
  void AddWhole(const OpDecision& decision, const StepTables& tables, Program& program);
  void AddParts(const OpDecision& decision, const StepTables& tables, Program& program);
  void AddTiles(const OpDecision& decision, bool padded, bool recomputation, const StepTables& tables,
                Program& program);
  void AddRow(Bytes workspace);
  void AddStreamed(const OpDecision& decision, const StepTables& tables);

  // By row: first those of StepTables::launches, then those that decisions say, those with parts last.
  std::vector<std::uint32_t> first_;  // into parts_, and the end
  std::vector<Bytes> workspace_;
  std::vector<PartLaunch> parts_;
  std::uint32_t first_divided_ = 0;
  std::vector<std::uint32_t> row_;  // by op
  // Where recomputations have others: one for each of them, the last one for those after it, too.
  std::map<OpId, std::vector<std::uint32_t>> recompute_rows_;
  std::vector<bool> has_boxes_;                      // by tensor; empty: none
  std::vector<int> depth_;                           // by op, 0: streams nothing; empty: none does
  std::vector<std::pair<OpId, TensorId>> streamed_;  // sorted
  std::vector<OpId> fused_;                          // with the op before; sorted
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_LAUNCH_CHOICE_H_
