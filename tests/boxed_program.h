// Programs in which convolutions run in parts, made from such as run them whole.
//
//   BoxedProgram boxed(program, step);
//   boxed.Divide(op, SampleParts(step.ops[op], 2));   // two kernels in place of one
//   boxed.program
#ifndef SPILLWAY_TESTS_BOXED_PROGRAM_H_
#define SPILLWAY_TESTS_BOXED_PROGRAM_H_

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/step_tables.h"
#include "tests/violations.h"

namespace spillway {

// What one part of a convolution works on, whatever the pass.
struct ConvolutionPart {
  Box in, weight, out;
  std::array<Padding, 3> pad{};
};

inline ConvolutionPart WholeConvolution(const Op& op) {
  const OpShape& s = op.shape;
  const Shape weight{s.out.c, s.in.c / s.groups, s.window[0], s.window[1], s.window[2]};
  return {WholeOf(s.in), WholeOf(weight), WholeOf(s.out), s.pad};
}

inline std::vector<std::pair<std::int64_t, std::int64_t>> EqualRanges(std::int64_t size, std::int64_t parts) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t k = 0; k < parts; ++k) ranges.push_back({size * k / parts, size * (k + 1) / parts});
  return ranges;
}

// One axis of one operand.
struct PartAxis {
  Box ConvolutionPart::*box;
  std::size_t axis;
};

// Equal ranges of `size` places that two operands have in common.
inline std::vector<ConvolutionPart> PartsAlong(const Op& op, std::int64_t size, std::int64_t parts, PartAxis one,
                                               PartAxis other) {
  std::vector<ConvolutionPart> all;
  for (const auto& [begin, end] : EqualRanges(size, parts)) {
    ConvolutionPart part = WholeConvolution(op);
    for (const PartAxis& along : {one, other}) part.*along.box = WithRange(part.*along.box, along.axis, begin, end);
    all.push_back(part);
  }
  return all;
}
inline std::vector<ConvolutionPart> SampleParts(const Op& op, std::int64_t parts) {
  return PartsAlong(op, op.shape.in.n, parts, {&ConvolutionPart::in, kBatchAxis}, {&ConvolutionPart::out, kBatchAxis});
}
inline std::vector<ConvolutionPart> InputChannelParts(const Op& op, std::int64_t parts) {
  return PartsAlong(op, op.shape.in.c, parts, {&ConvolutionPart::in, kChannelAxis},
                    {&ConvolutionPart::weight, kChannelAxis});
}
inline std::vector<ConvolutionPart> OutputChannelParts(const Op& op, std::int64_t parts) {
  return PartsAlong(op, op.shape.out.c, parts, {&ConvolutionPart::weight, kBatchAxis},
                    {&ConvolutionPart::out, kChannelAxis});
}

// Rows of the output and what their windows read; what lies beyond the image is the part's padding. Forward and filter.
inline std::vector<ConvolutionPart> RowParts(const Op& op, std::int64_t parts) {
  const std::int64_t stride = op.shape.stride[1], pad = op.shape.pad[1].begin, window = op.shape.window[1];
  std::vector<ConvolutionPart> all;
  for (const auto& [begin, end] : EqualRanges(op.shape.out.h, parts)) {
    ConvolutionPart part = WholeConvolution(op);
    const std::int64_t first = begin * stride - pad, last = (end - 1) * stride - pad + window;
    part.out = WithRange(part.out, kHeightAxis, begin, end);
    part.in = WithRange(part.in, kHeightAxis, std::max<std::int64_t>(0, first), std::min(op.shape.in.h, last));
    part.pad[1] = {part.in.begin[kHeightAxis] - first, last - part.in.end[kHeightAxis]};
    all.push_back(part);
  }
  return all;
}

class BoxedProgram {
 public:
  BoxedProgram(Program whole, const TrainingStep& step) : program(std::move(whole)), step_(step) {}

  // Replaces the kernel of `op` by one for each part, in this order.
  void Divide(OpId op, const std::vector<ConvolutionPart>& parts) {
    const std::size_t at = InstructionOf(op);
    const Instruction whole = program.code[at];
    const Kernel kernel = program.kernels[whole.arg];
    program.code.erase(program.code.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Instruction part = whole;
      part.arg = AddKernel(kernel, parts[k], k > 0 && IsSummed(op, parts));
      program.code.insert(program.code.begin() + static_cast<std::ptrdiff_t>(at + k), part);
    }
  }

