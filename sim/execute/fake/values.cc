#include "sim/execute/fake/values.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>

#include "hw/text/lists.h"
#include "model/util/hash.h"

namespace spillway {

namespace {

bool IsWritten(Access access) { return access != Access::kRead; }

std::span<const Operand> OperandsOf(const Program& program, const Kernel& kernel) {
  return {program.operands.data() + kernel.operands, kernel.operand_count};
}

// The step in core: what each op reads and writes.
class StepReference {
 public:
  StepReference(const TrainingStep& step, const std::vector<Fingerprint>& start) : step_(step), value_(start) {
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      reads_.emplace_back();
      for (const TensorId t : step.ops[op].reads) reads_.back().push_back(value_[Index(t)]);
      writes_.emplace_back();
      for (const TensorId t : step.ops[op].writes) writes_.back().push_back(Result(op, t));
      for (std::size_t k = 0; k < writes_.back().size(); ++k) value_[Index(step.ops[op].writes[k])] = writes_.back()[k];
    }
  }
  Fingerprint Read(OpId op, TensorId t) const { return Find(step_.ops[Index(op)].reads, reads_[Index(op)], t); }
  Fingerprint Written(OpId op, TensorId t) const { return Find(step_.ops[Index(op)].writes, writes_[Index(op)], t); }
  const std::vector<Fingerprint>& after() const { return value_; }

 private:
  // From the op and all that it reads.
  Fingerprint Result(std::size_t op, TensorId t) const {
    Hasher hash;
    for (const Fingerprint value : reads_[op]) hash.Add(value);
    return Fresh('r', hash.Value(), op << 32 | Index(t));
  }
  static Fingerprint Find(const std::vector<TensorId>& list, const std::vector<Fingerprint>& values, TensorId t) {
    const auto it = std::find(list.begin(), list.end(), t);
    return it == list.end() ? kNothing : values[static_cast<std::size_t>(it - list.begin())];
  }

  const TrainingStep& step_;
  std::vector<Fingerprint> value_;                        // by tensor
  std::vector<std::vector<Fingerprint>> reads_, writes_;  // by op, as in the op's lists
};

// Of a box of a tensor, dense: its value, and zeros outside of the tensor.
ExpectedRead ReadOfBox(const Tensor& tensor, const Box& box, Fingerprint value) {
  const Bytes bytes = BytesOf(tensor, box);
  Contents contents;
  contents.Set(0, bytes, kZeroes);
  const Box inside = Intersection(box, WholeOf(tensor.shape));
  ForEachRun(RunsOf(tensor, box, box, inside),
             [&](Bytes from, Bytes, Bytes run) { contents.Set(from, from + run, value); });
  return {ExpectedRead::Kind::kDigest, bytes, contents.Digest(0, bytes)};
}

// The sums that several kernels add up: which kernels write the same places of an op's result.
class Sums {
 public:
  Sums(const Program& program, const TrainingStep& step) : program_(program), step_(step) {
    for (std::uint32_t i = 0; i < program.code.size() && !program.boxes.empty(); ++i) {
      const Instruction& in = program.code[i];
      if (in.opcode != Opcode::kKernel) continue;
      const Kernel& kernel = program.kernels[in.arg];
      if (kernel.op == kNoOp) continue;
      for (const Operand& operand : OperandsOf(program, kernel)) writers_[KeyOf(kernel, operand)].push_back(i);
    }
  }
  // Whether the next one adds to what instruction i leaves there.
  bool GoesOn(std::uint32_t i, const Operand& operand) const {
    const auto found = writers_.find(KeyOf(program_.kernels[program_.code[i].arg], operand));
    if (found == writers_.end()) return false;
    const auto next = std::upper_bound(found->second.begin(), found->second.end(), i);
    if (next == found->second.end()) return false;
    return program_.launches[program_.kernels[program_.code[*next].arg].launch].accumulate;
  }

