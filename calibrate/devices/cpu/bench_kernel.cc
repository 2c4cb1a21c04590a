#include "calibrate/devices/cpu/bench_kernel.h"

#include <algorithm>

#include "calibrate/measure/refused.h"

namespace spillway {
namespace {

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

OpCall CallOfAlgorithm(const Op& op, std::int32_t algorithm) {
  OpCall call = CallOf(op);
  call.launch.algorithm = algorithm;
  call.launch.workspace = kUsualWorkspace;
  return call;
}

}  // namespace

KernelSubject::KernelSubject(const BenchNetwork& network, OpId op, std::int32_t algorithm, BenchProtocol protocol,
                             CpuKernels& kernels, BenchMemory& memory)
    : memory_(memory),
      kernel_(kernels.Prepare(CallOfAlgorithm(network.step.ops[Index(op)], algorithm))),
      ring_(network.step, op, protocol, {memory.last_cache(), memory.RingBytes(), kMostSets},
            HasAlgorithms(network.step.ops[Index(op)].kind) ? kernel_.workspace() : 0),
      freshens_(protocol == BenchProtocol::kStep),
      workspace_turns_(HasAlgorithms(ring_.op().kind)) {
  const Bytes reach = memory.last_cache() / 2;
  fresh_workspace_ = workspace_turns_ && kernel_.workspace() <= reach && FindsWorkspaceFresh(network.step, op, reach);
  const Shape& in = ring_.op().shape.in;
  if (ring_.op().kind == OpKind::kBatchNorm) statistics_.assign(2 * static_cast<std::size_t>(in.c), 1.0f);
  labels_ = ring_.Labels();
  MapRing(network);
  ring_.FillSets(fill_, [&](std::byte* set, int number) { MakeSaved(network, kernels, set, number); });
  if (!workspace_turns_) scratch_ = memory_.Scratch(kernel_.workspace());
  if (protocol != BenchProtocol::kWarm) memory_.Evict();
}

void KernelSubject::MapRing(const BenchNetwork& network) {
  const Bytes available = AvailableMemory();
  if (available >= 0 && ring_.set_bytes() > available / 2) {
    throw NoRoom(ring_.op().name + " of " + network.name + ": its operands take " + FormatBytes(ring_.set_bytes()) +
                 ", too much of the " + FormatBytes(available) + " that this machine has to spare");
  }
  ring_.Use(memory_.Ring(std::max(memory_.RingBytes(), ring_.bytes())));
}

// Runs the forward op: what it shares with this one in the set, the rest beside.
void KernelSubject::MakeSaved(const BenchNetwork& network, CpuKernels& kernels, std::byte* set, int number) {
  const CpuKernel& kernel = kernels.Prepare(CallOf(network.step.ops[Index(ring_.forward())]));
  const Bytes workspace = RoundUp(kernel.workspace(), OperandRing::kAlignment);
  std::byte* const beside = memory_.Scratch(workspace + ring_.ForwardBytes());
  const OperandRing::Places places = ring_.PlaceForward(set, beside + workspace, fill_);
  kernel.Run({.reads = places.reads,
              .writes = places.writes,
              .workspace = beside,
              .random_stream = static_cast<std::uint64_t>(number),
              .labels = labels_,
              .running_statistics = statistics_});
}

void KernelSubject::Prepare(int runs) {
  if (ring_.Rewind(runs)) memory_.Evict();
  if (!freshens_) return;
  memory_.Disturb();
  for (int k = 0; k < runs; ++k) {
    std::byte* const set = ring_.Ahead(k);
    if (fresh_workspace_) WriteAgain(set + ring_.more(), kernel_.workspace());
    for (const BenchOperand& operand : ring_.fresh()) WriteAgain(set + operand.offset, operand.bytes);
  }
}

void KernelSubject::RunOn(std::byte* set) {
  ring_.PlaceIn(set, &places_);
  kernel_.Run({.reads = places_.reads,
               .writes = places_.writes,
               .workspace = workspace_turns_ ? set + ring_.more() : scratch_,
               .random_stream = stream_++,
               .labels = labels_,
               .running_statistics = statistics_});
}

void KernelSubject::Run(int runs) {
  for (int k = 0; k < runs; ++k) {
    RunOn(ring_.Ahead(0));
    ring_.Advance(1);
  }
}

}  // namespace spillway
