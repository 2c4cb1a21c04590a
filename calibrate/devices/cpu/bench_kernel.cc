#include "calibrate/devices/cpu/bench_kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "calibrate/measure/refused.h"

namespace spillway {
namespace {

constexpr Bytes kAlignment = 512;
constexpr Bytes kLine = 64;
// Sets of tiny ops: enough for a timing of many runs.
constexpr int kMostSets = 512;

// Leaves memory as a kernel that has just written it does, without changing it.
void WriteAgain(std::byte* at, Bytes bytes) {
  for (Bytes i = 0; i < bytes; i += kLine) {
    auto* const place = reinterpret_cast<volatile std::byte*>(at + i);
    *place = *place;
  }
}

}  // namespace

KernelSubject::KernelSubject(const BenchNetwork& network, OpId op, std::int32_t algorithm, BenchProtocol protocol,
                             CpuKernels& kernels, BenchMemory& memory)
    : network_(network),
      op_(op),
      node_(network.step.ops[static_cast<std::size_t>(op)]),
      kernels_(kernels),
      memory_(memory) {
  OpCall call = CallOf(network.step.ops[Index(op)]);
  call.launch.algorithm = algorithm;
  call.launch.workspace = kUsualWorkspace;
  kernel_ = &kernels.Prepare(call);
  grants_workspace_ = HasAlgorithms(node_.kind);
  LayOut(protocol);
  const Shape& in = node_.shape.in;
  if (node_.kind == OpKind::kBatchNorm) statistics_.assign(2 * static_cast<std::size_t>(in.c), 1.0f);
  const std::int64_t labels = TraitsOf(node_.kind).labels ? in.n * in.Spatial() : 0;
  for (std::int64_t k = 0; k < labels; ++k) labels_.push_back(static_cast<std::int32_t>(k % in.c));
  FillSets();
}

void KernelSubject::LayOut(BenchProtocol protocol) {
  rotates_ = protocol != BenchProtocol::kWarm;
  freshens_ = protocol == BenchProtocol::kStep;
  const Bytes reach = memory_.last_cache() / 2;
  operands_ = BenchOperands(network_.step, op_, reach);
  fresh_workspace_ =
      grants_workspace_ && kernel_->workspace() <= reach && FindsWorkspaceFresh(network_.step, op_, reach);
  const auto offset_of = [&](TensorId tensor) {
    return std::find_if(operands_.begin(), operands_.end(), [&](const BenchOperand& o) { return o.tensor == tensor; })
        ->offset;
  };
  for (const TensorId tensor : node_.reads) reads_.push_back(offset_of(tensor));
  for (const TensorId tensor : node_.writes) writes_.push_back(offset_of(tensor));
  for (const BenchOperand& operand : operands_) set_bytes_ = operand.offset + RoundUp(operand.bytes, kAlignment);
  workspace_ = set_bytes_;
  if (grants_workspace_) set_bytes_ += RoundUp(kernel_->workspace(), kAlignment);
  if (rotates_) {
    sets_ = static_cast<int>(std::clamp<Bytes>(memory_.RingBytes() / std::max<Bytes>(set_bytes_, 1), 1, kMostSets));
  }
  const Bytes available = AvailableMemory();
  if (available >= 0 && set_bytes_ > available / 2) {
    throw NoRoom(node_.name + " of " + network_.name + ": its operands take " + FormatBytes(set_bytes_) +
                 ", too much of the " + FormatBytes(available) + " that this machine has to spare");
  }
  ring_ = memory_.Ring(std::max(memory_.RingBytes(), set_bytes_ * sets_));
  // The op before wrote last what is freshest.
  std::stable_sort(operands_.begin(), operands_.end(),
                   [](const BenchOperand& a, const BenchOperand& b) { return a.since > b.since; });
}

void KernelSubject::FillSets() {
  for (int k = 0; k < sets_; ++k) {
    for (const BenchOperand& operand : operands_) {
      memory_.Fill(SetAt(k) + operand.offset, operand.bytes, operand.sparse);
    }
    if (NeedsForward(node_)) MakeSaved(SetAt(k), k);
  }
  scratch_ = grants_workspace_ ? nullptr : memory_.Scratch(kernel_->workspace());
  if (rotates_) memory_.Evict();
}

// Runs the forward op: what it shares with this one in the set, the rest beside.
void KernelSubject::MakeSaved(std::byte* set, int number) {
  const OpId forward = ForwardOf(network_.step, node_);
  if (forward == kNoOp) return;
  const Op& op = network_.step.ops[static_cast<std::size_t>(forward)];
  const CpuKernel& kernel = kernels_.Prepare(CallOf(network_.step.ops[Index(forward)]));
  Bytes needed = RoundUp(kernel.workspace(), kAlignment);
  std::vector<Bytes> places;
  const std::vector<BenchOperand> operands = BenchOperands(network_.step, forward, 0);
  for (const BenchOperand& operand : operands) needed += RoundUp(operand.bytes, kAlignment);
  std::byte* const beside = memory_.Scratch(needed);
  const auto place = [&](TensorId tensor) -> void* {
    for (const BenchOperand& mine : operands_) {
      if (mine.tensor == tensor) return set + mine.offset;
    }
    for (const BenchOperand& operand : operands) {
      if (operand.tensor != tensor) continue;
      memory_.Fill(beside + RoundUp(kernel.workspace(), kAlignment) + operand.offset, operand.bytes, operand.sparse);
      return beside + RoundUp(kernel.workspace(), kAlignment) + operand.offset;
    }
    return nullptr;
  };
  std::vector<void*> reads, writes;
  for (const TensorId tensor : op.reads) reads.push_back(place(tensor));
  for (const TensorId tensor : op.writes) writes.push_back(place(tensor));
  kernel.Run({.reads = reads,
              .writes = writes,
              .workspace = beside,
              .random_stream = static_cast<std::uint64_t>(number),
              .labels = labels_,
              .running_statistics = statistics_});
}

void KernelSubject::Prepare(int runs) {
  if (!rotates_) return;
  if (next_ + runs > sets_) {
    // Sets that fill the ring have left the caches by themselves.
    if (set_bytes_ * sets_ < memory_.last_cache()) memory_.Evict();
    next_ = 0;
  }
  if (!freshens_) return;
  memory_.Disturb();
  for (int k = 0; k < runs; ++k) {
    std::byte* const set = SetAt((next_ + k) % sets_);
    if (fresh_workspace_) WriteAgain(set + workspace_, kernel_->workspace());
    for (const BenchOperand& operand : operands_) {
      if (operand.fresh) WriteAgain(set + operand.offset, operand.bytes);
    }
  }
}

void KernelSubject::RunOn(std::byte* set) {
  constexpr std::size_t kMost = 8;
  std::array<void*, kMost> few_reads{}, few_writes{};
  std::vector<void*> many;
  std::span<void*> reads(few_reads.data(), std::min(reads_.size(), kMost));
  std::span<void*> writes(few_writes.data(), std::min(writes_.size(), kMost));
  if (std::max(reads_.size(), writes_.size()) > kMost) {
    many.resize(reads_.size() + writes_.size());
    reads = std::span(many).first(reads_.size());
    writes = std::span(many).subspan(reads_.size());
  }
  for (std::size_t k = 0; k < reads_.size(); ++k) reads[k] = set + reads_[k];
  for (std::size_t k = 0; k < writes_.size(); ++k) writes[k] = set + writes_[k];
  kernel_->Run({.reads = reads,
                .writes = writes,
                .workspace = grants_workspace_ ? set + workspace_ : scratch_,
                .random_stream = stream_++,
                .labels = labels_,
                .running_statistics = statistics_});
}

void KernelSubject::Run(int runs) {
  for (int k = 0; k < runs; ++k) {
    RunOn(SetAt(rotates_ ? next_ : 0));
    if (rotates_) next_ = (next_ + 1) % sets_;
  }
}

}  // namespace spillway
