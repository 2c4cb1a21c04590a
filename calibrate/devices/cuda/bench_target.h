// The CUDA device as a calibration target: kernels of cuDNN and cuBLAS, copies and prefetches of every kind of memory,
// host calls.
//
// Clocks: before the first kernel the device works until its clock has settled, as in training. Clocks are read and
// recorded, and never set. If heat or a fault held the clocks back during a measurement, it is repeated, twice at most,
// and flagged if that does not help. Limits by settings, such as a power cap, are noted.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_TARGET_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_TARGET_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/bench_checks.h"
#include "calibrate/devices/cuda/bench_copy.h"
#include "calibrate/devices/cuda/bench_kernel.h"
#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/problem_memo.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/profile.h"
#include "calibrate/measure/run.h"
#include "calibrate/ops/operands.h"

namespace spillway {

struct CudaBenchOptions {
  int device = 0;
  BenchProtocol protocol = BenchProtocol::kStep;
  std::string version;               // of this program
  Nanos warm_up = kSecond;           // of the device, at most three times as long; 0: none
  Bytes workspace_limit = 8 * kGiB;  // algorithms that want more are left out
  int host_repetitions = 200;
  Bytes beside = 32 * kMiB;   // copies that run beside a kernel, one after another
  Bytes wander = 256 * kMiB;  // memory that small copies go through, which no cache of a processor holds
  Bytes checked = 64 * kMiB;  // of a copy in each direction whose bytes are looked at, see bench_checks.h; 0: none
};

// Times are nanoseconds of the device's own events, but those of calls of the host, which are its clock's. One thread.
class CudaBenchTarget : public BenchTarget {
 public:
  // Prepares and runs a first kernel, so that the libraries have taken what they take of the device's memory. `clock`:
  // of the host, must outlive it. Throws what `calls` throws.
  CudaBenchTarget(const CudaBenchOptions& options, std::shared_ptr<CudaCalls> calls, const Clock& clock);
  ~CudaBenchTarget() override;

  // The fields that all rows of this device share: names, driver, libraries, and the state of the data.
  Sample Identity() const override { return identity_; }
  // For a convolution the algorithms that the library offers within the workspace limit; for any other item one
  // variant. Throws UserError if there is none.
  std::vector<BenchVariant> Variants(const BenchItem& item) override;
  // UserError for what is this launch's matter alone: the library refuses it, or its memory is not to be had. Anything
  // else ends the calibration: DeviceError.
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) override;
  double Load() const override;  // of the host
  bool MayHang() const override { return true; }

  // The facts of a profile that samples do not hold. The caller sets name and notes.
  BenchFacts Facts(const std::string& date) const;

 private:
  // Takes again what was throttled, after a pause (Settle), a few times at most.
  LoopResult Steady(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options);
  // Returns the result of `call`. Errors that concern only the launch become UserErrors.
  template <typename Call>
  auto Judged(const Call& call);
  LoopResult MeasureOnce(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options);
  LoopResult MeasureKernel(const BenchItem& item, const BenchVariant& variant, LoopOptions options);
  // UserError where TF32 is allowed and results are fp32's (bench_checks.h).
  void CheckTf32(const BenchItem& item, const Launch& launch);
  LoopResult MeasureCopy(const BenchItem& item, const LoopOptions& options);
  LoopResult TimeCopies(CudaTimedCopies& subject, LoopOptions options);
  const std::vector<BenchVariant>& AlgorithmsOf(const BenchItem& item);
  LoopResult MeasureHost(const BenchItem& item);
  void Settle();
  // Runs products until the clock stands still; nothing while the device has been busy all along.
  void WarmUp();

  CudaBenchOptions options_;
  std::shared_ptr<CudaCalls> calls_;
  const Clock& clock_;
  CudaProperties properties_;
  Bytes reserve_ = 0;  // of the device, taken by context and libraries
  CudaTimer timer_;
  CudaBenchMemory memory_;
  CudaCopyCheck copy_check_;
  Sample identity_;
  bool warm_ = false;
  Nanos busy_ = 0;                                   // when something was measured last
  ProblemMemo<std::vector<BenchVariant>> variants_;  // of convolutions
  std::map<std::string, LoopResult> host_calls_;
};

// Runs one op of each library, so that the libraries have taken what they take of the device's memory: with the context,
// the reserve of a calibrated profile. Throws what `calls` throws.
void LoadLibraries(CudaCalls& calls);

// Its driver and libraries with their versions, as profiles and messages have them.
std::string SoftwareText(const CudaProperties& properties);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_TARGET_H_
