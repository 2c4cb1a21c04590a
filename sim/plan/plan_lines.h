// Reading of plan files: the part that all lines share, from names to indices of the step's tensors and ops.
#ifndef SPILLWAY_SIM_PLAN_PLAN_LINES_H_
#define SPILLWAY_SIM_PLAN_PLAN_LINES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// One name that stands for nothing makes a line bad: the mistake is reported, the rest of the line is still read for more of
// them, and what it decides is dropped. Refers to its arguments.
class PlanLines {
 public:
  PlanLines(const TrainingStep& step, Diagnostics& diagnostics)
      : step_(step), diagnostics_(diagnostics), tensors_(step.tensors), ops_(step.ops) {}

  void BeginLine() { bad_ = false; }
  void MakeBad() { bad_ = true; }
  bool bad() const { return bad_; }  // the line begun last

  // The tensor with the name under `key`; -1: there is none.
  TensorId FindTensor(MapReader& reader, std::string_view key) { return Lookup(reader, key, tensors_, "tensor"); }
  OpId FindOp(MapReader& reader, std::string_view key) { return Lookup(reader, key, ops_, "op"); }
  OpId Position(MapReader& reader, std::string_view key);  // an op, or `start`, which is kNoOp
  OpId GapEnd(MapReader& reader, std::string_view key);    // an op, "none" for kNoOp, or "next_step" for kNextStep
  OpId PositionOr(MapReader& reader, std::string_view key, OpId fallback);
  OpId LeavesAfter(MapReader& reader);
  // The tensors of a list of names; empty without the key.
  std::vector<TensorId> FindTensors(MapReader& reader, std::string_view key);
  // The algorithm under the key `algorithm`; 0 = the library's choice.
  std::int32_t Algorithm(MapReader& reader, OpId id);
  // A list of further lines; a value that is no list is reported.
  const std::vector<Node>& Items(MapReader& reader, std::string_view key);

 private:
  // Index by name, and all names for "did you mean".
  class Names {
   public:
    template <typename Items>
    explicit Names(const Items& items) {
      for (const auto& item : items) {
        index_.emplace(item.name, static_cast<std::int32_t>(all_.size()));
        all_.push_back(item.name);
      }
    }
    std::int32_t Find(const std::string& name) const {
      const auto found = index_.find(name);
      return found == index_.end() ? -1 : found->second;
    }
    const std::vector<std::string>& all() const { return all_; }

   private:
    std::map<std::string, std::int32_t> index_;
    std::vector<std::string> all_;
  };

  std::int32_t Lookup(MapReader& reader, std::string_view key, const Names& names, const char* noun);

  const TrainingStep& step_;
  Diagnostics& diagnostics_;
  const Names tensors_;
  const Names ops_;
  bool bad_ = false;
};

// Reads a line of `ops`. The result is valid only if the line did not make `lines` bad.
OpDecision ReadOpDecision(const Node& node, const TrainingStep& step, PlanLines& lines, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_PLAN_LINES_H_