 private:
  using Key = std::tuple<OpId, TensorId, std::array<std::int64_t, kAxes>, std::array<std::int64_t, kAxes>>;
  Key KeyOf(const Kernel& kernel, const Operand& operand) const {
    const TensorId t = program_.buffers[operand.buffer].tensor;
    if (program_.buffers[operand.buffer].kind == BufferKind::kWorkspace || t == kNoTensor) return {};
    const Box box = BoxIn(program_, operand.buffer, operand.box, step_);
    return {kernel.op, t, box.begin, box.end};
  }
  const Program& program_;
  const TrainingStep& step_;
  std::map<Key, std::vector<std::uint32_t>> writers_;  // instructions
};

// A recomputation may find a result of its op in place, such as a dropout mask, and only read it.
ExpectedRead ReadOf(const TrainingStep& step, const StepReference& reference, const Kernel& kernel, TensorId t) {
  if (kernel.op == kNoOp || t == kNoTensor) return {};
  const Op& op = step.ops[Index(kernel.op)];
  const bool found = kernel.recomputation && Contains(op.writes, t);
  if (!Contains(op.reads, t) && !found) return {};
  const Fingerprint value = Contains(op.reads, t) ? reference.Read(kernel.op, t) : reference.Written(kernel.op, t);
  const Bytes bytes = step.tensors[Index(t)].bytes;
  return {ExpectedRead::Kind::kDigest, bytes, DigestOf(bytes, value)};
}

// What a part adds to holds something, whatever it is.
ExpectedRead ReadOfPart(const Program& program, const TrainingStep& step, const StepReference& reference,
                        const Kernel& kernel, const Operand& operand) {
  const TensorId t = program.buffers[operand.buffer].tensor;
  const Tensor& tensor = step.tensors[Index(t)];
  const Box box = BoxIn(program, operand.buffer, operand.box, step);
  const Op& op = step.ops[Index(kernel.op)];
  if (Contains(op.writes, t) && program.launches[kernel.launch].accumulate) {
    return {ExpectedRead::Kind::kComplete, BytesOf(tensor, box), kNothing};
  }
  if (Contains(op.reads, t)) return ReadOfBox(tensor, box, reference.Read(kernel.op, t));
  return Contains(op.writes, t) ? ReadOfBox(tensor, box, reference.Written(kernel.op, t)) : ExpectedRead{};
}

}  // namespace

