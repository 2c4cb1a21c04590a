// Managed memory that comes by faults, nobody having asked for it before (Sample::kind `managed_touch`): to the device,
// where a kernel reads pages that the host touched last; to the host, which reads a byte of each page that the device
// has. Never more than a quarter of what the device has free.
//
// The kernel is a ReLU into memory of the device: what it takes beside the faults is a few percent of them at most.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_TOUCH_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_TOUCH_H_

#include <memory>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"

namespace spillway {

constexpr const char* kManagedTouch = "managed_touch";

class CudaTouchSubject : public BenchSubject {
 public:
  // All must outlive it. `host`: the clock of what the host touches. UserError: no unified memory whose pages move by
  // faults, or no room.
  CudaTouchSubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                   const Clock& host);
  ~CudaTouchSubject() override;
  CudaTouchSubject(const CudaTouchSubject&) = delete;
  CudaTouchSubject& operator=(const CudaTouchSubject&) = delete;

  void Prepare(int runs) override;  // pages go to where they are to come from
  void Run(int runs) override;      // REQUIRES: one
  int most_runs() const { return 1; }
  bool unheld() const { return unheld_; }  // the host's part may be in its times

 private:
  double TryKernel(bool hold);
  double RunKernel();
  double RunOnHost();
  const BenchItem& item_;
  CudaCalls& calls_;
  CudaTimer& timer_;
  const Clock& host_clock_;
  std::byte* managed_ = nullptr;
  void* result_ = nullptr;
  std::unique_ptr<CudaKernel> kernel_;  // nullptr: the host touches
  bool first_ = true, unheld_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_TOUCH_H_
