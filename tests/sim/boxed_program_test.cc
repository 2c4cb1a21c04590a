// Ops in parts: Programs in which kernels touch boxes of tensors. What is right is proved, and each way to get it wrong is
// told.
#include "tests/boxed_program.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "model/profile/machine.h"
#include "model/unroll/unroll.h"
#include "sim/engine/simulate.h"
#include "sim/verify/verify.h"
#include "tests/boxed_network.h"

namespace spillway {
namespace {

using PartsOf = std::function<std::vector<ConvolutionPart>(const Op&, std::int64_t)>;

struct Case {
  TrainingStep step = BuildTrainingStep(BoxedNetwork());
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  Program in_core = InCoreProgram(step, costs);
  BoxedProgram Boxed() const { return {in_core, step}; }
  OpId Op(const std::string& name) const { return OpNamed(step, name); }
  std::string Says(const Program& program) const { return FirstViolation(program, step); }
  std::string SaysOf(const std::string& op, const PartsOf& parts, std::int64_t count) const {
    BoxedProgram boxed = Boxed();
    boxed.Divide(Op(op), parts(step.ops[Index(Op(op))], count));
    return Says(boxed.program);
  }
};

const std::vector<std::string> kPasses = {":forward", ":backward_data", ":backward_filter"};

}  // namespace

TEST_CASE("a convolution may run in parts along samples, channels and rows") {
  const Case c;
  REQUIRE(c.Says(c.in_core).empty());
  for (const char* const layer : {"strided", "grouped"}) {
    for (const std::string& pass : kPasses) CHECK(c.SaysOf(std::string(layer) + pass, SampleParts, 3).empty());
  }
  for (const std::string& pass : kPasses) {
    INFO(pass);
    CHECK(c.SaysOf("strided" + pass, InputChannelParts, 2).empty());
    CHECK(c.SaysOf("strided" + pass, OutputChannelParts, 3).empty());
  }
  for (const char* const op :
       {"plain:forward", "plain:backward_filter", "strided:forward", "strided:backward_filter"}) {
    for (const std::int64_t parts : {2, 3, 5}) {
      INFO(op << " " << parts);
      CHECK(c.SaysOf(op, RowParts, parts).empty());
    }
  }
}

TEST_CASE("all convolutions of a step at once, and what that costs") {
  const Case c;
  BoxedProgram boxed = c.Boxed();
  Nanos more = 0;
  for (OpId op = 0; op < static_cast<OpId>(c.step.ops.size()); ++op) {
    const spillway::Op& o = c.step.ops[Index(op)];
    if (o.kind != OpKind::kConvolution) continue;
    boxed.Divide(op, SampleParts(o, 2));
    for (const int part : {0, 1}) more += c.costs.Kernel(boxed.LaunchOf(op, part)).time;
    more -= c.costs.Kernel(LaunchOf(o)).time;
  }
  CHECK(c.Says(boxed.program).empty());
  Scratch scratch;
  const auto time = [&](const Program& program) {
    return Simulate(program, Durations(program, c.costs), Conditions{}, scratch).makespan;
  };
  const Nanos whole = time(c.in_core), parts = time(boxed.program);
  CHECK(parts == whole + more);
  const std::string text = DumpProgram(boxed.program, &c.step);
  CHECK(text.find("strided:forward r=b") != text.npos);
  CHECK(text.find("[2:4]x[0:8]x[0:1]x[0:9]x[0:8]") != text.npos);
}

TEST_CASE("an op that computes each sample by itself may run in parts of the batch") {
  const Case c;
  const auto divide = [&](const std::string& name, std::int64_t first_of_second) {
    BoxedProgram boxed = c.Boxed();
    const OpId id = c.Op(name);
    const std::size_t at = boxed.InstructionOf(id);
    const Instruction whole = boxed.program.code[at];
    const Kernel kernel = boxed.program.kernels[whole.arg];
    boxed.program.code.erase(boxed.program.code.begin() + static_cast<std::ptrdiff_t>(at));
    for (const auto& [begin, end] :
         {std::pair{first_of_second, std::int64_t{4}}, std::pair{std::int64_t{0}, std::int64_t{2}}}) {
      Kernel part = kernel;
      Launch launch = boxed.program.launches[kernel.launch];
      launch.shape.in.n = launch.shape.out.n = end - begin;
      part.launch = static_cast<std::uint32_t>(boxed.program.launches.size());
      boxed.program.launches.push_back(launch);
      part.operands = static_cast<std::uint32_t>(boxed.program.operands.size());
      for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
        Operand operand = boxed.program.operands[kernel.operands + k];
        const TensorId t = boxed.program.buffers[operand.buffer].tensor;
        operand.box = static_cast<BoxId>(boxed.program.boxes.size());
        boxed.program.boxes.push_back(WithRange(WholeOf(c.step.tensors[Index(t)].shape), kBatchAxis, begin, end));
        boxed.program.operands.push_back(operand);
      }
      boxed.program.code.insert(
          boxed.program.code.begin() + static_cast<std::ptrdiff_t>(at),
          {whole.opcode, whole.stream, whole.cause, 0, static_cast<std::uint32_t>(boxed.program.kernels.size())});
      boxed.program.kernels.push_back(part);
    }
    return c.Says(boxed.program);
  };
  CHECK(divide("relu:forward", 2).empty());
  CHECK(divide("relu:backward", 2).empty());
  CHECK(divide("sum:forward", 2).empty());
  CHECK(divide("relu:forward", 1).find("computed twice") != std::string::npos);
  CHECK(divide("relu:forward", 3).find("which [2:3]") != std::string::npos);
  CHECK(divide("loss:forward", 2).find("softmax_loss has no parts") != std::string::npos);
}

