// What the probe's sections share. Private to calibrate/devices/cuda/probe*.cc.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_INTERNAL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_INTERNAL_H_

#include <memory>
#include <vector>

#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/probe.h"
#include "calibrate/devices/cuda/timer.h"

namespace spillway {

// What every section gets. Nothing of it is owned; `tell` takes a line without its line feed.
struct Probe {
  CudaCalls& calls;
  const Clock& clock;
  const CudaProbeOptions& options;
  std::function<void(const std::string&)> tell;
};

// A launch with operands of its own, which hold zeros.
class ProbeKernel {
 public:
  ProbeKernel(CudaCalls& calls, const Launch& launch, CudaStream* stream);
  ~ProbeKernel();  // waits for the stream, which may still use the operands
  ProbeKernel(const ProbeKernel&) = delete;
  ProbeKernel& operator=(const ProbeKernel&) = delete;
  void Run() { kernel_->Run(stream_, {.reads = reads_, .writes = writes_, .workspace = workspace_.get()}); }
  Bytes workspace() const { return kernel_->workspace(); }

 private:
  CudaCalls& calls_;
  CudaStream* stream_;
  std::unique_ptr<CudaKernel> kernel_;
  std::vector<OwnedDeviceMemory> memory_;
  OwnedDeviceMemory workspace_;
  std::vector<void*> reads_, writes_;
};

// Nanoseconds of one run, less what a pair of events takes with nothing between: the median of some timings, of `runs`
// between each pair.
double TimeOfRuns(CudaTimer& timer, const std::function<void()>& run, int runs);

// Sections: whether all is as it has to be. Throw DeviceError.
// probe.h says what each looks at, and prints, under the name of the section.
bool ProbeTimer(const Probe& probe);
bool ProbeHold(const Probe& probe);
bool ProbeClock(const Probe& probe);
bool ProbeLaunches(const Probe& probe);
bool ProbeCopies(const Probe& probe);
bool ProbePacing(const Probe& probe);
bool ProbeConvolution(const Probe& probe);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_INTERNAL_H_
