// First pass of Verify(): indices, streams, events, and that every buffer is allocated once and freed once.
#include <fmt/format.h>

#include <algorithm>

#include "sim/verify/verify_internal.h"

namespace spillway::verifying {

namespace {

class Structure {
 public:
  Structure(const Program& program, const TrainingStep* step, Report& report)
      : program_(program), step_(step), report_(report), end_(static_cast<InstructionIndex>(program.code.size())) {}

  Lifetimes Run() {
    CheckTables();
    for (InstructionIndex i = 0; i < end_; ++i) CheckArgument(i);
    if (!report_.empty()) return {};
    CheckEvents();
    FindLifetimes();
    for (InstructionIndex i = 0; i < end_; ++i) CheckPlace(i);
    return std::move(lifetimes_);
  }

 private:
  void Broken(InstructionIndex at, BufferId buffer, const std::string& what) {
    report_.Add("structure", at, buffer, what);
  }

  void CheckTables() {
    for (const Kernel& kernel : program_.kernels) CheckKernelRow(kernel);
    for (const Operand& operand : program_.operands) {
      const int access = static_cast<int>(operand.access);
      if (operand.buffer >= program_.buffers.size()) Broken(end_, operand.buffer, "an operand names no such buffer");
      if (access < 1 || access > 3) Broken(end_, operand.buffer, "an operand is neither read nor written");
      CheckBox(operand.buffer, operand.box);
    }
    for (BufferId b = 0; b < program_.buffers.size(); ++b) CheckBufferRow(b);
    for (const Copy& copy : program_.copies) CheckCopyRow(copy);
  }

  void CheckKernelRow(const Kernel& kernel) {
    const std::size_t count = program_.operands.size();
    const std::size_t ops = step_ == nullptr ? 0 : step_->ops.size();
    if (kernel.operands > count || kernel.operand_count > count - kernel.operands) {
      Broken(end_, kNoBuffer,
             fmt::format("a kernel has operands {}+{} of {}", kernel.operands, kernel.operand_count, count));
    }
    if (kernel.launch >= program_.launches.size()) Broken(end_, kNoBuffer, "a kernel names no such launch");
    if (kernel.op < kNoOp || (step_ != nullptr && kernel.op >= 0 && static_cast<std::size_t>(kernel.op) >= ops)) {
      Broken(end_, kNoBuffer, fmt::format("a kernel names op {} of {}", kernel.op, ops));
    }
  }

  void CheckCopyRow(const Copy& copy) {
    for (const BufferId b : {copy.from, copy.to}) {
      if (b >= program_.buffers.size()) {
        Broken(end_, b, "a copy names no such buffer");
      } else if (copy.bytes <= 0 || copy.offset < 0 || copy.offset > program_.buffers[b].bytes - copy.bytes) {
        Broken(end_, b,
               fmt::format("a copy of {} bytes from byte {} on, and a buffer of {}", copy.bytes, copy.offset,
                           program_.buffers[b].bytes));
      }
    }
    if (copy.rows < 1) Broken(end_, copy.from, "a copy has no rows");
    CheckBox(copy.from, copy.box);
    CheckBox(copy.to, copy.box);
    if (step_ != nullptr && report_.empty() && IsBoxed(program_, copy)) CheckBoxedCopy(copy);
  }

  // What `box` names is there, and in the buffer.
  void CheckBox(BufferId b, BoxId box) {
    if (box == kWhole || b >= program_.buffers.size()) return;
    if (box >= program_.boxes.size() || program_.boxes[box].Elements() == 0) {
      return Broken(end_, b, fmt::format("there is no box {}", box));
    }
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind == BufferKind::kWorkspace) return Broken(end_, b, "a workspace has no boxes");
    if (step_ != nullptr && !IsOfStep(buffer)) return Broken(end_, b, "it names a box and is of no tensor");
    if (step_ == nullptr || (buffer.box != kWhole && buffer.box >= program_.boxes.size())) return;
    if (Contains(HeldBy(program_, b, *step_), program_.boxes[box])) return;
    Broken(end_, b, fmt::format("{} is not all in it", BoxText(program_.boxes[box])));
  }

