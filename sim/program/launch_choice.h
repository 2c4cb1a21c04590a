// What each op of a step is launched as under a plan: rows of the Program's launch table, and for ops in parts the boxes
// of their operands. Internal to `lower`.
#ifndef SPILLWAY_SIM_PROGRAM_LAUNCH_CHOICE_H_
#define SPILLWAY_SIM_PROGRAM_LAUNCH_CHOICE_H_

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
  bool adds = false;         // to what an earlier part has written
  BoxId BoxOf(std::size_t touch) const { return first_box == kWhole ? kWhole : first_box + static_cast<BoxId>(touch); }
};

class LaunchChoice {
 public:
  // Fills the launches and boxes of `program`. REQUIRES: CheckPlan found nothing wrong.
  LaunchChoice(const Plan& plan, const StepTables& tables, Program& program);

  // The kernels of an op, in order. At least one.
  std::span<const PartLaunch> Of(OpId op) const { return InRow(row_[static_cast<std::size_t>(op)]); }
  // The same where the op runs again, and nothing of it is streamed: there no box reaches beyond its tensor.
  std::span<const PartLaunch> Again(OpId op) const { return InRow(RowAgain(op)); }
  // Bytes that the op's kernels share, one after the other.
  Bytes WorkspaceOf(OpId op) const { return workspace_[row_[static_cast<std::size_t>(op)]]; }
  Bytes WorkspaceAgain(OpId op) const { return workspace_[RowAgain(op)]; }
  bool IsDivided(OpId op) const { return row_[static_cast<std::size_t>(op)] >= first_divided_; }
  bool IsDividedAgain(OpId op) const { return RowAgain(op) >= first_divided_; }
  // Whether the op, run for the first time, streams some of its operands, and which.
  bool Streams(OpId op) const { return !depth_.empty() && depth_[static_cast<std::size_t>(op)] > 0; }
  bool Streams(OpId op, TensorId tensor) const {
    return Streams(op) && std::binary_search(streamed_.begin(), streamed_.end(), std::pair(op, tensor));
  }
  int DepthOf(OpId op) const { return depth_[static_cast<std::size_t>(op)]; }
  // Behind the last op that is fused with `first`, directly or by those in between; first + 1: none is.
  OpId EndOfGroup(OpId first) const {
    OpId end = first + 1;
    while (!fused_.empty() && std::binary_search(fused_.begin(), fused_.end(), end)) ++end;
    return end;
  }
  // Whether some op touches boxes of it.
  bool HasBoxes(TensorId tensor) const { return !has_boxes_.empty() && has_boxes_[static_cast<std::size_t>(tensor)]; }

 private:
  std::span<const PartLaunch> InRow(std::uint32_t row) const {
    return {parts_.data() + first_[row], parts_.data() + first_[row + 1]};
  }
  std::uint32_t RowAgain(OpId op) const {
    const auto found = again_.find(op);
    return found == again_.end() ? row_[static_cast<std::size_t>(op)] : found->second;
  }
  std::uint32_t Add(OpId op, const OpAgain& way, const StepTables& tables, Program& program);
  void AddParts(const OpDecision& decision, const StepTables& tables, Program& program);
  void AddTiles(const OpDecision& decision, bool padded, const StepTables& tables, Program& program);
  void AddRow(Bytes workspace);
  void AddStreamed(const OpDecision& decision, const StepTables& tables);

  // By row: first those of StepTables::launches, then those that decisions say, those with parts last.
  std::vector<std::uint32_t> first_;  // into parts_, and the end
  std::vector<Bytes> workspace_;
  std::vector<PartLaunch> parts_;
  std::uint32_t first_divided_ = 0;
  std::vector<std::uint32_t> row_;                   // by op
  std::map<OpId, std::uint32_t> again_;              // rows, where they are others
  std::vector<bool> has_boxes_;                      // by tensor; empty: none
  std::vector<int> depth_;                           // by op, 0: streams nothing; empty: none does
  std::vector<std::pair<OpId, TensorId>> streamed_;  // sorted
  std::vector<OpId> fused_;                          // with the op before; sorted
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAUNCH_CHOICE_H_
