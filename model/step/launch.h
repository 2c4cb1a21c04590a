// What one kernel launch is, as far as its cost goes: the key of the cost model.
#ifndef SPILLWAY_MODEL_STEP_LAUNCH_H_
#define SPILLWAY_MODEL_STEP_LAUNCH_H_

#include <cstdint>
#include <utility>

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

// The pass of a convolution that computes what this pass of a transposed convolution does.
constexpr Pass ExchangedPass(Pass pass) {
  if (pass == Pass::kForward) return Pass::kBackwardData;
  return pass == Pass::kBackwardData ? Pass::kForward : pass;
}

// The launch that libraries are called with, and by which costs are known: of a transposed convolution that of the
// convolution whose input is its result. Operands, window, algorithms and workspace are the same. All others are
// themselves.
//
//   transposed                        x, n x c x small  ->  y, n x k x large      weight c x k / groups x window
//   forward = backward data of        y, n x k x large  ->  x, n x c x small      the same
inline Launch AsConvolution(Launch launch) {
  if (launch.kind != OpKind::kTransposedConvolution) return launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = ExchangedPass(launch.pass);
  std::swap(launch.shape.in, launch.shape.out);
  return launch;
}

// Work of a launch, counted in one place for all machines (also fills Op::work).
Work CountWork(const Launch& asked);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_LAUNCH_H_
