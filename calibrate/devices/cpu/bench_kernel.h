// Kernels of the CPU device as they are measured: on operands in the state in which a training step leaves them.
//
// What a kernel takes depends on where its operands are. In a step most of them are found as they were left one op
// before, or whole passes before:
//
//   kStep   The operands, workspace of a convolution included, lie in a ring of sets that is larger than the last cache,
//           so that each run finds its set in memory. Then, not timed, those operands are written once more that the op
//           finds fresh in its step: the ones touched so shortly before that less than half of the last cache has been
//           touched since. The op before it always counts: its result is an input of this one. So does the workspace, if
//           it is no larger than that: in a step it lies where the convolution before had its own.
//   kCold   The same without writing anything again: everything is in memory.
//   kWarm   One set, used over and over: everything that fits is in the caches.
//
// Contents: normal random numbers, those behind a ReLU with their negative half zero; what a forward op saves for a
// backward one (positions of a maximum, masks, statistics) is made by running it.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_KERNEL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_KERNEL_H_

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
  // `memory` and `kernels` must outlive it; one subject at a time may use the memory.
  KernelSubject(const BenchNetwork& network, OpId op, std::int32_t algorithm, BenchProtocol protocol,
                CpuKernels& kernels, BenchMemory& memory);
  void Prepare(int runs) override;
  void Run(int runs) override;
  int sets() const { return sets_; }  // runs of one timing, at most

 private:
  void LayOut(BenchProtocol protocol);
  void FillSets();
  void MakeSaved(std::byte* set, int number);
  void RunOn(std::byte* set);
  std::byte* SetAt(int k) const { return ring_ + static_cast<Bytes>(k) * set_bytes_; }

  const BenchNetwork& network_;
  OpId op_;
  const Op& node_;
  CpuKernels& kernels_;
  BenchMemory& memory_;
  const CpuKernel* kernel_ = nullptr;
  bool grants_workspace_ = false, fresh_workspace_ = false;
  std::vector<BenchOperand> operands_;
  std::vector<Bytes> reads_, writes_;  // offsets in a set
  Bytes workspace_ = 0, set_bytes_ = 0;
  std::byte* ring_ = nullptr;
  std::byte* scratch_ = nullptr;
  std::vector<float> statistics_;
  std::vector<std::int32_t> labels_;
  int sets_ = 1, next_ = 0;
  std::uint64_t stream_ = 0;  // another mask each time, as in training
  bool rotates_ = true, freshens_ = true;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_KERNEL_H_