  // Runs forward op `op` in tiles of rows: its input goes to the host, comes back tile by tile with the padding of its
  // edges, and its output goes the same way. One thing at a time.
  void Stream(OpId op, std::int64_t parts) {
    const Op& o = step_.ops[Index(op)];
    const std::size_t at = InstructionOf(op);
    const Kernel kernel = program.kernels[program.code[at].arg];
    const std::vector<Instruction> behind(program.code.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                          program.code.end());
    program.code.resize(at);
    const BufferId x = BufferOf(kernel, o.reads[0]), y = BufferOf(kernel, o.writes[0]);
    const BufferId host_x = HostLike(x), host_y = HostLike(y);
    CopyAll(x, host_x);
    for (ConvolutionPart part : RowParts(o, parts)) {
      part.in.begin[kHeightAxis] -= part.pad[1].begin;
      part.in.end[kHeightAxis] += part.pad[1].end;
      part.pad[1] = {0, 0};
      const BufferId in = Tile(o.reads[0], part.in), out = Tile(o.writes[0], part.out);
      Emit(Opcode::kAlloc, kComputeStream, in);
      Emit(Opcode::kAlloc, kComputeStream, out);
      CopyAll(host_x, in);
      EmitPart(kernel, o, part, in, out);
      CopyAll(out, host_y);
      Emit(Opcode::kFree, kComputeStream, in);
      Emit(Opcode::kFree, kComputeStream, out);
    }
    CopyAll(host_y, y);
    program.code.insert(program.code.end(), behind.begin(), behind.end());
  }

