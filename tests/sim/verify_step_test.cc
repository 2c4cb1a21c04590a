// sim/verify/verify.h with a training step: that a Program computes it. See small_programs.h for the step.
#include <catch2/catch.hpp>
#include <functional>

#include "sim/verify/verify.h"
#include "tests/small_programs.h"
#include "tests/violations.h"

namespace spillway {
namespace {

const TrainingStep kStep = SmallStep::Build();

std::string Says(const Program& program, const TrainingStep& step = kStep) { return ViolationsOf(program, step); }
// What Verify says after a change; the message must begin as given.
std::string Broken(Program program, const std::function<void(Program&)>& change) {
  change(program);
  return Says(program);
}
// The instruction that runs the op the first time, as code[At(...)].
std::size_t At(const Program& program, OpId op) {
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode == Opcode::kKernel && program.kernels[program.code[i].arg].op == op) return i;
  }
  FAIL("the op does not run");
  return 0;
}
Operand& OperandOf(Program& program, OpId op, std::uint32_t k) {
  return program.operands[program.kernels[program.code[At(program, op)].arg].operands + k];
}

TEST_CASE("the small programs compute their step") {
  CHECK(Says(RecomputeProgram()).empty());
  CHECK(Says(RecomputeChainProgram()).empty());
  CHECK(Says(SwapStepProgram()).empty());
}

TEST_CASE("step: every op once, in order") {
  const Program safe = RecomputeProgram();
  // Without the update, w and m stay as they are: nothing else is wrong.
  CHECK(Broken(
            safe,
            [](Program& p) { p.code.erase(p.code.begin() + static_cast<std::ptrdiff_t>(At(p, SmallStep::update))); }) ==
        "step, buffer 2 of w: it is freed last, and does not hold the last version\n"
        "step, buffer 3 of m: it is freed last, and does not hold the last version\n"
        "step: update never runs\n");
  CHECK_THAT(Broken(safe,
                    [](Program& p) {
                      const auto at = static_cast<std::ptrdiff_t>(At(p, SmallStep::loss));
                      p.code.insert(p.code.begin() + at, p.code[At(p, SmallStep::loss)]);
                    }),
             Catch::Contains("(kernel loss): the op ran already at instruction"));
  CHECK_THAT(Broken(safe, [](Program& p) { p.kernels[0].op = kNoOp; }),
             Catch::Contains("a kernel of no op of the step"));
  CHECK_THAT(Broken(safe, [](Program& p) { p.kernels[0].op = 8; }),
             Catch::StartsWith("structure: a kernel names op 8 of 8"));
}

TEST_CASE("step: ops that do not depend on each other keep their order too") {
  // Two forward ops read the input, each with a result of its own.
  StepBuilder s;
  const TensorId in = s.Tensor("in", TensorClass::kInput, 100);
  const TensorId a = s.Tensor("a", TensorClass::kTransient, 100), b = s.Tensor("b", TensorClass::kTransient, 100);
  s.Op("first", {in}, {a});
  s.Op("second", {in}, {b});
  const TrainingStep step = s.Build();
  for (const bool in_order : {true, false}) {
    ProgramBuilder p;
    const BufferId x = p.Device(100, in), y = p.Device(100, a), z = p.Device(100, b);
    for (const BufferId buffer : {x, y, z}) p.Alloc(kCompute, buffer);
    if (in_order) p.Kernel({Rd(x), Wr(y)}, 0);
    p.Kernel({Rd(x), Wr(z)}, 1);
    if (!in_order) p.Kernel({Rd(x), Wr(y)}, 0);
    for (const BufferId buffer : {x, y, z}) p.Free(kCompute, buffer);
    const std::string says = Says(p.Build(step), step);
    CHECK(says == (in_order ? "" : "step, instruction 3 (kernel second): it need not follow first\n"));
  }
}

TEST_CASE("step: only forward ops are computed again") {
  CHECK_THAT(Broken(RecomputeProgram(),
                    [](Program& p) { p.kernels[p.code[At(p, SmallStep::bloss)].arg].recomputation = true; }),
             Catch::Contains("(kernel bloss again): only forward ops are computed again"));
}

