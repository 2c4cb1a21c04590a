// The CPU device as something to measure: kernels on the core that the device computes on, copies on the core that it
// copies on, at the link rate that is stated.
//
// The "device" is this machine: what is measured is evidence for semantics and scheduling, and for no GPU. Times are
// nanoseconds of `clock`; timings during which the thread was off its core count as disturbed (LoopResult).
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_TARGET_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_TARGET_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cpu/bench_copy.h"
#include "calibrate/devices/cpu/bench_kernel.h"
#include "calibrate/devices/cpu/link.h"
#include "calibrate/host/host_facts.h"
#include "calibrate/host/pin.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/run.h"
#include "sim/execute/clock.h"

namespace spillway {

// What the command line says of the device.
struct CpuBenchOptions {
  double link_rate = 0;  // bytes per nanosecond in each direction; 0 = as fast as memcpy goes
  int threads = 1;       // of the compute library
  BenchProtocol protocol = BenchProtocol::kStep;
  std::string version;  // of this program
};

class CpuBenchTarget : public BenchTarget {
 public:
  // Pins the calling thread, which measures. UserError without oneDNN. `clock` must outlive it.
  CpuBenchTarget(const CpuBenchOptions& options, const Clock& clock);
  ~CpuBenchTarget() override;

  Sample Identity() const override;  // what every row says: processor, oneDNN's version, the state of the data
  // Of a convolution the algorithms that the device has for it, with their workspaces; of anything else one.
  std::vector<BenchVariant> Variants(const BenchItem& item) override;
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) override;
  double Load() const override { return ReadLoad(); }
  // How many times as long a thread takes as it has of its core, now (host_facts.h).
  double Waiting() override;

  const HostFacts& facts() const { return facts_; }

 private:
  LoopResult MeasureKernel(const BenchItem& item, const BenchVariant& variant, LoopOptions options);
  LoopResult MeasureCopy(const BenchItem& item, LoopOptions options);
  LoopResult MeasureHost(const BenchItem& item);
  CopyMemory& MemoryOf(const std::string& direction);

  CpuBenchOptions options_;
  const Clock& clock_;
  ThreadClock own_;
  HostFacts facts_;
  CoreChoice cores_;
  PinnedHere pinned_;
  CpuLink link_;
  CpuKernels kernels_;
  BenchMemory memory_;
  std::map<std::string, CopyMemory> copy_memory_;  // by direction; made when first needed
  std::map<std::pair<const BenchNetwork*, OpId>, std::vector<BenchVariant>> variants_;
  std::map<std::string, LoopResult> host_calls_;
};

// What the CPU device's threads cost: beginning one, and waking one up.
// "thread_start": until a stream's thread runs. "event_wake": from recording an event on the compute stream to the first
// thing that a copy stream does which waited for it asleep.
std::map<std::string, LoopResult> MeasureStreams(const CoreChoice& cores, const Clock& clock, int repetitions);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_TARGET_H_