  // The instruction of the `part`-th kernel of `op`.
  std::size_t InstructionOf(OpId op, int part = 0) const {
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const bool of_op = program.code[i].opcode == Opcode::kKernel && program.kernels[program.code[i].arg].op == op;
      if (of_op && part-- == 0) return i;
    }
    return program.code.size();
  }
  spillway::Kernel& KernelOf(OpId op, int part) { return program.kernels[program.code[InstructionOf(op, part)].arg]; }
  Launch& LaunchOf(OpId op, int part) { return program.launches[KernelOf(op, part).launch]; }
  // The box that a part touches of tensor `t`.
  Box& BoxOf(OpId op, int part, TensorId t) {
    const spillway::Kernel& kernel = KernelOf(op, part);
    std::uint32_t k = kernel.operands;
    while (program.buffers[program.operands[k].buffer].tensor != t) ++k;
    return program.boxes[program.operands[k].box];
  }

  Program program;

 private:
  static constexpr StreamId kComputeStream = 0;

  BufferId BufferOf(const spillway::Kernel& kernel, TensorId t) const {
    std::uint32_t k = kernel.operands;
    while (program.buffers[program.operands[k].buffer].tensor != t) ++k;
    return program.operands[k].buffer;
  }
  BufferId HostLike(BufferId b) {
    Buffer host = program.buffers[b];
    host.kind = BufferKind::kHost;
    host.place = 0;
    host.offset = -1;
    return Added(program.buffers, host);
  }
  BufferId Tile(TensorId t, const Box& box) {
    Buffer tile{
        .bytes = RoundToUnit(BytesOf(step_.tensors[Index(t)], box)), .offset = program.PeakAddress(), .tensor = t};
    tile.box = Added(program.boxes, box);
    return Added(program.buffers, tile);
  }
  void Emit(Opcode opcode, StreamId stream, std::uint32_t arg) {
    program.code.push_back({.opcode = opcode, .stream = stream, .arg = arg});
  }
  void Follow(StreamId stream, StreamId before) {
    Emit(Opcode::kRecord, before, program.events);
    Emit(Opcode::kWait, stream, program.events++);
  }
  // What both hold, after all that the compute stream has done, and before all that it will do.
  void CopyAll(BufferId from, BufferId to) {
    const bool out = program.buffers[to].kind == BufferKind::kHost;
    spillway::Copy copy{.from = from, .to = to};
    const TensorId t = program.buffers[from].tensor;
    copy.fill = !out && program.buffers[to].box != kWhole;
    const BoxRuns runs = RunsOfCopy(program, copy, step_);
    copy.bytes = runs.Total();
    copy.rows = static_cast<std::int32_t>(runs.Rows());
    copy.direction = out ? Direction::kDeviceToHost : Direction::kHostToDevice;
    if (program.buffers[from].box == program.buffers[to].box) copy.bytes = step_.tensors[Index(t)].bytes;
    const StreamId stream = StreamOf(out ? StreamKind::kDeviceToHost : StreamKind::kHostToDevice);
    Follow(stream, kComputeStream);
    Emit(Opcode::kCopy, stream, Added(program.copies, copy));
    Follow(kComputeStream, stream);
  }
  StreamId StreamOf(StreamKind kind) const {
    StreamId stream = 0;
    while (program.streams[stream].kind != kind) ++stream;
    return stream;
  }
  void EmitPart(const spillway::Kernel& kernel, const Op& op, const ConvolutionPart& part, BufferId in, BufferId out) {
    const std::uint32_t row = AddKernel(kernel, part, false);
    const spillway::Kernel& added = program.kernels[row];
    for (std::uint32_t k = 0; k < added.operand_count; ++k) {
      Operand& operand = program.operands[added.operands + k];
      const TensorId t = program.buffers[operand.buffer].tensor;
      if (t != op.reads[0] && t != op.writes[0]) continue;
      operand.buffer = t == op.reads[0] ? in : out;
      operand.box = kWhole;
    }
    Emit(Opcode::kKernel, kComputeStream, row);
  }

  // Whether every part adds to all of the result.
  bool IsSummed(OpId op, const std::vector<ConvolutionPart>& parts) const {
    const Op& o = step_.ops[Index(op)];
    return ResultOf(o, parts[0]) == ResultOf(o, parts[1]);
  }
  static const Box& ResultOf(const Op& op, const ConvolutionPart& part) {
    if (op.pass == Pass::kForward) return part.out;
    return op.pass == Pass::kBackwardData ? part.in : part.weight;
  }
  const Box& BoxOfTensor(const Op& op, const ConvolutionPart& part, TensorId t) const {
    if (t == op.writes[0]) return ResultOf(op, part);
    const bool first = t == op.reads[0];
    if (op.pass == Pass::kForward) return first ? part.in : part.weight;
    if (op.pass == Pass::kBackwardData) return first ? part.weight : part.out;
    return first ? part.in : part.out;
  }

  std::uint32_t AddKernel(spillway::Kernel kernel, const ConvolutionPart& part, bool adds) {
    const Op& op = step_.ops[Index(kernel.op)];
    Launch launch = program.launches[kernel.launch];
    launch.shape.in = part.in.Shape();
    launch.shape.out = part.out.Shape();
    launch.shape.pad = part.pad;
    launch.accumulate = launch.accumulate || adds;
    if (adds) GrantMore(kernel, launch, BytesOf(step_.tensors[Index(op.writes[0])], ResultOf(op, part)));
    kernel.launch = Added(program.launches, launch);
    const std::uint32_t first = kernel.operands;
    kernel.operands = static_cast<std::uint32_t>(program.operands.size());
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      Operand operand = program.operands[first + k];
      const Buffer& buffer = program.buffers[operand.buffer];
      if (buffer.kind == BufferKind::kTensor) {
        operand.box = Added(program.boxes, BoxOfTensor(op, part, buffer.tensor));
        if (buffer.tensor == op.writes[0] && launch.accumulate) operand.access = Access::kReadWrite;
      }
      program.operands.push_back(operand);
    }
    return Added(program.kernels, kernel);
  }
  // Some libraries compute the sum beside the result first.
  void GrantMore(const spillway::Kernel& kernel, Launch& launch, Bytes more) {
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      Buffer& buffer = program.buffers[program.operands[kernel.operands + k].buffer];
      if (buffer.kind != BufferKind::kWorkspace) continue;
      buffer.offset = program.PeakAddress();
      buffer.bytes = RoundToUnit(2 * (buffer.bytes + more));
      launch.workspace = buffer.bytes;
    }
  }
  template <typename Row>
  static std::uint32_t Added(std::vector<Row>& rows, const Row& row) {
    rows.push_back(row);
    return static_cast<std::uint32_t>(rows.size() - 1);
  }

  const TrainingStep& step_;
};

inline OpId OpNamed(const TrainingStep& step, const std::string& name) {
  OpId op = 0;
  while (step.ops.at(Index(op)).name != name) ++op;
  return op;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_BOXED_PROGRAM_H_
