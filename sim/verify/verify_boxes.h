// The contents of buffers whose tensors a Program divides: boxes with versions, including unfinished sums. Internal to
// verify.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_BOXES_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_BOXES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/step/launch.h"
#include "model/step/training_step.h"
#include "sim/verify/verify_contents.h"
#include "sim/verify/verify_internal.h"

namespace spillway::verifying {

// ---- Parts of ops.

struct Part {
  std::string fault;  // why launch and boxes are no part of the op; "" if they are
  // Where each place of the result is a sum: the places it runs over, and which of them this part adds up. One place of
  // one where there is nothing to sum.
  Box summed, all;
  bool IsWholeSum() const { return summed == all; }
};

// `touched`: what the kernel touches of a tensor of the op. Only a convolution's input may reach beyond its tensor,
// where it holds zeros.
Part PartOf(const TrainingStep& step, const Op& op, const Launch& launch, const std::function<Box(TensorId)>& touched);

// ---- Contents of buffers.

constexpr Version kZeros = -2;  // padding: what lies outside of the tensor

// The content of one buffer. Places that no piece has are undefined.
class Pieces {
 public:
  void Write(const Box& box, Version version);
  // The boxes within `box` that do not hold this version, or hold an unfinished sum.
  std::vector<Box> Missing(const Box& box, Version version) const;
  // One part more of the sums over `part.all` in `box`; where `begins` what is there is forgotten. Returns what is
  // wrong with that, and sets `finished` where the sum is complete now.
  std::string Add(const Box& box, Version version, const Part& part, bool begins, bool& finished);
  // Copies the finished pieces of `from` within `box`, of any version; the rest of `box` becomes undefined. Returns
  // true if some of `box` was undefined in `from`, or an unfinished sum.
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
  explicit FinishedParts(const TrainingStep& step) : step_(step) {}
  void See(OpId op) { of_op_[op]; }
  // Returns what is wrong with that: some of the places had theirs.
  std::string Note(OpId op, TensorId tensor, const Box& box);
  // "the parts of OP do not complete RESULT", for each such one.
  std::vector<std::string> Unfinished() const;

 private:
  struct Result {
    TensorId tensor = kNoTensor;
    Box box;
  };
  const TrainingStep& step_;
  std::map<OpId, std::vector<Result>> of_op_;  // of those in parts
};

// True if the kernel runs a part of its op: some operand is not the whole tensor.
bool IsPart(const Program& program, const TrainingStep& step, const Kernel& kernel);
// By tensor: whether any of its buffers, operands or copies names a box. Empty where the Program has no boxes.
std::vector<bool> DividedTensors(const Program& program, const TrainingStep& step);

// ---- Sections: what a kernel's operands of one tensor come to, and whether their addresses let it find them as one.

// The operands of one tensor that a kernel has.
struct TensorOperands {
  std::size_t count = 0;
  // What they touch together, where each begins with the sample behind those of the one before and all have the same of
  // every other dimension; one operand: what it touches.
  std::optional<Box> together{};
};
TensorOperands OperandsOf(const Program& program, const TrainingStep& step, const Kernel& kernel, TensorId tensor);

// Clause 9. REQUIRES: CheckStructure found nothing.
void CheckSections(const Program& program, const TrainingStep& step, Report& report);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_BOXES_H_
