// Programs and training steps written by hand, for tests: short enough to be read as a drawing.
//
//   ProgramBuilder p;                       // streams: kCompute, kOut (device to host), kIn (host to device)
//   const BufferId x = p.Device(100), h = p.Host(100);
//   p.Alloc(kCompute, x);
//   p.Kernel({Wr(x)});
//   p.Wait(kOut, p.Record(kCompute));       // the next one on kOut follows the kernel
//   p.Copy(kOut, x, h);
//   p.Free(kOut, x);
//   const Program program = p.Build();
//
// Instructions are issued in the order of the calls. Device buffers get addresses one after another unless told
// otherwise, so none overlap.
#ifndef SPILLWAY_TESTS_PROGRAM_BUILDER_H_
#define SPILLWAY_TESTS_PROGRAM_BUILDER_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "sim/program/program.h"

namespace spillway {

inline constexpr StreamId kCompute = 0, kOut = 1, kIn = 2;

inline Operand Rd(BufferId buffer) { return {buffer, Access::kRead}; }
inline Operand Wr(BufferId buffer) { return {buffer, Access::kWrite}; }
inline Operand Up(BufferId buffer) { return {buffer, Access::kReadWrite}; }  // in place

class ProgramBuilder {
 public:
  ProgramBuilder() {
    program_.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
    program_.launches.resize(1);
  }

  BufferId Device(Bytes bytes, TensorId tensor = kNoTensor) { return DeviceAt(program_.PeakAddress(), bytes, tensor); }
  BufferId DeviceAt(Bytes offset, Bytes bytes, TensorId tensor = kNoTensor) {
    return Add({.bytes = bytes, .offset = offset, .tensor = tensor});
  }
  BufferId Workspace(Bytes bytes) {
    return Add({.bytes = bytes, .offset = program_.PeakAddress(), .kind = BufferKind::kWorkspace});
  }
  BufferId Host(Bytes bytes, TensorId tensor = kNoTensor) {
    return Add({.bytes = bytes, .tensor = tensor, .kind = BufferKind::kHost});
  }

  void Alloc(StreamId stream, BufferId buffer) { Emit(Opcode::kAlloc, stream, buffer); }
  void Free(StreamId stream, BufferId buffer) { Emit(Opcode::kFree, stream, buffer); }
  void Kernel(std::initializer_list<Operand> operands, OpId op = kNoOp, StreamId stream = kCompute) {
    AddKernel(operands, op, false, stream);
  }
  void Again(std::initializer_list<Operand> operands, OpId op) { AddKernel(operands, op, true, kCompute); }
  // kOut copies to the host, any other stream to the device. `bytes` 0: as many as the source has.
  void Copy(StreamId stream, BufferId from, BufferId to, Bytes bytes = 0, Bytes offset = 0) {
    program_.copies.push_back({.from = from,
                               .to = to,
                               .bytes = bytes == 0 ? program_.buffers[from].bytes : bytes,
                               .offset = offset,
                               .direction = stream == kOut ? Direction::kDeviceToHost : Direction::kHostToDevice});
    Emit(Opcode::kCopy, stream, Last(program_.copies.size()));
  }
  EventId Record(StreamId stream) {
    Emit(Opcode::kRecord, stream, program_.events);
    return program_.events++;
  }
  void Wait(StreamId stream, EventId event, Cause cause = Cause::kData) { Emit(Opcode::kWait, stream, event, cause); }
  void Sync(EventId event, Cause cause = Cause::kBarrier) { Emit(Opcode::kHostSync, kCompute, event, cause); }

  Program Build() const { return program_; }
  // Its kernels launched as the ops of the step are.
  Program Build(const TrainingStep& step) const {
    Program program = program_;
    for (spillway::Kernel& kernel : program.kernels) {
      if (kernel.op < 0) continue;
      kernel.launch = static_cast<std::uint32_t>(program.launches.size());
      program.launches.push_back(LaunchOf(step.ops[static_cast<std::size_t>(kernel.op)]));
    }
    return program;
  }

 private:
  static std::uint32_t Last(std::size_t count) { return static_cast<std::uint32_t>(count - 1); }
  BufferId Add(const Buffer& buffer) {
    program_.buffers.push_back(buffer);
    return Last(program_.buffers.size());
  }
  void Emit(Opcode opcode, StreamId stream, std::uint32_t arg, Cause cause = Cause::kNone) {
    program_.code.push_back({.opcode = opcode, .stream = stream, .cause = cause, .arg = arg});
  }
  void AddKernel(std::initializer_list<Operand> operands, OpId op, bool again, StreamId stream) {
    program_.kernels.push_back({.op = op,
                                .operands = static_cast<std::uint32_t>(program_.operands.size()),
                                .operand_count = static_cast<std::uint32_t>(operands.size()),
                                .recomputation = again});
    program_.operands.insert(program_.operands.end(), operands);
    Emit(Opcode::kKernel, stream, Last(program_.kernels.size()));
  }

  Program program_;
};

// Steps of which only the ops' tensors matter. Ops named "b..." are backward, "u..." updates, all others forward.
class StepBuilder {
 public:
  TensorId Tensor(std::string name, TensorClass use, Bytes bytes) {
    spillway::Tensor tensor;
    tensor.name = std::move(name);
    tensor.use = use;
    tensor.bytes = bytes;
    step_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(step_.tensors.size() - 1);
  }
  OpId Op(const std::string& name, std::initializer_list<TensorId> reads, std::initializer_list<TensorId> writes) {
    spillway::Op op;
    op.name = name;
    op.pass = name[0] == 'b' ? Pass::kBackward : name[0] == 'u' ? Pass::kUpdate : Pass::kForward;
    op.reads = reads;
    op.writes = writes;
    step_.ops.push_back(op);
    if (op.pass == Pass::kForward) step_.first_backward = static_cast<OpId>(step_.ops.size());
    if (op.pass != Pass::kUpdate) step_.first_update = static_cast<OpId>(step_.ops.size());
    return static_cast<OpId>(step_.ops.size() - 1);
  }
  TrainingStep Build() const { return step_; }

 private:
  TrainingStep step_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_PROGRAM_BUILDER_H_
