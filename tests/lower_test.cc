// Lowering, compared with instruction lists written by hand. Every tensor is smaller than the allocator's unit, so every
// device buffer takes one unit, 512 bytes.
#include "sim/lower.h"

#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "sim/strategy.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

// A step on a machine on which a byte takes 1 ns to copy.
struct Case {
  explicit Case(TrainingStep s, Machine m = HandMachine()) : step(std::move(s)), machine(std::move(m)) {}
  Case(const Case&) = delete;
  OpId Op(const std::string& name) const {
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      if (step.ops[op].name == name) return static_cast<OpId>(op);
    }
    FAIL("no op " << name);
    return kNoOp;
  }
  TensorId Tensor(const std::string& name) const {
    for (std::size_t t = 0; t < step.tensors.size(); ++t) {
      if (step.tensors[t].name == name) return static_cast<TensorId>(t);
    }
    FAIL("no tensor " << name);
    return kNoTensor;
  }
  GapDecision Swap(const char* tensor, const char* after, const char* before, const char* in_at = nullptr) const {
    GapDecision gap;
    gap.tensor = Tensor(tensor);
    gap.after = gap.out_after = Op(after);
    gap.before = Op(before);
    gap.in_at = in_at == nullptr ? gap.before : Op(in_at);
    return gap;
  }
  GapDecision Recompute(const char* tensor, const char* after, const char* before, bool keep_result = true) const {
    GapDecision gap;
    gap.tensor = Tensor(tensor);
    gap.after = Op(after);
    gap.before = Op(before);
    gap.action = GapAction::kRecompute;
    gap.keep_result = keep_result;
    return gap;
  }
  Plan Of(std::vector<GapDecision> gaps, const Runtime& runtime = {}) const {
    Plan plan;
    plan.network = step.network;
    plan.batch = step.batch;
    plan.runtime = runtime;
    plan.gaps = std::move(gaps);
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    return plan;
  }
  Lowered Lowers(const Plan& plan, Bytes live_limit = 0) const { return Lower(plan, StepTables(step, costs), live_limit); }

  TrainingStep step;
  Machine machine;
  CostModel costs{machine};
};

// A line per kernel or change of stream, without numbers, passes and the size that all buffers have:
//   h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
//   compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
std::string Text(const Case& c, const Program& program) {
  std::istringstream lines(DumpProgram(program, &c.step));
  std::string text = "\n", previous, line;
  while (std::getline(lines, line)) {
    line = std::regex_replace(line, std::regex("kernel |:forward|:backward| 512 B"), "");
    std::smatch part;
    REQUIRE(std::regex_match(line, part, std::regex(" *[0-9]+ ([a-z0-9]+) +(.*)")));
    const std::string what = std::regex_replace(part.str(2), std::regex(" +"), " ");
    const bool same_line = part.str(1) == previous;
    text += same_line ? "; " + what : (text.size() > 1 ? "\n" : "") + part.str(1) + ": " + what;
    previous = what.find("=b") != std::string::npos ? "" : part.str(1);  // a kernel ends the line
  }
  return text + "\n";
}

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

// What runs right after the swap-in of `tensor` was issued.
std::string IssuedBefore(const Case& c, const Program& program, const char* tensor) {
  bool issued = false;
  std::string op = "never";
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kKernel && issued) return c.step.ops[static_cast<std::size_t>(program.kernels[in.arg].op)].name;
    if (in.opcode != Opcode::kCopy || program.copies[in.arg].direction != Direction::kHostToDevice) continue;
    issued = issued || program.buffers[program.copies[in.arg].to].tensor == c.Tensor(tensor);
  }
  return op;
}

}  // namespace

