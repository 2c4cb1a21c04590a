// Lowering of recomputations, compared with instruction lists written by hand.
#include <algorithm>

#include "sim/program/layout/layout.h"
#include "sim/verify/verify.h"
#include "tests/lower_case.h"

namespace spillway {
namespace {

// A batch norm whose result nobody needs in backward, between a convolution and a ReLU.
TrainingStep NormStep() {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId c = b.Tensor("c", TensorClass::kFeatureMap, 10);
  const TensorId n = b.Tensor("n", TensorClass::kTransient, 10);
  const TensorId r = b.Tensor("r", TensorClass::kFeatureMap, 10);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 10);
  b.Op("conv:forward", Pass::kForward, 4, {x}, {c});
  b.Op("norm:forward", Pass::kForward, 2, {c}, {n});
  b.Op("relu:forward", Pass::kForward, 1, {n}, {r});
  b.Op("relu:backward", Pass::kBackward, 1, {r}, {g});
  b.Op("norm:backward", Pass::kBackward, 2, {c, g}, {g});
  b.Op("conv:backward", Pass::kBackward, 4, {x, g}, {});
  return b.Take();
}

// A convolution's result to which a bias is added in place, read twice in backward.
TrainingStep BiasStep() {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId r = b.Tensor("r", TensorClass::kFeatureMap, 10);
  const TensorId s = b.Tensor("s", TensorClass::kTransient, 10);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 10);
  b.Op("conv:forward", Pass::kForward, 4, {x}, {r});
  b.Op("bias:forward", Pass::kForward, 1, {r}, {r});
  b.Op("top:forward", Pass::kForward, 4, {r}, {s});
  b.Op("top:backward", Pass::kBackward, 4, {}, {g});
  b.Op("bias:backward", Pass::kBackward, 1, {r, g}, {});
  b.Op("conv:backward", Pass::kBackward, 4, {r, g}, {});
  return b.Take();
}