TEST_CASE("step: operands are the tensors of the op, used as the op uses them") {
  const Program safe = RecomputeProgram();
  const auto access = [&](OpId op, std::uint32_t k, Access to) {
    return Broken(safe, [=](Program& p) { OperandOf(p, op, k).access = to; });
  };
  CHECK_THAT(access(SmallStep::conv, 0, Access::kReadWrite), Catch::Contains("of in: the op reads it only"));
  CHECK_THAT(access(SmallStep::conv, 2, Access::kReadWrite), Catch::Contains("of x: the op overwrites it"));
  CHECK_THAT(access(SmallStep::conv, 2, Access::kRead), Catch::Contains("of x: the op overwrites it"));
  CHECK_THAT(access(SmallStep::bias, 0, Access::kWrite), Catch::Contains("of x: the op updates it in place"));
  CHECK_THAT(access(SmallStep::bias, 0, Access::kRead), Catch::Contains("of x: the op updates it in place"));
  CHECK_THAT(access(SmallStep::bfilter, 3, Access::kRead), Catch::Contains("(workspace): a workspace is written only"));

  // bloss reads y. Given l it lacks y and has what it does not use.
  const std::string wrong = Broken(safe, [](Program& p) { OperandOf(p, SmallStep::bloss, 0).buffer = 7; });
  CHECK_THAT(wrong, Catch::Contains("of l: the op does not use it") && Catch::Contains("it has 0 operands for y"));
  CHECK_THAT(Broken(safe, [](Program& p) { --p.kernels[0].operand_count; }),
             Catch::Contains("(kernel conv): it has 0 operands for x"));
  CHECK_THAT(Broken(safe, [](Program& p) { OperandOf(p, SmallStep::conv, 1) = OperandOf(p, SmallStep::conv, 0); }),
             Catch::Contains("it has 0 operands for w"));
  CHECK_THAT(
      Broken(safe, [](Program& p) { OperandOf(p, SmallStep::bfilter, 3) = OperandOf(p, SmallStep::bfilter, 2); }),
      Catch::Contains("it has 2 operands for dw"));
  CHECK_THAT(Broken(safe, [](Program& p) { p.buffers[OperandOf(p, SmallStep::bloss, 1).buffer].tensor = kNoTensor; }),
             Catch::Contains("it holds no tensor of the step"));
}

TEST_CASE("structure: buffers are large enough for their tensors") {
  CHECK_THAT(Broken(RecomputeProgram(), [](Program& p) { p.buffers[3].bytes = 99; }),
             Catch::StartsWith("structure, buffer 3 of m: 99 bytes are too few for 100"));
  CHECK_THAT(Broken(RecomputeProgram(), [](Program& p) { p.buffers[3].tensor = 10; }),
             Catch::StartsWith("structure, buffer 3: the step has no such tensor"));
}

TEST_CASE("step: a result with several writers is computed again by all of them") {
  CHECK_THAT(Says(RecomputeChainProgram(false)),
             Catch::Contains("(kernel drop again), buffer 9 of x: it holds version 1, the op reads version 2"));
  // Without conv before it, bias would update what nobody has written.
  CHECK_THAT(Broken(RecomputeChainProgram(),
                    [](Program& p) {
                      const auto again = [&](const Instruction& in) {
                        return in.opcode == Opcode::kKernel && p.kernels[in.arg].recomputation;
                      };
                      p.code.erase(std::find_if(p.code.begin(), p.code.end(), again));
                    }),
             Catch::Contains("(kernel add_bias again), buffer 9 of x: it is read and holds nothing yet"));
}

TEST_CASE("step: a recomputation in place of what is still there computes something else") {
  // x holds version 2 when conv and bias run; bias once more would add the bias twice.
  CHECK_THAT(Broken(RecomputeProgram(),
                    [](Program& p) {
                      const auto at = p.code.begin() + static_cast<std::ptrdiff_t>(At(p, SmallStep::drop));
                      Kernel bias = p.kernels[1];
                      bias.recomputation = true;
                      p.kernels.push_back(bias);
                      p.code.insert(at, {.arg = static_cast<std::uint32_t>(p.kernels.size() - 1)});
                    }),
             Catch::Contains("(kernel add_bias again), buffer 4 of x: it holds version 2, the op reads version 1"));
}

TEST_CASE("step: parameters read after their update are stale") {
  // A recomputation of conv at the very end, before w is freed.
  CHECK_THAT(Broken(RecomputeProgram(),
                    [](Program& p) {
                      const auto at = p.code.begin() + static_cast<std::ptrdiff_t>(At(p, SmallStep::update)) + 1;
                      const auto first = static_cast<std::uint32_t>(p.operands.size());
                      // dw's buffer stands in for x: only what is read matters here.
                      p.operands.insert(p.operands.end(), {OperandOf(p, SmallStep::bfilter, 0), Rd(2), Wr(11)});
                      p.kernels.push_back(
                          {.op = SmallStep::conv, .operands = first, .operand_count = 3, .recomputation = true});
                      p.code.insert(at, {.arg = static_cast<std::uint32_t>(p.kernels.size() - 1)});
                    }),
             Catch::Contains("(kernel conv again), buffer 2 of w: it holds version 1, the op reads version 0"));
}

