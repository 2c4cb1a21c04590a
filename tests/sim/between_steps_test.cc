// Clause 10 of sim/program/program.h: what the next step begins with is there, in its last version.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/resting_step.h"

namespace spillway {
namespace {

// w in a buffer throughout. Behind f0 its value goes over the host to a second buffer, in which u updates it:
//
//   w     alloc  f0  out ...                          free
//   more                   in ...............  u  free             freed_first; else it is freed last
auto PlaceOf(Program& p, OpId op) {
  return std::find_if(p.code.begin(), p.code.end(), [&](const Instruction& in) {
    return in.opcode == Opcode::kKernel && p.kernels[in.arg].op == op;
  });
}
Program UpdatedElsewhere(Program p, bool freed_first) {
  const auto of_w = [](const Buffer& b) { return b.tensor == RestingStep::kW && b.kind == BufferKind::kTensor; };
  const auto w = static_cast<BufferId>(std::find_if(p.buffers.begin(), p.buffers.end(), of_w) - p.buffers.begin());
  const auto more = static_cast<BufferId>(p.buffers.size()), host = more + 1;
  const auto out = static_cast<StreamId>(p.streams.size()), in = static_cast<StreamId>(out + 1);
  const auto copy_out = static_cast<std::uint32_t>(p.copies.size());
  const EventId read = p.events, left = read + 1, there = left + 1;
  p.events += 3;
  p.buffers.push_back({.bytes = kAllocationUnit, .offset = p.PeakAddress(), .tensor = RestingStep::kW});
  p.buffers.push_back({.bytes = kAllocationUnit, .tensor = RestingStep::kW, .kind = BufferKind::kHost});
  p.streams.push_back({0, StreamKind::kDeviceToHost});
  p.streams.push_back({0, StreamKind::kHostToDevice});
  p.copies.push_back({.from = w, .to = host, .bytes = kAllocationUnit, .direction = Direction::kDeviceToHost});
  p.copies.push_back({.from = host, .to = more, .bytes = kAllocationUnit, .direction = Direction::kHostToDevice});
  const std::vector<Instruction> moves = {{.opcode = Opcode::kRecord, .arg = read},
                                          {.opcode = Opcode::kWait, .stream = out, .arg = read},
                                          {.opcode = Opcode::kCopy, .stream = out, .arg = copy_out},
                                          {.opcode = Opcode::kRecord, .stream = out, .arg = left},
                                          {.opcode = Opcode::kWait, .stream = in, .arg = left},
                                          {.opcode = Opcode::kAlloc, .stream = in, .arg = more},
                                          {.opcode = Opcode::kCopy, .stream = in, .arg = copy_out + 1},
                                          {.opcode = Opcode::kRecord, .stream = in, .arg = there}};
  p.code.insert(PlaceOf(p, RestingStep::kF0) + 1, moves.begin(), moves.end());
  p.code.insert(PlaceOf(p, RestingStep::kU), {.opcode = Opcode::kWait, .arg = there});
  const Kernel& update = p.kernels[PlaceOf(p, RestingStep::kU)->arg];
  for (std::uint32_t k = 0; k < update.operand_count; ++k) {
    BufferId& operand = p.operands[update.operands + k].buffer;
    if (operand == w) operand = more;
  }
  const auto end = freed_first ? PlaceOf(p, RestingStep::kU) + 1 : p.code.end();
  p.code.insert(end, {.opcode = Opcode::kFree, .arg = more});
  return p;
}

TEST_CASE("what the next step begins with is the last version, where the step before left it") {
  const RestingStep s;
  const auto says = [&s](const Program& program) {
    std::string text;
    for (const Violation& violation : Verify(program, &s.step)) text += violation.message + "\n";
    const ExecuteResult ran = FakeRun(program, &s.step, {}, {.iterations = 2, .debug = true});
    CHECK(ran.failure.has_value() == !text.empty());
    return text;
  };
  CHECK_THAT(says(UpdatedElsewhere(s.Lowered(), true)),
             Catch::StartsWith("step, buffer ") &&
                 Catch::EndsWith("of w: it is freed last, and does not hold the last version\n"));
  CHECK(says(UpdatedElsewhere(s.Lowered(), false)).empty());  // execute() moves it
}

TEST_CASE("a value lies in one host buffer between steps") {
  RestingStep s;
  s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF1);
  Program program = s.Lowered();
  const auto copy_in = std::find_if(program.code.begin(), program.code.end(),
                                    [](const Instruction& in) { return in.opcode == Opcode::kCopy; });
  REQUIRE(copy_in != program.code.end());
  Copy again = program.copies[copy_in->arg];
  program.buffers.push_back(program.buffers[again.from]);
  again.from = static_cast<BufferId>(program.buffers.size() - 1);
  Instruction second = *copy_in;
  second.arg = static_cast<std::uint32_t>(program.copies.size());
  program.copies.push_back(again);
  program.code.insert(copy_in + 1, second);
  const std::vector<Violation> violations = Verify(program, &s.step);
  REQUIRE(violations.size() == 1);
  CHECK_THAT(violations[0].message,
             Catch::StartsWith("clause 10, ") &&
                 Catch::Contains("of c on the host: the step begins with its value, and with that of buffer "));
}

}  // namespace
}  // namespace spillway