TEST_CASE("recomputing a ReLU's result runs the batch norm again, whose result goes at once") {
  const LowerCase c(NormStep());
  CHECK(Text(c, c.Lowers(c.Of({c.Recompute("r", "relu:forward", "relu:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:c; wait e0 (swap-in); conv r=b1:data w=b2:c
compute: alloc b3:n; norm r=b2:c w=b3:n
compute: alloc b4:r; relu r=b3:n w=b4:r
compute: free b4:r; free b3:n; alloc b5:n; norm (again) r=b2:c w=b5:n
compute: alloc b6:r; relu (again) r=b5:n w=b6:r
compute: free b5:n; alloc b7:g; relu r=b6:r w=b7:g
compute: free b6:r; norm r=b2:c rw=b7:g
compute: free b2:c; conv r=b1:data r=b7:g
compute: free b1:data; free b7:g
)");
}

TEST_CASE("recomputation goes back as far as it must; a map on the way stays for its own use") {
  const LowerCase c(NormStep());
  const auto r = c.Recompute("r", "relu:forward", "relu:backward");
  CHECK(Text(c, c.Lowers(c.Of({r, c.Recompute("c", "norm:forward", "norm:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:c; wait e0 (swap-in); conv r=b1:data w=b2:c
compute: alloc b3:n; norm r=b2:c w=b3:n
compute: free b2:c; alloc b4:r; relu r=b3:n w=b4:r
compute: free b4:r; free b3:n; alloc b5:c; conv (again) r=b1:data w=b5:c
compute: alloc b6:n; norm (again) r=b5:c w=b6:n
compute: alloc b7:r; relu (again) r=b6:n w=b7:r
compute: free b6:n; alloc b8:g; relu r=b7:r w=b8:g
compute: free b7:r; norm r=b5:c rw=b8:g
compute: free b5:c; conv r=b1:data r=b8:g
compute: free b1:data; free b8:g
)");
}

TEST_CASE("... unless its result is not kept: then it is computed once more") {
  const LowerCase c(NormStep());
  const auto r = c.Recompute("r", "relu:forward", "relu:backward");
  CHECK(Text(c, c.Lowers(c.Of({r, c.Recompute("c", "norm:forward", "norm:backward", false)})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:c; wait e0 (swap-in); conv r=b1:data w=b2:c
compute: alloc b3:n; norm r=b2:c w=b3:n
compute: free b2:c; alloc b4:r; relu r=b3:n w=b4:r
compute: free b4:r; free b3:n; alloc b5:c; conv (again) r=b1:data w=b5:c
compute: alloc b6:n; norm (again) r=b5:c w=b6:n
compute: free b5:c; alloc b7:r; relu (again) r=b6:n w=b7:r
compute: free b6:n; alloc b8:g; relu r=b7:r w=b8:g
compute: free b7:r; alloc b9:c; conv (again) r=b1:data w=b9:c
compute: norm r=b9:c rw=b8:g
compute: free b9:c; conv r=b1:data r=b8:g
compute: free b1:data; free b8:g
)");
}

TEST_CASE("recomputation brings a swapped map back early, once") {
  const LowerCase c(NormStep());
  const auto r = c.Recompute("r", "relu:forward", "relu:backward");
  CHECK(Text(c, c.Lowers(c.Of({r, c.Swap("c", "norm:forward", "norm:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:c; wait e0 (swap-in); conv r=b1:data w=b2:c
compute: record e1; alloc b3:n; norm r=b2:c w=b3:n
compute: record e2
d2h: wait e1 (produced); copy b2:c -> b4:c:host 10 B; record e3; wait e2 (produced); free b2:c
compute: alloc b5:r; relu r=b3:n w=b5:r
compute: free b5:r; free b3:n
h2d: alloc b6:c; wait e3 (swap-out); copy b4:c:host -> b6:c 10 B; record e4
compute: alloc b7:n; wait e4 (swap-in); norm (again) r=b6:c w=b7:n
compute: alloc b8:r; relu (again) r=b7:n w=b8:r
compute: free b7:n; alloc b9:g; relu r=b8:r w=b9:g
compute: free b8:r; norm r=b6:c rw=b9:g
compute: free b6:c; conv r=b1:data r=b9:g
compute: free b1:data; free b9:g
)");
}

TEST_CASE("what was written in place is recomputed by all its writers, in order") {
  const LowerCase c(BiasStep());
  CHECK(Text(c, c.Lowers(c.Of({c.Recompute("r", "top:forward", "bias:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:r; wait e0 (swap-in); conv r=b1:data w=b2:r
compute: free b1:data; bias rw=b2:r
compute: alloc b3:s; top r=b2:r w=b3:s
compute: free b2:r; free b3:s; alloc b4:g; top w=b4:g
h2d: alloc b5:data; copy b0:data:host -> b5:data 10 B; record e1
compute: alloc b6:r; wait e1 (swap-in); conv (again) r=b5:data w=b6:r
compute: free b5:data; bias (again) rw=b6:r
compute: bias r=b6:r r=b4:g
compute: conv r=b6:r r=b4:g
compute: free b6:r; free b4:g
)");
}

TEST_CASE("... and, if the result is not kept, for its next use again") {
  const LowerCase c(BiasStep());
  CHECK(Text(c, c.Lowers(c.Of({c.Recompute("r", "top:forward", "bias:backward", false)})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:r; wait e0 (swap-in); conv r=b1:data w=b2:r
compute: free b1:data; bias rw=b2:r
compute: alloc b3:s; top r=b2:r w=b3:s
compute: free b2:r; free b3:s; alloc b4:g; top w=b4:g
h2d: alloc b5:data; copy b0:data:host -> b5:data 10 B; record e1
compute: alloc b6:r; wait e1 (swap-in); conv (again) r=b5:data w=b6:r
compute: free b5:data; bias (again) rw=b6:r
compute: bias r=b6:r r=b4:g
compute: free b6:r
h2d: alloc b7:data; copy b0:data:host -> b7:data 10 B; record e2
compute: alloc b8:r; wait e2 (swap-in); conv (again) r=b7:data w=b8:r
compute: free b7:data; bias (again) rw=b8:r
compute: conv r=b8:r r=b4:g
compute: free b8:r; free b4:g
)");
}

// A dropout in place, whose map nobody reads in backward.
struct DroppedInPlace {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 10);
  const TensorId mask = b.Tensor("mask", TensorClass::kFeatureMap, 10);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 10);
  const OpId conv = b.Op("conv:forward", Pass::kForward, 4, {x}, {m});
  const OpId drop = b.Op("drop:forward", Pass::kForward, 1, {m}, {m, mask});
  const OpId top = b.Op("top:backward", Pass::kBackward, 4, {m}, {g});
  const OpId drop_backward = b.Op("drop:backward", Pass::kBackward, 1, {mask, g}, {g});
  const OpId last = b.Op("conv:backward", Pass::kBackward, 4, {x, g}, {});
};

TEST_CASE("an op in place that an entry runs for results that are dead runs once for all of them") {
  DroppedInPlace d;
  const LowerCase c(d.b.Take());
  for (const bool keep : {true, false}) {
    Plan plan = c.Of({});
    plan.recompute = {{d.last, d.drop, keep}};
    CHECK(Text(c, c.Lowers(plan).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m; wait e0 (swap-in); conv r=b1:data w=b2:m
compute: alloc b3:mask; drop rw=b2:m w=b3:mask
compute: alloc b4:g; top r=b2:m w=b4:g
compute: free b2:m; drop r=b3:mask rw=b4:g
compute: free b3:mask; alloc b5:m; conv (again) r=b1:data w=b5:m
compute: alloc b6:mask; drop (again) rw=b5:m w=b6:mask
compute: free b5:m; free b6:mask; conv r=b1:data r=b4:g
compute: free b1:data; free b4:g
)");
  }
}

// The map stays for the second entry; the mask, which was in use at the first, would be made from a map already dropped.
TEST_CASE("an op whose result in place is there does not run again for its other results") {
  DroppedInPlace d;
  const LowerCase c(d.b.Take());
  Plan plan = c.Of({});
  plan.recompute = {{d.drop_backward, d.drop, true, d.last}, {d.last, d.drop, true}};
  CHECK(CheckPlan(plan, c.step).empty());
  Program program = c.Lowers(plan).program;
  PlaceBuffers(program);
  CHECK(Verify(program, &c.step).empty());
  const auto repeats = [&](OpId op) {
    return std::count_if(program.kernels.begin(), program.kernels.end(),
                         [op](const Kernel& kernel) { return kernel.op == op && kernel.recomputation; });
  };
  CHECK(repeats(d.conv) == 1);
  CHECK(repeats(d.drop) == 1);
}

}  // namespace
}  // namespace spillway
