// Copies between two GPUs as they are measured: queued one behind the other on a held stream of this device, each from
// another place to another place. Either of the two may be this device.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_PEER_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_PEER_H_

#include <optional>

#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"

namespace spillway {

class CudaPeerSubject : public BenchSubject {
 public:
  // Lets the two devices reach each other's memory for as long as it lives where the copies are to be straight
  // (kPeerCopies), and takes memory of both. All must outlive it. `wander`: bytes that small copies go through.
  // UserError: one of the devices has no room. DeviceError: it refuses.
  CudaPeerSubject(const BenchItem& item, CudaCalls& calls, CudaTimer& timer, Bytes wander);
  ~CudaPeerSubject() override;
  CudaPeerSubject(const CudaPeerSubject&) = delete;
  CudaPeerSubject& operator=(const CudaPeerSubject&) = delete;

  void Prepare(int /*runs*/) override {}
  void Run(int runs) override;
  int most_runs() const { return CudaTimer::kMostHeld / 2; }  // of one timing
  // Whether issuing the copies took longer than a hold: their times are not the devices' alone.
  bool unheld() const { return unheld_; }

 private:
  OwnedMemoryOn Take(int device);
  double TryRun(int runs, bool hold);
  const BenchItem& item_;
  CudaCalls& calls_;
  CudaTimer& timer_;
  Bytes step_ = 0, places_ = 1, next_ = 0;
  OwnedMemoryOn from_, to_;
  std::optional<OwnedPeerAccess> there_, back_;
  bool first_ = true, unheld_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_PEER_H_
