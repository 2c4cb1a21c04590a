// The operands of a measured kernel in the device's memory: sets that take turns (calibrate/ops/operands.h), filled
// with random numbers and with the results of the forward op, and the rest that a kernel is given. Operands that the op
// finds fresh in its step are written once more, not timed, from a copy of their contents.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_OPERANDS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_OPERANDS_H_

#include <vector>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/measure/plan.h"
#include "calibrate/ops/operands.h"

namespace spillway {

class CudaOperandSets {
 public:
  // All must outlive it; it has the blocks "ring", "kept", "labels", "statistics" and "forward" of `memory` for itself.
  // The device is idle at the end. DeviceError: the forward op is refused. UserError: the operands do not fit.
  CudaOperandSets(const BenchNetwork& network, OpId op, BenchProtocol protocol, CudaCalls& calls,
                  CudaBenchMemory& memory, CudaStream* stream);
  OperandRing& ring() { return ring_; }
  const OperandRing& ring() const { return ring_; }
  void Rewind(int runs);         // so many runs find a set each, in memory
  void Freshen(std::byte* set);  // on the stream
  // Of a run on that set; good until the next call.
  CudaArguments ArgumentsOn(std::byte* set, void* workspace, std::uint64_t random_stream);

 private:
  void MakeLabels();
  void MakeSaved(std::byte* set, int number);
  void KeepFreshOnes();

  const BenchNetwork& network_;
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  CudaStream* stream_;
  OperandRing ring_;
  const OperandRing::Fill fill_ = [this](std::byte* at, const BenchOperand& operand) {
    memory_.Fill(at, operand.bytes, operand.sparse, stream_);
  };
  OperandRing::Places places_;
  std::vector<std::byte*> kept_;  // contents of OperandRing::fresh()
  void* labels_ = nullptr;
  void* statistics_ = nullptr;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_OPERANDS_H_