  bool IsOfStep(const Buffer& buffer) const {
    return buffer.tensor >= 0 && static_cast<std::size_t>(buffer.tensor) < step_->tensors.size();
  }

  // A box is copied at once: bytes and rows are what the boxes say.
  void CheckBoxedCopy(const Copy& copy) {
    for (const BufferId b : {copy.from, copy.to}) {
      if (!IsOfStep(program_.buffers[b])) return Broken(end_, b, "a copy of a box, and it is of no tensor");
    }
    if (copy.fill && copy.direction != Direction::kHostToDevice) {
      return Broken(end_, copy.to, "only what is copied to the device is filled up");
    }
    const Box both = Intersection(HeldBy(program_, copy.from, *step_), HeldBy(program_, copy.to, *step_));
    if (both.Elements() == 0) return Broken(end_, copy.to, "the buffers of a copy hold nothing in common");
    const BoxRuns runs = RunsOfCopy(program_, copy, *step_);
    if (copy.bytes == runs.Total() && copy.offset == 0 && copy.rows == runs.Rows()) return;
    Broken(end_, copy.to,
           fmt::format("a copy of {} bytes in {} rows from byte {} on, and its box has {} in {}", copy.bytes, copy.rows,
                       copy.offset, runs.Total(), runs.Rows()));
  }

  void CheckBufferRow(BufferId b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.bytes < 0) Broken(end_, b, "it has a negative size");
    if (buffer.box != kWhole && (buffer.box >= program_.boxes.size() || program_.boxes[buffer.box].Elements() == 0)) {
      return Broken(end_, b, fmt::format("there is no box {}", buffer.box));
    }
    if (step_ == nullptr || buffer.tensor == kNoTensor) return;
    const auto tensor = static_cast<std::size_t>(buffer.tensor);
    if (buffer.tensor < 0 || tensor >= step_->tensors.size()) {
      Broken(end_, b, "the step has no such tensor");
    } else if (buffer.kind != BufferKind::kWorkspace) {
      const Tensor& of = step_->tensors[tensor];
      const std::int64_t elements = of.shape.Elements();
      if (buffer.box != kWhole && (elements <= 0 || of.bytes % elements != 0)) {
        return Broken(end_, b, "it names a box of a tensor whose elements have no size");
      }
      const Bytes needed = buffer.box == kWhole ? of.bytes : BytesOf(of, program_.boxes[buffer.box]);
      if (buffer.bytes < needed) Broken(end_, b, fmt::format("{} bytes are too few for {}", buffer.bytes, needed));
    }
  }

  void CheckArgument(InstructionIndex i) {
    const Instruction& instruction = program_.code[i];
    if (instruction.stream >= program_.streams.size()) Broken(i, kNoBuffer, "there is no such stream");
    if (instruction.arg >= Rows(instruction.opcode)) {
      Broken(i, kNoBuffer, fmt::format("{} is out of range", instruction.arg));
    }
  }

  std::size_t Rows(Opcode opcode) const {
    switch (opcode) {
      case Opcode::kKernel:
        return program_.kernels.size();
      case Opcode::kCopy:
        return program_.copies.size();
      case Opcode::kAlloc:
      case Opcode::kFree:
        return program_.buffers.size();
      case Opcode::kRecord:
      case Opcode::kWait:
      case Opcode::kHostSync:
        return program_.events;
    }
    return 0;
  }

