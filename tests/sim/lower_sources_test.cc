// Lowering of recomputation: when it runs, in what order, and what stays of what it passes.
#include <catch2/catch.hpp>

#include "tests/lower_case.h"

namespace spillway {
namespace {

// A convolution over m whose backward is two ops, data first. `m` is the result of a first layer.
TrainingStep TwoOpStep() {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 10);
  const TensorId s = b.Tensor("s", TensorClass::kTransient, 10);
  const TensorId g2 = b.Tensor("g2", TensorClass::kGradient, 10);
  const TensorId g1 = b.Tensor("g1", TensorClass::kGradient, 10);
  b.Op("first:forward", Pass::kForward, 4, {x}, {m});
  b.Op("conv:forward", Pass::kForward, 4, {m}, {s});
  b.Op("loss:backward", Pass::kBackward, 1, {s}, {g2});
  b.Op("conv:data", Pass::kBackwardData, 4, {g2}, {g1});
  b.Op("conv:filter", Pass::kBackwardFilter, 4, {m, g2}, {});
  b.Op("first:backward", Pass::kBackward, 4, {x, g1}, {});
  TrainingStep step = b.Take();
  step.ops[4].layer = step.ops[3].layer;
  return step;
}

TEST_CASE("what a layer's backward needs is recomputed before its first op, which does not read it") {
  const LowerCase c(TwoOpStep());
  const Lowered lowered = c.Lowers(c.Of({c.Recompute("m", "conv:forward", "conv:filter")}));
  CHECK(Text(c, lowered.program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m; wait e0 (swap-in); first r=b1:data w=b2:m
compute: alloc b3:s; conv r=b2:m w=b3:s
compute: free b2:m; alloc b4:g2; loss r=b3:s w=b4:g2
compute: free b3:s; alloc b5:m; first (again) r=b1:data w=b5:m
compute: alloc b6:g1; conv:data r=b4:g2 w=b6:g1
compute: conv:filter r=b5:m r=b4:g2
compute: free b5:m; free b4:g2; first r=b1:data r=b6:g1
compute: free b1:data; free b6:g1
)");
}

// j = join(n, m2) with n = norm(m1) a transient, m2 = f2(m1); backward reads j, m2 twice, m1, a layer each.
TrainingStep JoinStep() {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId m1 = b.Tensor("m1", TensorClass::kFeatureMap, 10);
  const TensorId m2 = b.Tensor("m2", TensorClass::kFeatureMap, 10);
  const TensorId n = b.Tensor("n", TensorClass::kTransient, 10);
  const TensorId j = b.Tensor("j", TensorClass::kFeatureMap, 10);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 10);
  b.Op("f1:forward", Pass::kForward, 4, {x}, {m1});
  b.Op("f2:forward", Pass::kForward, 4, {m1}, {m2});
  b.Op("norm:forward", Pass::kForward, 4, {m1}, {n});
  b.Op("join:forward", Pass::kForward, 4, {n, m2}, {j});
  b.Op("bj:backward", Pass::kBackward, 4, {j}, {g});
  b.Op("b2:backward", Pass::kBackward, 4, {m2, g}, {g});
  b.Op("b2again:backward", Pass::kBackward, 4, {m2, g}, {g});
  b.Op("b1:backward", Pass::kBackward, 4, {x, m1, g}, {});
  return b.Take();
}

// Names of the forward ops that run again, in order.
std::string Repeated(const LowerCase& c, const std::vector<GapDecision>& gaps) {
  const Program program = c.Lowers(c.Of(gaps)).program;
  std::string names;
  for (const Kernel& kernel : program.kernels) {
    if (!kernel.recomputation) continue;
    const std::string& name = c.step.ops[static_cast<std::size_t>(kernel.op)].name;
    names += (names.empty() ? "" : " ") + name.substr(0, name.find(':'));
  }
  return names;
}

TEST_CASE("maps are recomputed before the transients that are read beside them") {
  const LowerCase c(JoinStep());
  const auto j = c.Recompute("j", "join:forward", "bj:backward");
  const auto m2 = c.Recompute("m2", "join:forward", "b2:backward");
  CHECK(Repeated(c, {j, m2}) == "f2 norm join");
}

TEST_CASE("a transient's own sources come before any transient is computed") {
  // t = sum(n1, n2) with n1 = norm1(m1), n2 = norm2(m2): m2 first, although n1 is read first.
  HandStep b;
  const TensorId m1 = b.Tensor("m1", TensorClass::kFeatureMap, 10);
  const TensorId m2 = b.Tensor("m2", TensorClass::kFeatureMap, 10);
  const TensorId n1 = b.Tensor("n1", TensorClass::kTransient, 10);
  const TensorId n2 = b.Tensor("n2", TensorClass::kTransient, 10);
  const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 10);
  b.Op("f1:forward", Pass::kForward, 4, {}, {m1});
  b.Op("f2:forward", Pass::kForward, 4, {m1}, {m2});
  b.Op("norm1:forward", Pass::kForward, 4, {m1}, {n1});
  b.Op("norm2:forward", Pass::kForward, 4, {m2}, {n2});
  b.Op("sum:forward", Pass::kForward, 4, {n1, n2}, {t});
  b.Op("bt:backward", Pass::kBackward, 4, {t}, {});
  b.Op("b2:backward", Pass::kBackward, 4, {m2}, {});
  b.Op("b1:backward", Pass::kBackward, 4, {m1}, {});
  const LowerCase c(b.Take());
  const auto sum = c.Recompute("t", "sum:forward", "bt:backward");
  CHECK(Repeated(c, {sum, c.Recompute("m2", "norm2:forward", "b2:backward")}) == "f2 norm1 norm2 sum");
}

TEST_CASE("a map computed on the way stays, or is freed there, or is freed after every use") {
  const LowerCase c(JoinStep());
  const auto j = c.Recompute("j", "join:forward", "bj:backward");
  GapDecision m2 = c.Recompute("m2", "join:forward", "b2:backward");
  m2.keep_passed = false;
  CHECK(Repeated(c, {j, m2}) == "f2 norm join f2");
  m2.keep_result = false;
  CHECK(Repeated(c, {j, m2}) == "f2 norm join f2 f2");
  m2.keep_passed = true;  // says nothing of what is not kept at all
  CHECK(Repeated(c, {j, m2}) == "f2 norm join f2 f2");
}

TEST_CASE("... but stays if the layer being served uses it too") {
  TrainingStep step = JoinStep();
  step.ops[5].layer = step.ops[4].layer;  // bj and the first b2 belong to one layer
  const LowerCase c(std::move(step));
  GapDecision m2 = c.Recompute("m2", "join:forward", "b2:backward");
  m2.keep_passed = false;
  CHECK(Repeated(c, {c.Recompute("j", "join:forward", "bj:backward"), m2}) == "f2 norm join");
}

}  // namespace
}  // namespace spillway
