// From an operation to its time on a machine, with the origin of the answer and how sure it is.
//
// Never a bare number: every answer is a Cost. The present model is a roofline whose efficiencies are rows of the
// machine profile (hw/machine.h, CostLaw); no row for an op means a plain roofline, marked `assumed`.
#ifndef SPILLWAY_MODEL_COST_MODEL_H_
#define SPILLWAY_MODEL_COST_MODEL_H_

#include <string>

#include "hw/machine.h"
#include "model/training_step.h"

namespace spillway {

struct Cost {
  Nanos time = 0;
  Source::Kind source = Source::Kind::kAssumed;
  double error = 0;            // relative, one standard deviation
  const char* how = "";        // "law", "roofline", "curve": static text
  Bytes workspace = 0;         // what the op wants to run in that time
  double copy_slowdown = 1.0;  // factor on the time while a copy runs
};

// What one kernel launch is, as far as its cost goes.
struct Launch {
  OpKind kind = OpKind::kCopy;
  Pass pass = Pass::kForward;
  OpShape shape;
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;
  MathMode math = MathMode::kFp32;
  std::int32_t algorithm = 0;  // 0 = the library's choice
  Bytes workspace = 0;         // granted
  bool accumulate = false;
  bool operator==(const Launch&) const = default;
};
Launch LaunchOf(const Op& op);

// Work of a launch, counted in one place for all machines (also fills Op::work).
Work CountWork(const Launch& launch);

// Owns nothing: `machine` must outlive it. Deterministic, thread-safe.
class CostModel {
 public:
  explicit CostModel(const Machine& machine) : machine_(&machine) {}
  Cost Kernel(const Launch& launch, int device = 0) const;
  // `rows` > 1: a pitched copy of `rows` rows that are bytes / rows long each.
  Cost Copy(Bytes bytes, Direction direction, int device = 0, std::int64_t rows = 1) const;
  const Machine& machine() const { return *machine_; }

 private:
  const Machine* machine_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_MODEL_H_