TEST_CASE("step: results of a recomputation may be found in place, those of an op may not") {
  // RecomputeProgram reads the mask where the drop of the forward half must write it.
  CHECK_THAT(Broken(RecomputeProgram(), [](Program& p) { OperandOf(p, SmallStep::drop, 2).access = Access::kRead; }),
             Catch::Contains("(kernel drop), buffer 6 of mask: the op overwrites it and does not read it"));
  // A recomputation that leaves no result at all is none.
  CHECK_THAT(Broken(RecomputeProgram(),
                    [](Program& p) {
                      for (Kernel& kernel : p.kernels) kernel.operand_count -= kernel.recomputation ? 2u : 0u;
                    }),
             Catch::Contains("(kernel drop again): it has no result of its op"));
}

TEST_CASE("step: a tensor in pieces is there when all of them are") {
  CHECK_THAT(Says(SwapStepProgram(0, 2)), Catch::Contains("of x: it is read before all of it has arrived"));
  CHECK_THAT(Says(SwapStepProgram(1, 3)), Catch::Contains("of x: it is read before all of it has arrived"));
  CHECK_THAT(Says(SwapStepProgram(0, 0)), Catch::Contains("of x: it is read and holds nothing yet"));
}

TEST_CASE("contents: copies keep to their tensor") {
  CHECK_THAT(Broken(RecomputeProgram(), [](Program& p) { p.buffers[p.copies[0].to].tensor = SmallStep::dy; }),
             Catch::Contains("of dy: buffer 0 holds another tensor"));
}

TEST_CASE("step: the input comes from the host, which has it from the start") {
  // Without its first upload conv reads nothing; without a host buffer the input is on the device already.
  CHECK_THAT(Broken(RecomputeProgram(), [](Program& p) { p.code.erase(p.code.begin() + 1); }),
             Catch::Contains("(kernel conv), buffer 1 of in: it is read and holds nothing yet"));
  CHECK(Broken(RecomputeProgram(), [](Program& p) {
          p.copies.clear();
          std::erase_if(p.code, [](const Instruction& in) { return in.opcode == Opcode::kCopy; });
          p.buffers[0].tensor = kNoTensor;
          // Only the first buffer of the input holds it then; the second one copies from nowhere.
        }).find("(kernel bfilter)") != std::string::npos);
}

// A step of one op that updates a parameter which lives on the host between steps.
TEST_CASE("step: what lives on the host returns to it") {
  StepBuilder s;
  const TensorId w = s.Tensor("w", TensorClass::kParameter, 100);
  s.Op("update", {w}, {w});
  for (const bool back : {true, false}) {
    ProgramBuilder p;
    const BufferId host = p.Host(100, w), device = p.Device(100, w);
    p.Alloc(kIn, device);
    p.Copy(kIn, host, device);
    p.Wait(kCompute, p.Record(kIn));
    p.Kernel({Up(device)}, 0);
    p.Wait(kOut, p.Record(kCompute));
    if (back) p.Copy(kOut, device, host);
    p.Free(kOut, device);
    CHECK(Says(p.Build(s.Build()), s.Build()) ==
          (back ? "" : "step, buffer 0 of w on the host: its last version does not return to the host\n"));
  }
}

TEST_CASE("step: a whole op is launched as what it is") {
  const Program safe = RecomputeProgram();
  for (const Kernel& kernel : safe.kernels) {
    Program changed = safe;
    changed.launches[kernel.launch].shape.in.n += 1;
    CHECK(Says(changed).find("the launch is of another shape or kind than the op") != std::string::npos);
    changed = safe;
    changed.launches[kernel.launch].workspace = 100;  // how it is computed is the plan's to say
    changed.launches[kernel.launch].algorithm = 1;
    CHECK(Says(changed) == "");
  }
}

// A gradient that two ops add to.
TEST_CASE("step: accumulation reads what the first writer left") {
  StepBuilder s;
  const TensorId in = s.Tensor("in", TensorClass::kInput, 100), g = s.Tensor("g", TensorClass::kGradient, 100);
  s.Op("b1", {in}, {g});
  s.Op("b2", {in, g}, {g});
  const TrainingStep step = s.Build();
  // The second op finds the gradient in the buffer of the first, or in an empty one.
  for (const bool same : {true, false}) {
    ProgramBuilder p;
    const BufferId x = p.Device(100, in), y = p.Device(100, g), z = p.Device(100, g);
    for (const BufferId buffer : {x, y, z}) p.Alloc(kCompute, buffer);
    p.Kernel({Rd(x), Wr(y)}, 0);
    p.Kernel({Rd(x), Up(same ? y : z)}, 1);
    for (const BufferId buffer : {x, y, z}) p.Free(kCompute, buffer);
    CHECK(Says(p.Build(step), step).empty() == same);
  }
}

}  // namespace
}  // namespace spillway