  void CheckEvents() {
    std::vector<InstructionIndex> record(program_.events, kNowhere);
    for (InstructionIndex i = 0; i < end_; ++i) {
      const Instruction& in = program_.code[i];
      if (in.opcode == Opcode::kRecord) {
        if (record[in.arg] != kNowhere) {
          report_.Add("clause 2", i, kNoBuffer, fmt::format("event {} was recorded at {}", in.arg, record[in.arg]));
        }
        record[in.arg] = i;
      } else if (in.opcode == Opcode::kWait || in.opcode == Opcode::kHostSync) {
        if (record[in.arg] == kNowhere) {
          report_.Add("clause 2", i, kNoBuffer, fmt::format("event {} is not recorded before", in.arg));
        }
      }
    }
    for (EventId e = 0; e < program_.events; ++e) {
      if (record[e] == kNowhere) report_.Add("clause 2", end_, kNoBuffer, fmt::format("event {} is never recorded", e));
    }
  }

  void FindLifetimes() {
    lifetimes_.alloc.assign(program_.buffers.size(), kNowhere);
    lifetimes_.free.assign(program_.buffers.size(), kNowhere);
    for (InstructionIndex i = 0; i < end_; ++i) {
      const Instruction& in = program_.code[i];
      if (in.opcode != Opcode::kAlloc && in.opcode != Opcode::kFree) continue;
      InstructionIndex& at = in.opcode == Opcode::kAlloc ? lifetimes_.alloc[in.arg] : lifetimes_.free[in.arg];
      if (program_.buffers[in.arg].kind == BufferKind::kHost) {
        report_.Add("clause 3", i, in.arg, "host buffers exist throughout");
      } else if (at != kNowhere) {
        report_.Add("clause 3", i, in.arg, fmt::format("the same was done at {}", at));
      } else if (in.opcode == Opcode::kFree && lifetimes_.alloc[in.arg] == kNowhere) {
        report_.Add("clause 3", i, in.arg, "it is freed before it is allocated");
      }
      at = i;
    }
    for (BufferId b = 0; b < program_.buffers.size(); ++b) {
      if (program_.buffers[b].kind == BufferKind::kHost) continue;
      if (lifetimes_.alloc[b] == kNowhere) report_.Add("clause 3", end_, b, "it is never allocated");
      if (lifetimes_.free[b] == kNowhere) report_.Add("clause 3", end_, b, "it is never freed");
    }
  }

  // Streams run what is meant for them, on their device.
  void CheckPlace(InstructionIndex i) {
    const Instruction& in = program_.code[i];
    const Stream& stream = program_.streams[in.stream];
    if (in.opcode == Opcode::kCopy) {
      CheckCopyPlace(i, program_.copies[in.arg], stream);
    } else if (in.opcode == Opcode::kKernel) {
      if (stream.kind != StreamKind::kCompute) Broken(i, kNoBuffer, "a kernel on a copy stream");
      ForEachAccess(program_, in, [&](BufferId b, Access) { CheckDevice(i, b, stream); });
    } else if (in.opcode == Opcode::kAlloc || in.opcode == Opcode::kFree) {
      CheckDevice(i, in.arg, stream);
    }
  }

  void CheckDevice(InstructionIndex i, BufferId b, const Stream& stream) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind == BufferKind::kHost || buffer.place != stream.device) {
      Broken(i, b, fmt::format("it is not on device {}", stream.device));
    }
  }

  void CheckCopyPlace(InstructionIndex i, const Copy& copy, const Stream& stream) {
    const bool in = copy.direction == Direction::kHostToDevice;
    const StreamKind own = in ? StreamKind::kHostToDevice : StreamKind::kDeviceToHost;
    if (stream.kind != StreamKind::kCopy && stream.kind != own) {
      Broken(i, kNoBuffer, "the stream does not copy in this direction");
    }
    const BufferId host = in ? copy.from : copy.to;
    if (program_.buffers[host].kind != BufferKind::kHost) Broken(i, host, "it is not on the host");
    CheckDevice(i, in ? copy.to : copy.from, stream);
  }

  const Program& program_;
  const TrainingStep* step_;
  Report& report_;
  InstructionIndex end_;
  Lifetimes lifetimes_;
};

}  // namespace

Lifetimes CheckStructure(const Program& program, const TrainingStep* step, Report& report) {
  return Structure(program, step, report).Run();
}

}  // namespace spillway::verifying
