#include <vector>

#include "reports/dump/dump_json.h"
#include "sim/program/program.h"

namespace spillway {

namespace {

class ProgramWriter {
 public:
  ProgramWriter(const Evaluation& evaluation, const TrainingStep& step, const CostModel& costs)
      : program_(evaluation.program),
        step_(step),
        costs_(costs),
        durations_(Durations(program_, costs)),
        spans_(program_.code.size()) {
    for (const Span& span : evaluation.timeline.spans) spans_[span.instruction] = &span;
  }

  DumpObject Streams() const {
    DumpObject streams = DumpObject::array();
    for (const Stream& s : program_.streams) {
      streams.push_back({{"id", streams.size()}, {"device", s.device}, {"kind", StreamKindName(s.kind)}});
    }
    return streams;
  }

  DumpObject Buffers() const {
    DumpObject buffers = DumpObject::array();
    for (const Buffer& b : program_.buffers) {
      const bool tensor = b.tensor != kNoTensor;
      buffers.push_back({{"id", buffers.size()},
                         {"kind", BufferKindName(b.kind)},
                         {"place", b.place},
                         {"bytes", b.bytes},
                         {"offset", b.offset < 0 ? DumpObject(nullptr) : DumpObject(b.offset)},
                         {"tensor", tensor ? DumpObject(b.tensor) : DumpObject(nullptr)},
                         {"name", tensor ? DumpObject(step_.tensors[Index(b.tensor)].name) : DumpObject(nullptr)}});
      AddBox(b.box, buffers.back());
    }
    return buffers;
  }

  DumpObject Instructions() const {
    DumpObject instructions = DumpObject::array();
    for (std::size_t i = 0; i < program_.code.size(); ++i) instructions.push_back(InstructionObject(i));
    return instructions;
  }

 private:
  DumpObject InstructionObject(std::size_t i) const {
    const Instruction& in = program_.code[i];
    DumpObject object = {{"id", i}, {"opcode", OpcodeName(in.opcode)}, {"stream", in.stream}};
    switch (in.opcode) {
      case Opcode::kKernel:
        AddKernel(program_.kernels[in.arg], object);
        break;
      case Opcode::kCopy:
        AddCopy(program_.copies[in.arg], object);
        break;
      case Opcode::kAlloc:
      case Opcode::kFree:
        object["buffer"] = in.arg;
        break;
      case Opcode::kRecord:
      case Opcode::kWait:
      case Opcode::kHostSync:
        object["event"] = in.arg;
        if (in.opcode != Opcode::kRecord) object["cause"] = CauseName(in.cause);
        break;
    }
    AddTimes(i, object);
    return object;
  }

  // Work by itself, then where it came to lie, which may be longer where copies and kernels share something.
  void AddTimes(std::size_t i, DumpObject& object) const {
    const Opcode opcode = program_.code[i].opcode;
    if (opcode != Opcode::kKernel && opcode != Opcode::kCopy) return;
    object["duration_ns"] = durations_[i];
    if (spans_[i] == nullptr) return;
    object["start_ns"] = spans_[i]->start;
    object["end_ns"] = spans_[i]->end;
  }

  void AddKernel(const Kernel& kernel, DumpObject& object) const {
    const Launch& launch = program_.launches[kernel.launch];
    object["op"] = kernel.op;
    object["name"] = step_.ops[Index(kernel.op)].name;
    object["recomputation"] = kernel.recomputation;
    DumpObject& operands = object["operands"] = DumpObject::array();
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program_.operands[kernel.operands + k];
      const auto access = static_cast<unsigned>(operand.access);
      operands.push_back({{"buffer", operand.buffer},
                          {"reads", (access & static_cast<unsigned>(Access::kRead)) != 0},
                          {"writes", (access & static_cast<unsigned>(Access::kWrite)) != 0}});
      AddBox(operand.box, operands.back());
    }
    object["cost"] = CostObject(launch, costs_.Kernel(launch));
  }

  void AddCopy(const Copy& copy, DumpObject& object) const {
    object["direction"] = copy.direction == Direction::kHostToDevice ? "host_to_device" : "device_to_host";
    object["from"] = copy.from;
    object["to"] = copy.to;
    object["bytes"] = copy.bytes;
    object["offset"] = copy.offset;
    object["rows"] = copy.rows;
    object["link"] = costs_.machine().links[copy.link].name;
    AddBox(copy.box, object);
    if (copy.fill) object["fill"] = true;
  }

  // What is named of the tensor, per dimension (n, c, d, h, w); nothing where it is all of it.
  void AddBox(BoxId box, DumpObject& object) const {
    if (box == kWhole) return;
    object["box"] = {{"begin", program_.boxes[box].begin}, {"end", program_.boxes[box].end}};
  }

  const Program& program_;
  const TrainingStep& step_;
  const CostModel& costs_;
  std::vector<Nanos> durations_;
  std::vector<const Span*> spans_;  // by instruction
};

}  // namespace

std::string ProgramJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                        const CostModel& costs, const DumpedPoint& point) {
  const ProgramWriter writer(evaluation, step, costs);
  DumpObject document = DumpHead("program", point.network, step.batch, point.machine);
  document["strategy"] = plan.strategy;
  document["capacity_bytes"] = point.capacity;
  document["arena"] = evaluation.program.memory == ProgramMemory::kArena;
  document["memory"] = ProgramMemoryName(evaluation.program.memory);
  document["peak_bytes"] = evaluation.peak_bytes;
  document["step_time_ns"] = evaluation.step_time;
  document["events"] = evaluation.program.events;
  document["streams"] = writer.Streams();
  document["buffers"] = writer.Buffers();
  document["instructions"] = writer.Instructions();
  return DumpText(document);
}

}  // namespace spillway
