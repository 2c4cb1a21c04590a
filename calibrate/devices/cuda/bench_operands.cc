#include "calibrate/devices/cuda/bench_operands.h"

#include <cstring>

#include "calibrate/ops/training_state.h"

namespace spillway {
namespace {

constexpr int kMostSets = 256;  // of tiny ops

}  // namespace

CudaOperandSets::CudaOperandSets(const BenchNetwork& network, OpId op, BenchProtocol protocol, CudaCalls& calls,
                                 CudaBenchMemory& memory, CudaStream* stream)
    : network_(network),
      calls_(calls),
      memory_(memory),
      stream_(stream),
      ring_(network.step, op, protocol, {memory.l2_cache(), memory.RingBytes(), kMostSets}) {
  if (ring_.op().kind == OpKind::kBatchNorm) {
    const Bytes bytes = 2 * ring_.op().shape.in.c * static_cast<Bytes>(sizeof(float));
    statistics_ = memory_.Block("statistics").AtLeast(bytes);
    calls_.Fill(statistics_, 0, bytes, stream_);
  }
  ring_.Use(memory_.Block("ring").AtLeast(ring_.bytes()));
  MakeLabels();
  ring_.FillSets(fill_, [this](std::byte* set, int number) { MakeSaved(set, number); });
  KeepFreshOnes();
  if (protocol != BenchProtocol::kWarm) memory_.Evict(stream_);
  calls_.Synchronize(stream_);
}

void CudaOperandSets::MakeLabels() {
  const std::vector<std::int32_t> classes = ring_.Labels();
  if (classes.empty()) return;
  const std::vector<float> rows = OneHot(ring_.op().shape.in, classes);
  const auto bytes = static_cast<Bytes>(rows.size() * sizeof(float));
  std::byte* const host = memory_.Block("labels on the host", CudaPlace::kPinned).AtLeast(bytes);
  std::memcpy(host, rows.data(), static_cast<std::size_t>(bytes));
  labels_ = memory_.Block("labels").AtLeast(bytes);
  calls_.Copy(labels_, host, bytes, Direction::kHostToDevice, stream_);
  calls_.Synchronize(stream_);
}

// Runs the forward op: what it shares with this one in the set, the rest beside.
void CudaOperandSets::MakeSaved(std::byte* set, int number) {
  const std::unique_ptr<CudaKernel> kernel = calls_.Prepare(CallOf(network_.step.ops[Index(ring_.forward())]));
  const Bytes workspace = RoundUp(kernel->workspace(), OperandRing::kAlignment);
  std::byte* const beside = memory_.Block("forward").AtLeast(workspace + ring_.ForwardBytes());
  const OperandRing::Places places = ring_.PlaceForward(set, beside + workspace, fill_);
  kernel->Run(stream_, {.reads = places.reads,
                        .writes = places.writes,
                        .workspace = beside,
                        .random_stream = static_cast<std::uint64_t>(number),
                        .labels = labels_,
                        .running_statistics = statistics_});
  calls_.Synchronize(stream_);  // the kernel goes
}

void CudaOperandSets::KeepFreshOnes() {
  Bytes bytes = 0;
  for (const BenchOperand& operand : ring_.fresh()) bytes += RoundUp(operand.bytes, OperandRing::kAlignment);
  if (bytes == 0) return;
  std::byte* at = memory_.Block("kept").AtLeast(bytes);
  for (const BenchOperand& operand : ring_.fresh()) {
    calls_.CopyOnDevice(at, ring_.Set(0) + operand.offset, operand.bytes, stream_);
    kept_.push_back(at);
    at += RoundUp(operand.bytes, OperandRing::kAlignment);
  }
}

void CudaOperandSets::Rewind(int runs) {
  if (ring_.Rewind(runs)) memory_.Evict(stream_);
}

void CudaOperandSets::Freshen(std::byte* set) {
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    const BenchOperand& operand = ring_.fresh()[k];
    calls_.CopyOnDevice(set + operand.offset, kept_[k], operand.bytes, stream_);
  }
}

CudaArguments CudaOperandSets::ArgumentsOn(std::byte* set, void* workspace, std::uint64_t random_stream) {
  ring_.PlaceIn(set, &places_);
  return {.reads = places_.reads,
          .writes = places_.writes,
          .workspace = workspace,
          .random_stream = random_stream,
          .labels = labels_,
          .running_statistics = statistics_};
}

}  // namespace spillway