TEST_CASE("parts that are not those of the op are told") {
  const Case c;
  const OpId forward = c.Op("strided:forward"), filter = c.Op("strided:backward_filter");
  const auto says = [&](OpId op, const PartsOf& parts, const std::function<void(BoxedProgram&)>& change) {
    BoxedProgram boxed = c.Boxed();
    boxed.Divide(op, parts(c.step.ops[Index(op)], 2));
    REQUIRE(c.Says(boxed.program).empty());
    change(boxed);
    return c.Says(boxed.program);
  };
  const auto told = [](const std::string& text, const char* what) {
    INFO(text);
    CHECK(text.find(what) != text.npos);
  };
  const auto drop = [](OpId op, int part) {
    return [op, part](BoxedProgram& boxed) {
      boxed.program.code.erase(boxed.program.code.begin() + static_cast<std::ptrdiff_t>(boxed.InstructionOf(op, part)));
    };
  };
  const TensorId x = c.step.ops[Index(forward)].reads[0], y = c.step.ops[Index(forward)].writes[0];
  const TensorId w = c.step.ops[Index(forward)].reads[1];

  // A part left out: the next op finds nothing there, or half a sum.
  told(says(forward, SampleParts, drop(forward, 1)), "the op reads version 1, which [2:4]");
  told(says(filter, SampleParts, drop(filter, 1)), "the op reads version 1");
  told(says(filter, SampleParts, drop(filter, 0)), "it adds to a sum that nothing has begun");
  // A part twice.
  const auto repeat = [](OpId op) {
    return [op](BoxedProgram& boxed) {
      const std::size_t at = boxed.InstructionOf(op, 1);
      const Instruction again = boxed.program.code[at];
      boxed.program.code.insert(boxed.program.code.begin() + static_cast<std::ptrdiff_t>(at), again);
    };
  };
  told(says(forward, SampleParts, repeat(forward)), "places of the result are computed twice");
  told(says(filter, SampleParts, repeat(filter)), "it adds");
  // What is summed: begun again, never added, added to what is no sum.
  told(says(filter, SampleParts,
            [&](BoxedProgram& boxed) {
              boxed.LaunchOf(filter, 1).accumulate = false;
              const Kernel& kernel = boxed.KernelOf(filter, 1);
              for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
                Operand& operand = boxed.program.operands[kernel.operands + k];
                if (operand.access == Access::kReadWrite) operand.access = Access::kWrite;
              }
            }),
       "the op reads version 1");
  told(says(forward, SampleParts, [&](BoxedProgram& boxed) { boxed.LaunchOf(forward, 1).accumulate = true; }),
       "the op updates it in place");
  // A halo row short, one too many, padding in the middle of the image, none at its edge.
  told(says(forward, RowParts,
            [&](BoxedProgram& boxed) {
              --boxed.BoxOf(forward, 0, x).end[kHeightAxis];
              --boxed.LaunchOf(forward, 0).shape.in.h;
            }),
       "gives another number of outputs");
  told(says(forward, RowParts,
            [&](BoxedProgram& boxed) {
              --boxed.BoxOf(forward, 0, x).end[kHeightAxis];
              --boxed.LaunchOf(forward, 0).shape.in.h;
              ++boxed.LaunchOf(forward, 0).shape.pad[1].end;
            }),
       "a window reaches places that the part does not read");
  told(says(forward, RowParts,
            [&](BoxedProgram& boxed) {
              ++boxed.BoxOf(forward, 1, x).begin[kHeightAxis];
              --boxed.LaunchOf(forward, 1).shape.in.h;
              ++boxed.LaunchOf(forward, 1).shape.pad[1].begin;
            }),
       "a window reaches places that the part does not read");
  told(says(forward, RowParts, [&](BoxedProgram& boxed) { --boxed.LaunchOf(forward, 0).shape.pad[1].begin; }),
       "the launch pads 1");
  // Other samples, other channels, another launch.
  told(
      says(forward, SampleParts, [&](BoxedProgram& boxed) { boxed.BoxOf(forward, 1, x) = boxed.BoxOf(forward, 0, x); }),
      "input and output differ in samples");
  told(says(forward, InputChannelParts,
            [&](BoxedProgram& boxed) { boxed.BoxOf(forward, 1, w) = boxed.BoxOf(forward, 0, w); }),
       "weight and input differ in input channels");
  told(says(forward, OutputChannelParts,
            [&](BoxedProgram& boxed) { boxed.BoxOf(forward, 1, y) = boxed.BoxOf(forward, 0, y); }),
       "weight and output differ in output channels");
  told(says(forward, SampleParts, [&](BoxedProgram& boxed) { ++boxed.LaunchOf(forward, 0).shape.in.n; }),
       "the launch is of 3x8x9x8 -> ");
  told(says(forward, SampleParts, [&](BoxedProgram& boxed) { boxed.LaunchOf(forward, 0).shape.stride[1] = 1; }),
       "the launch has another window");
  // Places that the tensor has not, boxes that are not there.
  told(says(forward, SampleParts, [&](BoxedProgram& boxed) { ++boxed.BoxOf(forward, 1, x).end[kBatchAxis]; }),
       "is not all in it");
  told(says(forward, SampleParts,
            [&](BoxedProgram& boxed) { boxed.program.operands[boxed.KernelOf(forward, 0).operands].box = 1000; }),
       "there is no box 1000");
  told(c.SaysOf("grouped:forward", OutputChannelParts, 2), "channels of a grouped convolution are not divided");
}