std::vector<std::uint32_t> PartsOfOps(const Program& program, const TrainingStep& step) {
  std::vector<std::uint32_t> kernels(step.ops.size(), 0);
  std::vector<bool> in_parts(step.ops.size(), false);
  for (const Instruction& in : program.code) {
    if (in.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[in.arg];
    if (kernel.op == kNoOp || kernel.recomputation) continue;
    ++kernels[Index(kernel.op)];
    for (const Operand& operand : OperandsOf(program, kernel)) {
      const bool box = operand.box != kWhole || program.buffers[operand.buffer].box != kWhole;
      if (box) in_parts[Index(kernel.op)] = true;
    }
  }
  for (std::size_t op = 0; op < kernels.size(); ++op) kernels[op] = in_parts[op] ? std::max(kernels[op], 1U) : 1;
  return kernels;
}

ExpectedValues ValuesOfStep(const Program& program, const TrainingStep& step, const std::vector<Fingerprint>& start) {
  const StepReference reference(step, start);
  const Sums sums(program, step);
  ExpectedValues expected;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    expected.first.push_back(static_cast<std::uint32_t>(expected.reads.size()));
    if (in.opcode == Opcode::kCopy) {
      const Copy& copy = program.copies[in.arg];
      const TensorId t = program.buffers[copy.from].tensor;
      const bool boxed = IsBoxed(program, copy);  // looked at run by run
      const Bytes end = boxed ? 0 : t == kNoTensor ? copy.offset + copy.bytes : step.tensors[Index(t)].bytes;
      expected.reads.push_back(
          {ExpectedRead::Kind::kComplete, std::clamp<Bytes>(end - copy.offset, 0, copy.bytes), kNothing});
      expected.writes.push_back(kNothing);
    }
    if (in.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[in.arg];
    for (const Operand& operand : OperandsOf(program, kernel)) {
      const Buffer& buffer = program.buffers[operand.buffer];
      const bool tensor = buffer.kind != BufferKind::kWorkspace && buffer.tensor != kNoTensor;
      const bool of_step = tensor && kernel.op != kNoOp;
      const bool adds = of_step && !program.boxes.empty() && program.launches[kernel.launch].accumulate &&
                        Contains(step.ops[Index(kernel.op)].writes, buffer.tensor);
      expected.reads.push_back(tensor ? ReadOf(step, reference, kernel, buffer.tensor) : ExpectedRead{});
      if (of_step && (adds || operand.box != kWhole || buffer.box != kWhole)) {
        expected.reads.back() = ReadOfPart(program, step, reference, kernel, operand);
      }
      const bool result = of_step && !sums.GoesOn(i, operand);
      expected.writes.push_back(result ? reference.Written(kernel.op, buffer.tensor) : Fresh('w', i));
    }
  }
  expected.after = reference.after();
  return expected;
}

std::vector<Fingerprint> HostAtStart(const Program& program) {
  std::vector<Fingerprint> start(program.buffers.size(), kNothing);
  for (BufferId b = 0; b < start.size(); ++b) {
    if (program.buffers[b].kind == BufferKind::kHost) start[b] = Fresh('h', b);
  }
  for (const Copy& copy : program.copies) start[copy.to] = kNothing;
  return start;
}

namespace {

// The Program in list order, every buffer in memory of its own.
class ListReference {
 public:
  explicit ListReference(const Program& program) : program_(program), contents_(program.buffers.size()) {
    const std::vector<Fingerprint> start = HostAtStart(program);
    for (BufferId b = 0; b < start.size(); ++b) contents_[b].Set(0, program.buffers[b].bytes, start[b]);
    for (std::uint32_t i = 0; i < program.code.size(); ++i) Run(i, program.code[i]);
  }
  ExpectedValues Take() { return std::move(expected_); }

 private:
  void Run(std::uint32_t i, const Instruction& in) {
    expected_.first.push_back(static_cast<std::uint32_t>(expected_.reads.size()));
    if (in.opcode == Opcode::kAlloc || in.opcode == Opcode::kFree) contents_[in.arg] = {};
    if (in.opcode == Opcode::kCopy) RunCopy(program_.copies[in.arg]);
    if (in.opcode == Opcode::kKernel) RunKernel(i, OperandsOf(program_, program_.kernels[in.arg]));
  }
  void Read(BufferId b, Bytes begin, Bytes bytes) {
    expected_.reads.push_back({ExpectedRead::Kind::kDigest, bytes, contents_[b].Digest(begin, begin + bytes)});
  }
  void RunCopy(const Copy& copy) {
    Read(copy.from, copy.offset, copy.bytes);
    expected_.writes.push_back(kNothing);
    contents_[copy.to].CopyFrom(contents_[copy.from], copy.offset, copy.offset, copy.bytes);
  }
  void RunKernel(std::uint32_t i, std::span<const Operand> operands) {
    for (const Operand& operand : operands) {
      Read(operand.buffer, 0, program_.buffers[operand.buffer].bytes);
      expected_.writes.push_back(Fresh('k', i, operand.buffer));
    }
    for (const Operand& operand : operands) {
      if (IsWritten(operand.access)) {
        contents_[operand.buffer].Set(0, program_.buffers[operand.buffer].bytes, Fresh('k', i, operand.buffer));
      }
    }
  }

  const Program& program_;
  std::vector<Contents> contents_;  // by buffer
  ExpectedValues expected_;
};

}  // namespace

ExpectedValues ValuesOfList(const Program& program) { return ListReference(program).Take(); }

}  // namespace spillway
