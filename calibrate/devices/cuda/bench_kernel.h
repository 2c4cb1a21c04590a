// Kernels of the CUDA device as they are measured: on operands in the state in which a training step leaves them
// (bench_operands.h). Workspace is shared by all sets, as ops share it in an arena.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_KERNEL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_KERNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/bench_copy.h"
#include "calibrate/devices/cuda/bench_operands.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"

namespace spillway {

// The call that measures `launch`, an algorithm and a math of one of the network's ops.
OpCall BenchCallOf(const BenchNetwork& network, OpId op, const Launch& launch);

// One launch on several sets of operands that take turns, so that each run finds its operands in the state of the
// protocol. Times are the device's, by events around runs that wait in the queue until a hold is released (timer.h).
class CudaKernelSubject : public BenchSubject {
 public:
  // All must outlive it; one subject at a time may use the memory. DeviceError: the library refuses the launch.
  // UserError: the operands do not fit.
  CudaKernelSubject(const BenchNetwork& network, OpId op, const Launch& launch, BenchProtocol protocol,
                    CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer);
  ~CudaKernelSubject() override;
  CudaKernelSubject(const CudaKernelSubject&) = delete;
  CudaKernelSubject& operator=(const CudaKernelSubject&) = delete;

  // Copies that run while the kernel does; nullptr: none. Timings that they do not outlast are taken again. UserError
  // from Run(): not even the most of them do.
  void SetBeside(CudaCopiesBeside* beside) { beside_ = beside; }
  // The clock for the time of issuing; nullptr: issuing is not timed.
  void SetHostClock(const Clock* clock) { host_clock_ = clock; }
  void Prepare(int runs) override;
  void Run(int runs) override;
  int most_runs() const { return most_runs_; }  // of one timing
  // True if issuing a single run takes longer than a hold, or waits for the device: its times then include the host's.
  bool unheld() const { return at_once_ == 0; }
  // The median time of the library's call in nanoseconds; 0: none was timed. Timed are the first kTimedIssues runs
  // after each hold that did not run out. The host is then ahead of the device, as in training, and no queue is full.
  // (A host that finds a queue full waits for the hold, which then runs out.) The first run of all, which loads code,
  // is never timed.
  double issue_time() const;
  static constexpr int kTimedIssues = 4;
  // The device's clock over all runs, by its own counters; 0: unknown.
  double clock_mhz() const { return Megahertz(clock_); }

 private:
  void RunOn(std::byte* set, std::vector<double>* issues);
  void TimeNothing();
  void IssueRuns(int runs, std::vector<double>* issues);
  double TryRun(int runs, bool hold);

  CudaCalls& calls_;
  CudaTimer& timer_;
  std::unique_ptr<CudaKernel> kernel_;
  void* workspace_;
  CudaOperandSets sets_;
  bool each_;  // kStep: each run is timed by itself
  CudaCopiesBeside* beside_ = nullptr;
  const Clock* host_clock_ = nullptr;
  std::vector<double> issues_;  // nanoseconds of the host
  CudaMoment clock_;            // cycles and nanoseconds of all timings
  int most_runs_ = 1;
  std::uint64_t stream_number_ = 0;  // another mask each time, as in training
  bool loaded_ = false;              // it ran once
  int at_once_ = 1 << 30;            // runs queued during one hold
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_KERNEL_H_
