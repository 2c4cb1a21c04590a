// Copies of the CUDA device as they are measured, by kind of memory (Sample::kind).
//
//   pinned            queued one behind the other on a held stream, each from another place to another place
//   pageable          ordinary memory; the call returns when the driver has staged it, so that the host's clock tells
//   pitched           pinned memory whose rows lie apart on the host; the device's side is dense
//   device            from device memory to device memory
//   managed_prefetch  unified memory, brought back before each timing; never more than a quarter of what is free
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_COPY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_COPY_H_

#include <string>

#include "calibrate/devices/cuda/bench_beside.h"
#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"

namespace spillway {

class CudaCopySubject : public BenchSubject {
 public:
  // All must outlive it. `wander`: bytes that small copies go through. `host`: the clock of copies that the host waits
  // for. UserError: no such kind of memory, or no room for it.
  CudaCopySubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer, Bytes wander,
                  const Clock& host);

  void SetBeside(CudaCopiesBeside* beside) { beside_ = beside; }
  void Prepare(int runs) override;
  void Run(int runs) override;
  int most_runs() const;  // of one timing
  // Whether issuing the copies took longer than a hold: their times are not the device's alone.
  bool unheld() const { return unheld_; }

 private:
  enum class Way : std::uint8_t { kQueued, kBlocking, kManaged };
  void TakeMemory(Bytes wander);
  void CopyOnce();
  double TryQueued(int runs, bool hold);
  double RunQueued(int runs);
  double RunBlocking(int runs);
  const BenchItem& item_;
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  CudaTimer& timer_;
  const Clock& host_clock_;
  CudaCopiesBeside* beside_ = nullptr;
  Way way_ = Way::kQueued;
  Direction direction_ = Direction::kHostToDevice;
  bool on_device_ = false;
  std::byte* device_ = nullptr;
  std::byte* other_ = nullptr;  // the host's side, or the second place on the device
  Bytes span_ = 0;              // bytes of a copy on the host's side, gaps included
  Bytes places_ = 1, next_ = 0;
  bool first_ = true, unheld_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_COPY_H_