TEST_CASE("parts may name all that a buffer holds; what is divided is copied whole") {
  const Case c;
  const OpId filter = c.Op("strided:backward_filter"), forward = c.Op("strided:forward");
  BoxedProgram sums = c.Boxed();
  sums.Divide(filter, SampleParts(c.step.ops[Index(filter)], 2));
  for (const int part : {0, 1}) {
    const Kernel& kernel = sums.KernelOf(filter, part);
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      Operand& operand = sums.program.operands[kernel.operands + k];
      if (operand.access != Access::kRead) operand.box = kWhole;
    }
  }
  CHECK(c.Says(sums.program).empty());

  BoxedProgram tiles = c.Boxed();
  tiles.Stream(forward, 3);
  CHECK(c.Says(tiles.program).empty());
  const std::size_t out = c.in_core.copies.size(), tile = out + 1, result = out + 2;
  const auto says = [&](const std::function<void(Program&)>& change) {
    Program changed = tiles.program;
    change(changed);
    return c.Says(changed);
  };
  CHECK(says([&](Program& p) { p.copies[out].bytes /= 2; }).find("copied in pieces") != std::string::npos);
  CHECK(says([&](Program& p) { p.copies[tile].fill = false; }).find("does not hold") != std::string::npos);
  CHECK(says([&](Program& p) { ++p.copies[tile].rows; }).find("and its box has") != std::string::npos);
  CHECK(says([&](Program& p) { p.copies[result].fill = true; }).find("filled up") != std::string::npos);
  CHECK(says([&](Program& p) { p.copies[result] = p.copies[result + 2]; }) != "");  // a tile of the output never leaves
}

TEST_CASE("an op runs whole or in parts, not both") {
  const Case c;
  const OpId op = c.Op("plain:forward");
  BoxedProgram boxed = c.Boxed();
  const Instruction whole = boxed.program.code[boxed.InstructionOf(op)];
  boxed.Divide(op, SampleParts(c.step.ops[Index(op)], 2));
  boxed.program.code.insert(boxed.program.code.begin() + static_cast<std::ptrdiff_t>(boxed.InstructionOf(op)), whole);
  CHECK(c.Says(boxed.program).find("the op ran already") != std::string::npos);
}

TEST_CASE("an op after parts waits for all of them") {
  const Case c;
  BoxedProgram boxed = c.Boxed();
  const OpId op = c.Op("plain:forward");
  boxed.Divide(op, SampleParts(c.step.ops[Index(op)], 2));
  const std::size_t at = boxed.InstructionOf(op, 1);
  std::size_t next = at + 1;
  while (boxed.program.code[next].opcode != Opcode::kKernel) ++next;
  std::swap(boxed.program.code[at].arg, boxed.program.code[next].arg);
  CHECK_FALSE(c.Says(boxed.program).empty());
}

}  // namespace spillway
