// What buffers hold whose tensors a Program divides: boxes with versions, sums that are not finished yet among them.
// Internal to verify.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_BOXES_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_BOXES_H_

#include <string>
#include <vector>

#include "sim/verify/part_rules.h"
#include "sim/verify/verify_contents.h"

namespace spillway::verifying {

constexpr Version kZeros = -2;  // padding: what lies outside of the tensor

// The content of one buffer. Places that no piece has are undefined.
class Pieces {
 public:
  void Write(const Box& box, Version version);
  // What of `box` is not of this version, or a sum that is not finished.
  std::vector<Box> Missing(const Box& box, Version version) const;
  // One part more of the sums over `part.all` in `box`; where `begins` what is there is forgotten. Returns what is wrong
  // with that, and sets `finished` where the sum is complete now.
  std::string Add(const Box& box, Version version, const Part& part, bool begins, bool& finished);
  // What of `box` has pieces is copied there from `from`, whatever its versions; the rest is undefined then. Returns
  // whether some of it was undefined or an unfinished sum.
  bool CopyFrom(const Pieces& from, const Box& box);

 private:
  struct Piece {
    Box box;
    Version version = kUndefined;
    std::vector<Box> summed;  // so far; empty: the value is complete
  };
  void Erase(const Box& box);
  std::vector<Piece> pieces_;  // none overlap
};

// Which places of the results of ops in parts have their values, wherever those lie.
class FinishedParts {
 public:
  explicit FinishedParts(const TrainingStep& step) : step_(step), of_op_(step.ops.size()) {}
  void See(OpId op) { of_op_[Index(op)].in_parts = true; }
  // Returns what is wrong with that: some of the places had theirs.
  std::string Note(OpId op, TensorId tensor, const Box& box);
  // Of an op in parts: the names of results of which places are left. Empty: the op is done.
  std::vector<std::string> Unfinished(OpId op) const;

 private:
  struct Result {
    TensorId tensor = kNoTensor;
    Box box;
  };
  struct Parts {
    bool in_parts = false;
    std::vector<Result> results;
  };
  const TrainingStep& step_;
  std::vector<Parts> of_op_;
};

// Whether a kernel runs part of its op: some operand is not the whole tensor.
bool IsPart(const Program& program, const TrainingStep& step, const Kernel& kernel);
// By tensor: whether any of its buffers, operands or copies names a box.
std::vector<bool> DividedTensors(const Program& program, const TrainingStep& step);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_BOXES_H_
