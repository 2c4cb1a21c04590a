// What one kernel launch is, as far as its cost goes: the key of the cost model.
#ifndef SPILLWAY_MODEL_STEP_LAUNCH_H_
#define SPILLWAY_MODEL_STEP_LAUNCH_H_

#include <cstdint>

#include "model/step/training_step.h"

namespace spillway {

// "As much scratch as the framework usually grants" (CostOptions::workspace_limit).
constexpr Bytes kUsualWorkspace = -1;
// What a framework grants one convolution where nobody says more. Chainer 3 (cuda.get_max_workspace_size) and Caffe.
constexpr Bytes kFrameworkWorkspace = 8 * kMiB;
// The most that a launch may be granted.
constexpr Bytes kMostWorkspace = 1000 * kGB;

struct Launch {
  OpKind kind = OpKind::kCopy;
  Pass pass = Pass::kForward;
  OpShape shape;
  DataType type = DataType::kFp32;
  Layout layout = Layout::kNchw;
  MathMode math = MathMode::kFp32;
  std::int32_t algorithm = 0;         // 0 = the fastest within the workspace, else 1 + index into AlgorithmNames
  Bytes workspace = kUsualWorkspace;  // granted
  bool accumulate = false;
  bool recomputation = false;  // of an op whose recomputation is another launch (Op::recompute_differs)
  bool operator==(const Launch&) const = default;
};
Launch LaunchOf(const Op& op);         // its first run
Launch RecomputationOf(const Op& op);  // the same where its recomputation does not differ
// The launch whatever runs it: algorithm and workspace left to the library.
inline Launch Unchosen(Launch launch) {
  launch.algorithm = 0;
  launch.workspace = kUsualWorkspace;
  return launch;
}

// Work of a launch, counted in one place for all machines (also fills Op::work).
Work CountWork(const Launch& launch);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_LAUNCH_H_
