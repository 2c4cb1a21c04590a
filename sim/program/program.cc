#include "sim/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spillway {

namespace {

const char* const kOpcodeNames[kOpcodes] = {"kernel", "copy", "alloc", "free", "record", "wait", "sync"};
const char* const kCauseNames[] = {"none", "data", "swap-in", "swap-out", "memory", "produced", "barrier"};
const char* const kStreamNames[] = {"compute", "h2d", "d2h", "copy"};
const char* const kBufferNames[] = {"tensor", "workspace", "host"};
const char* const kMemoryNames[] = {"arena", "pool", "counted"};
const char* const kAccessNames[] = {"", "r", "w", "rw"};

std::string BufferText(const Program& program, BufferId id, const TrainingStep* step) {
  const Buffer& buffer = program.buffers[id];
  std::string name = fmt::format("b{}", id);
  if (step != nullptr && buffer.tensor != kNoTensor) {
    name += ":" + step->tensors[static_cast<std::size_t>(buffer.tensor)].name;
  }
  if (buffer.kind == BufferKind::kWorkspace) name += ":workspace";
  if (buffer.kind == BufferKind::kHost) name += ":host";
  return name;
}

std::string BoxedText(const Program& program, BoxId box) { return box == kWhole ? "" : BoxText(program.boxes[box]); }

std::string KernelText(const Program& program, const Kernel& kernel, const TrainingStep* step) {
  std::string text = step != nullptr && kernel.op != kNoOp ? step->ops[static_cast<std::size_t>(kernel.op)].name
                                                           : fmt::format("op{}", kernel.op);
  if (kernel.recomputation) text += " (again)";
  for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
    const Operand& operand = program.operands[kernel.operands + k];
    text += fmt::format(" {}={}{}", kAccessNames[static_cast<int>(operand.access)],
                        BufferText(program, operand.buffer, step), BoxedText(program, operand.box));
  }
  return text;
}

std::string ArgumentText(const Program& program, const Instruction& instruction, const TrainingStep* step) {
  switch (instruction.opcode) {
    case Opcode::kKernel:
      return KernelText(program, program.kernels[instruction.arg], step);
    case Opcode::kCopy: {
      const Copy& copy = program.copies[instruction.arg];
      const std::string piece = copy.offset > 0 ? fmt::format(" from byte {}", copy.offset) : "";
      const std::string rows = copy.rows > 1 ? fmt::format(" in {} rows", copy.rows) : "";
      const std::string link = copy.link > 0 ? fmt::format(" over link {}", copy.link) : "";
      const std::string fill = copy.fill ? " and zeros" : "";
      return fmt::format("{} -> {} {}{} B{}{}{}{}", BufferText(program, copy.from, step),
                         BufferText(program, copy.to, step), BoxedText(program, copy.box), copy.bytes, piece, rows,
                         fill, link);
    }
    case Opcode::kAlloc:
    case Opcode::kFree: {
      const Buffer& buffer = program.buffers[instruction.arg];
      std::string at = buffer.offset >= 0 ? fmt::format(" @{}", buffer.offset) : std::string();
      return fmt::format("{}{} {} B{}", BufferText(program, instruction.arg, step), BoxedText(program, buffer.box),
                         buffer.bytes, at);
    }
    case Opcode::kRecord:
      return fmt::format("e{}", instruction.arg);
    case Opcode::kWait:
    case Opcode::kHostSync:
      return fmt::format("e{} ({})", instruction.arg, CauseName(instruction.cause));
  }
  return {};
}

}  // namespace

const char* OpcodeName(Opcode opcode) { return kOpcodeNames[static_cast<int>(opcode)]; }
const char* BufferKindName(BufferKind kind) { return kBufferNames[static_cast<int>(kind)]; }
const char* StreamKindName(StreamKind kind) { return kStreamNames[static_cast<int>(kind)]; }
const char* ProgramMemoryName(ProgramMemory memory) { return kMemoryNames[static_cast<int>(memory)]; }
const char* CauseName(Cause cause) { return kCauseNames[static_cast<int>(cause)]; }

Box HeldBy(const Program& program, BufferId buffer, const TrainingStep& step) {
  const Buffer& held = program.buffers[buffer];
  return held.box == kWhole ? WholeOf(step.tensors[Index(held.tensor)].shape) : program.boxes[held.box];
}

Box BoxIn(const Program& program, BufferId buffer, BoxId box, const TrainingStep& step) {
  return box == kWhole ? HeldBy(program, buffer, step) : program.boxes[box];
}

BoxRuns RunsOfOperand(const Program& program, const Operand& operand, const TrainingStep& step) {
  const Box held = HeldBy(program, operand.buffer, step);
  const Tensor& tensor = step.tensors[Index(program.buffers[operand.buffer].tensor)];
  return RunsOf(tensor, held, held, BoxIn(program, operand.buffer, operand.box, step));
}

bool IsBoxed(const Program& program, const Copy& copy) {
  return copy.fill || copy.box != kWhole || program.buffers[copy.from].box != program.buffers[copy.to].box;
}

// A tile and the tensor: what both hold.
BoxRuns RunsOfCopy(const Program& program, const Copy& copy, const TrainingStep& step) {
  const Box from = HeldBy(program, copy.from, step), to = HeldBy(program, copy.to, step);
  const Box box = copy.box == kWhole ? Intersection(from, to) : program.boxes[copy.box];
  return RunsOf(step.tensors[Index(program.buffers[copy.from].tensor)], from, to, box);
}

Bytes Program::HostBytes() const {
  Bytes sum = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.kind == BufferKind::kHost) sum += buffer.bytes;
  }
  return sum;
}

Bytes Program::PeakAddress() const {
  Bytes peak = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.kind != BufferKind::kHost && buffer.offset >= 0) peak = std::max(peak, buffer.offset + buffer.bytes);
  }
  return peak;
}

std::vector<Nanos> Durations(const Program& program, const CostModel& costs) {
  std::vector<Nanos> launch_time(program.launches.size());
  for (std::size_t i = 0; i < launch_time.size(); ++i) launch_time[i] = costs.Kernel(program.launches[i]).time;
  std::vector<Nanos> durations(program.code.size(), 0);
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Instruction& instruction = program.code[i];
    if (instruction.opcode == Opcode::kKernel) {
      durations[i] = launch_time[program.kernels[instruction.arg].launch];
    } else if (instruction.opcode == Opcode::kCopy) {
      const Copy& copy = program.copies[instruction.arg];
      const int device = program.streams[instruction.stream].device;
      durations[i] = costs.Copy(copy.bytes, copy.direction, device, copy.rows).time;
    }
  }
  return durations;
}

std::string DumpProgram(const Program& program, const TrainingStep* step) {
  std::string text;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& instruction = program.code[i];
    const Stream& stream = program.streams[instruction.stream];
    text += fmt::format("{:5} {:<7} {:<6} {}\n", i, StreamKindName(stream.kind), OpcodeName(instruction.opcode),
                        ArgumentText(program, instruction, step));
  }
  return text;
}

}  // namespace spillway
