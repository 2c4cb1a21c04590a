// Tensors that lie in sections (clause 9 of sim/program/program.h): what a kernel's operands come to together, and whether
// their addresses let it find them as one. Internal to verify.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_SECTIONS_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_SECTIONS_H_

#include <cstddef>
#include <optional>

#include "sim/verify/verify_internal.h"

namespace spillway::verifying {

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

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_SECTIONS_H_