TEST_CASE("in-core: the input is uploaded, everything goes after its last use") {
  const Case c(MakeChain());
  const Lowered lowered = c.Lowers(c.Of({}));
  CHECK(Text(c, lowered.program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: alloc b4:m3; f3 r=b3:m2 w=b4:m3
compute: alloc b5:g2; b3 r=b4:m3 w=b5:g2
compute: free b4:m3; alloc b6:g1; b2 r=b3:m2 r=b5:g2 w=b6:g1
compute: free b3:m2; free b5:g2; b1 r=b1:data r=b2:m1 r=b6:g1
compute: free b1:data; free b2:m1; free b6:g1
)");
  CHECK(lowered.list_peak == 5 * 512);  // b3: the input, three maps, one gradient
  CHECK(lowered.op == c.Op("b3:backward"));
}

TEST_CASE("a swap in our own runtime: out behind the writer, freed behind the last reader, in before in_at") {
  const Case c(MakeChain());
  CHECK(Text(c, c.Lowers(c.Of({c.Swap("m1", "f2:forward", "b1:backward", "b2:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
d2h: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; record e3; wait e2 (produced); free b2:m1
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3
h2d: alloc b7:m1; wait e3 (swap-out); copy b4:m1:host -> b7:m1 10 B; record e4
compute: alloc b8:g1; b2 r=b3:m2 r=b6:g2 w=b8:g1
compute: free b3:m2; free b6:g2; wait e4 (swap-in); b1 r=b1:data r=b7:m1 r=b8:g1
compute: free b1:data; free b7:m1; free b8:g1
)");
}

TEST_CASE("a swap between two forward ops") {
  const Case c(MakeChain({.layers = 2}));
  CHECK(Text(c, c.Lowers(c.Of({c.Swap("m1", "f1:forward", "f2:forward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1
d2h: wait e1 (produced); copy b2:m1 -> b3:m1:host 10 B; record e2; free b2:m1
h2d: alloc b4:m1; wait e2 (swap-out); copy b3:m1:host -> b4:m1 10 B; record e3
compute: alloc b5:m2; wait e3 (swap-in); f2 r=b4:m1 w=b5:m2
compute: alloc b6:g1; b2 r=b5:m2 w=b6:g1
compute: free b5:m2; b1 r=b1:data r=b4:m1 r=b6:g1
compute: free b1:data; free b4:m1; free b6:g1
)");
}

TEST_CASE("a copy out may start before the gap; the memory stays until the gap") {
  const Case c(MakeChain());
  GapDecision gap = c.Swap("m2", "f3:forward", "b2:backward");
  gap.out_after = c.Op("f2:forward");
  CHECK(Text(c, c.Lowers(c.Of({gap})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e1
d2h: wait e1 (produced); copy b3:m2 -> b4:m2:host 10 B; record e2
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
compute: record e3
d2h: wait e3 (produced); free b3:m2
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3
h2d: alloc b7:m2; wait e2 (swap-out); copy b4:m2:host -> b7:m2 10 B; record e4
compute: alloc b8:g1; wait e4 (swap-in); b2 r=b7:m2 r=b6:g2 w=b8:g1
compute: free b7:m2; free b6:g2; b1 r=b1:data r=b2:m1 r=b8:g1
compute: free b1:data; free b2:m1; free b8:g1
)");
}

TEST_CASE("a swap in PoocH's runtime: one copy stream, syncs after forward and after each backward layer") {
  const Case c(MakeChain());
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward", "b2:backward")}, RuntimeByName("pooch"));
  const Program program = c.Lowers(plan).program;
  CHECK_FALSE(program.arena);
  // The swap-in waits neither for its swap-out, which e3 implies, nor for memory given back, which e4 does.
  CHECK(Text(c, program) == R"(
copy: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
copy: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; wait e2 (produced); free b2:m1; record e3
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
copy: sync e3 (barrier)
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3; record e4; sync e4 (barrier)
copy: alloc b7:m1; copy b4:m1:host -> b7:m1 10 B; record e5
compute: alloc b8:g1; b2 r=b3:m2 r=b6:g2 w=b8:g1
compute: free b3:m2; free b6:g2; record e6; sync e6 (barrier); wait e5 (swap-in); b1 r=b1:data r=b7:m1 r=b8:g1
compute: free b1:data; free b7:m1; free b8:g1; record e7; sync e7 (barrier)
)");
}

TEST_CASE("in a pool without syncs a swap-in follows what the compute stream gave back before") {
  const Case c(MakeChain({.layers = 2}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, {.memory = MemoryModel::kPool});
  CHECK(Text(c, c.Lowers(plan).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
d2h: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; record e3; wait e2 (produced); free b2:m1
compute: alloc b5:g1; b2 r=b3:m2 w=b5:g1
compute: free b3:m2; record e4
h2d: wait e4 (memory); alloc b6:m1; wait e3 (swap-out); copy b4:m1:host -> b6:m1 10 B; record e5
compute: wait e5 (swap-in); b1 r=b1:data r=b6:m1 r=b5:g1
compute: free b1:data; free b6:m1; free b5:g1
)");
}

TEST_CASE("vDNN's barriers: after every layer the host waits for the kernel and for the copies") {
  const Case c(MakeChain({.layers = 2}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, {.copy_streams = 1, .barrier = Barrier::kOp});
  CHECK(Text(c, c.Lowers(plan).program) == R"(
copy: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; sync e1 (barrier)
copy: sync e0 (barrier)
compute: alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
copy: copy b2:m1 -> b4:m1:host 10 B; wait e2 (produced); free b2:m1; record e3
compute: sync e2 (barrier)
copy: sync e3 (barrier)
compute: alloc b5:g1; b2 r=b3:m2 w=b5:g1
compute: free b3:m2; record e4; sync e4 (barrier)
copy: sync e3 (barrier); alloc b6:m1; copy b4:m1:host -> b6:m1 10 B; record e5
compute: wait e5 (swap-in); b1 r=b1:data r=b6:m1 r=b5:g1
compute: free b1:data; free b6:m1; free b5:g1; record e6; sync e6 (barrier)
copy: sync e5 (barrier)
)");
}

TEST_CASE("the input goes without a copy and is uploaded again") {
  const Case c(MakeChain({.layers = 2}));
  CHECK(Text(c, c.Lowers(c.Of({c.Swap("data", "f1:forward", "b1:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: free b1:data; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: alloc b4:g1; b2 r=b3:m2 w=b4:g1
compute: free b3:m2
h2d: alloc b5:data; copy b0:data:host -> b5:data 10 B; record e1
compute: wait e1 (swap-in); b1 r=b5:data r=b2:m1 r=b4:g1
compute: free b5:data; free b2:m1; free b4:g1
)");
}

TEST_CASE("the first upload may be issued before the op that needs it") {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId m = b.Tensor("m", TensorClass::kTransient, 10);
  b.Op("f1", Pass::kForward, 4, {}, {m});
  b.Op("f2", Pass::kForward, 4, {m, x}, {});
  const Case c(b.Take());
  GapDecision gap;
  gap.tensor = x;
  gap.before = 1;
  gap.in_at = 0;
  CHECK(IssuedBefore(c, c.Lowers(c.Of({})).program, "data") == "f2");
  CHECK(IssuedBefore(c, c.Lowers(c.Of({gap})).program, "data") == "f1");
}

TEST_CASE("copies in pieces of 4 bytes: 4 + 4 + 2") {
  const Case c(MakeChain({.layers = 2}));
  const Program program = c.Lowers(c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, {.copy_chunk = 4})).program;
  std::vector<std::pair<Bytes, Bytes>> pieces;  // offset, bytes
  for (const Copy& copy : program.copies) pieces.emplace_back(copy.offset, copy.bytes);
  const std::vector<std::pair<Bytes, Bytes>> tensor{{0, 4}, {4, 4}, {8, 2}};
  REQUIRE(pieces.size() == 9);  // the upload, out, in
  for (std::size_t k = 0; k < 9; ++k) CHECK(pieces[k] == tensor[k % 3]);
  const std::string text = Text(c, program);
  CHECK(text.find("b2:m1 -> b4:m1:host 4 B; copy b2:m1 -> b4:m1:host 4 B; copy b2:m1 -> b4:m1:host 2 B; record") !=
        std::string::npos);
}

TEST_CASE("recomputing a ReLU's result runs the batch norm again, whose result goes at once") {
  const Case c(NormStep());
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
  const Case c(NormStep());
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
  const Case c(NormStep());
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
  const Case c(NormStep());
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
  const Case c(BiasStep());
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
  const Case c(BiasStep());
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

// Units live while each op runs, with m1 swapped out after f2 and back when b1 needs it:
//   f1 2   f2 3   f3 3   f4 4   b4 5   b3 5   b2 4   b1 3
TEST_CASE("an arena's swap-in comes as early as the plan asks and memory allows") {
  const Case c(MakeChain({.layers = 4}));
  const auto issued = [&c](const char* in_at, Bytes units) {
    const Lowered lowered = c.Lowers(c.Of({c.Swap("m1", "f2:forward", "b1:backward", in_at)}), units * 512);
    CHECK(lowered.list_peak == std::max<Bytes>(units, 5) * 512);
    return IssuedBefore(c, lowered.program, "m1");
  };
  CHECK(issued("f3:forward", 4) == "b1:backward");  // less than the plan needs: no prefetch
  CHECK(issued("f3:forward", 5) == "b2:backward");
  CHECK(issued("f3:forward", 6) == "f3:forward");
  CHECK(issued("b4:backward", 6) == "b4:backward");
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward", "f3:forward")});
  CHECK(IssuedBefore(c, c.Lowers(plan).program, "m1") == "f3:forward");  // no limit
}

TEST_CASE("an arena's swap-ins come in order of need and share the room") {
  // With m2 out from f3 to b2 and m1 from f2 to b1: f3 3, f4 3, b4 4, b3 4, b2 4, b1 3. Within 5, m2 comes back before
  // f4 (b4 and b3 are full then), and m1 cannot overtake: b2 has room for it, b3 has none.
  const Case c(MakeChain({.layers = 4}));
  const GapDecision m1 = c.Swap("m1", "f2:forward", "b1:backward", "f3:forward");
  const GapDecision m2 = c.Swap("m2", "f3:forward", "b2:backward", "f4:forward");
  for (const Plan& plan : {c.Of({m1, m2}), c.Of({m2, m1})}) {
    const Program program = c.Lowers(plan, 5 * 512).program;
    CHECK(IssuedBefore(c, program, "m2") == "f4:forward");
    CHECK(IssuedBefore(c, program, "m1") == "b2:backward");
  }
}

TEST_CASE("a pool's swap-ins come where the plan says, in its order") {
  const Case c(MakeChain());
  const GapDecision m1 = c.Swap("m1", "f2:forward", "b1:backward", "b2:backward");
  const GapDecision m2 = c.Swap("m2", "f3:forward", "b2:backward", "b2:backward");
  const std::string m1_first = Text(c, c.Lowers(c.Of({m1, m2}, RuntimeByName("pooch")), 512).program);
  CHECK(m1_first.find("copy: alloc b8:m1; copy b4:m1:host -> b8:m1 10 B; alloc b9:m2; copy b6:m2:host -> b9:m2 10 B; "
                      "record e6\ncompute: alloc b10:g1; wait e6 (swap-in); b2 ") != std::string::npos);
  const std::string m2_first = Text(c, c.Lowers(c.Of({m2, m1}, RuntimeByName("pooch")), 512).program);
  CHECK(m2_first.find("copy: alloc b8:m2; copy b6:m2:host -> b8:m2 10 B; record e6; alloc b9:m1; copy b4:m1:host -> "
                      "b9:m1 10 B; record e7\ncompute: alloc b10:g1; wait e6 (swap-in); b2 ") != std::string::npos);
}

TEST_CASE("tables of a step: rounded bytes, distinct launches, working sets") {
  HandStep b;
  const TensorId w = b.Tensor("w", TensorClass::kParameter, 513);    // 2 units, always there
  const TensorId x = b.Tensor("data", TensorClass::kInput, 512);     // 1
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 1);     // 1
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 3 * 512);  // 3
  b.Op("f1", Pass::kForward, 4, {x, w}, {m});
  b.Op("f2", Pass::kForward, 4, {m}, {m});
  b.Op("b1", Pass::kBackward, 4, {m}, {g});
  Machine machine = HandMachine();
  CostLaw law;
  law.op = "linear";
  law.pass = "backward";
  law.flop_fraction = 1;
  law.workspace = 512;
  machine.devices[0].laws.push_back(law);
  const Case c(b.Take(), machine);
  const StepTables tables(c.step, c.costs);
  CHECK(tables.bytes == std::vector<Bytes>{1024, 512, 512, 1536});
  CHECK(tables.persistent == std::vector<bool>{true, false, false, false});
  CHECK(tables.last_use == std::vector<OpId>{0, 0, 2, 2});
  CHECK(tables.launches.size() == 2);  // f1 and f2 are the same call
  CHECK(tables.launch == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(tables.WorkingSet(0) == 4 * 512);  // w, data, m
  CHECK(tables.WorkingSet(1) == 3 * 512);  // w, m once though read and written
  CHECK(tables.WorkingSet(2) == 7 * 512);  // w, m, g, workspace
  CHECK(tables.LargestWorkingSet() == 2);
}

TEST_CASE("parameters are there from first to last; a workspace lives for its kernel; a plan may grant more of it") {
  HandStep b;
  const TensorId w = b.Tensor("w", TensorClass::kParameter, 10);
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 10);
  b.Op("f", Pass::kForward, 4, {w}, {m});
  b.Op("u", Pass::kUpdate, 4, {m, w}, {w});
  const Case c(b.Take());
  Plan plan = c.Of({});
  CHECK(Text(c, c.Lowers(plan).program) == R"(
compute: alloc b0:w; alloc b1:m; f r=b0:w w=b1:m
compute: u r=b1:m rw=b0:w
compute: free b1:m; free b0:w
)");
  plan.ops.push_back({.op = 0, .algorithm = 2, .workspace = 100});
  const Lowered lowered = c.Lowers(plan);
  CHECK(Text(c, lowered.program) == R"(
compute: alloc b0:w; alloc b1:m; alloc b2:workspace; f r=b0:w w=b1:m w=b2:workspace
compute: free b2:workspace; u r=b1:m rw=b0:w
compute: free b1:m; free b0:w
)");
  CHECK(lowered.list_peak == 3 * 512);
  const Launch& launch = lowered.program.launches[lowered.program.kernels[0].launch];
  CHECK(launch.algorithm == 2);
  CHECK(launch.workspace == 100);
}

}  // namespace spillway
