// Kernels of the CPU device as they are measured: on operands in the state in which a training step leaves them.
//
// What a kernel takes depends on where its operands are. In a step most of them are found as they were left one op
// before, or whole passes before: calibrate/ops/operands.h says what its protocols make of that. A convolution's
// workspace takes turns with the operands, and is fresh with kStep if it is no larger than half of the last cache and the
// convolution before ended so shortly ago: in a step it lies where that one had its own.
//
// Contents: normal random numbers, those behind a ReLU with their negative half zero; what a forward op saves for a
// backward one (positions of a maximum, masks, statistics) is made by running it.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_KERNEL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_KERNEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/host/host_memory.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"
#include "calibrate/ops/operands.h"

namespace spillway {

// Memory that the measured kernels share.
class BenchMemory {
 public:
  // Bytes of the cache before memory, and of what a core has for itself; 0 where not known: usual sizes are assumed.
  BenchMemory(Bytes last_cache, Bytes core_cache);

  Bytes last_cache() const { return last_cache_; }
  // Memory of at least so many bytes for the sets; contents are anything.
  std::byte* Ring(Bytes bytes);
  // The usual size of the ring: twice the last cache.
  Bytes RingBytes() const { return 2 * last_cache_; }
  std::byte* Scratch(Bytes bytes);  // for what is not rotated
  // Fills with random numbers.
  void Fill(std::byte* at, Bytes bytes, bool sparse) const;
  // Touches so much else that nothing of the ring stays in a cache. Every second line is written: a step leaves caches
  // full of results, which have to go to memory before anything else can come.
  void Evict() { Touch(RingBytes()); }
  // The same for the core's own cache, where the code of kernels lies too.
  void Disturb() { Touch(2 * core_cache_); }

 private:
  void Touch(Bytes bytes);
  Bytes last_cache_, core_cache_;
  MappedMemory ring_, scratch_, other_;
  Bytes next_ = 0;  // of `other_`
  std::vector<float> dense_, sparse_;
  std::uint64_t sum_ = 0;  // what Touch read, so that it is not optimised away
};

class KernelSubject : public BenchSubject {
 public:
  // `network`, `memory` and `kernels` must outlive it; one subject at a time may use the memory.
  KernelSubject(const BenchNetwork& network, OpId op, std::int32_t algorithm, BenchProtocol protocol,
                CpuKernels& kernels, BenchMemory& memory);
  void Prepare(int runs) override;
  void Run(int runs) override;
  int sets() const { return ring_.sets(); }  // runs of one timing, at most

 private:
  void MapRing(const BenchNetwork& network);
  void MakeSaved(const BenchNetwork& network, CpuKernels& kernels, std::byte* set, int number);
  void RunOn(std::byte* set);

  BenchMemory& memory_;
  const CpuKernel& kernel_;
  OperandRing ring_;
  const OperandRing::Fill fill_ = [this](std::byte* at, const BenchOperand& operand) {
    if (operand.type == DataType::kInt64) {  // numbers of tokens, which any vocabulary has
      std::fill_n(at, operand.bytes, std::byte{0});
    } else {
      memory_.Fill(at, operand.bytes, operand.sparse);
    }
  };
  OperandRing::Places places_;  // of one run
  bool freshens_, workspace_turns_, fresh_workspace_;
  std::byte* scratch_ = nullptr;  // the workspace where it does not take turns
  std::vector<float> statistics_;
  std::vector<std::int32_t> labels_;
  std::uint64_t stream_ = 0;  // another mask each time, as in training
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_KERNEL_H_
