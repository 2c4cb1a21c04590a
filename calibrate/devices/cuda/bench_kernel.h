// Kernels of the CUDA device as they are measured: on operands in the state in which a training step leaves them.
//
// The states are those of the CPU device (calibrate/devices/cpu/bench_kernel.h): a ring of operand sets larger than the L2
// cache, so that each run finds its set in memory; with kStep those operands that the op finds fresh in its step are
// then written once more, not timed, from a copy of their contents. Workspace is shared by all sets, as ops share it in
// an arena.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_KERNEL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_KERNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/bench_beside.h"
#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"
#include "calibrate/ops/operands.h"

namespace spillway {

// The call that measures `launch`, an algorithm and a math of one of the network's ops.
OpCall BenchCallOf(const BenchNetwork& network, OpId op, const Launch& launch);

// One launch on sets of operands that take turns, so that each finds its own in the state that the protocol says. Times are
// the device's, by events around runs that were queued behind a hold (timer.h).
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
  // What issuing is timed by; nullptr: it is not.
  void SetHostClock(const Clock* clock) { host_clock_ = clock; }
  void Prepare(int runs) override;
  void Run(int runs) override;
  int most_runs() const { return most_runs_; }  // of one timing
  // Whether issuing a single run takes longer than a hold, or waits for the device: its times are not the device's alone.
  bool unheld() const { return at_once_ == 0; }
  // Nanoseconds of the library's call, median; 0: none was timed. Timed are the first kTimedIssues runs behind each hold
  // that did not run out: the host is ahead of the device then, as in training, and no queue is full, for a host that
  // finds one full waits for the hold itself, which then runs out. Never the first run of all, which loads code.
  double issue_time() const;
  static constexpr int kTimedIssues = 4;
  // Of the device while all of it ran, by its own counters; 0: not known.
  double clock_mhz() const { return Megahertz(clock_); }

 private:
  struct Place {
    Bytes offset = 0;
    bool saved = false;
  };
  void LayOut();
  void FillSets();
  void MakeSaved(std::byte* set, int number);
  void KeepFreshOnes();
  void MakeLabels();
  void Freshen(std::byte* set);
  void RunOn(std::byte* set, std::vector<double>* issues);
  void TimeNothing();
  void IssueRuns(int runs, bool each, std::vector<double>* issues);
  double TryRun(int runs, bool hold);
  std::byte* SetAt(int k) const { return ring_ + static_cast<Bytes>(k) * set_bytes_; }

  const BenchNetwork& network_;
  OpId op_;
  const Op& node_;
  BenchProtocol protocol_;
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  CudaTimer& timer_;
  CudaCopiesBeside* beside_ = nullptr;
  const Clock* host_clock_ = nullptr;
  std::vector<double> issues_;  // nanoseconds of the host
  CudaMoment clock_;            // cycles and nanoseconds of all timings
  std::unique_ptr<CudaKernel> kernel_;
  std::vector<BenchOperand> operands_;
  std::vector<Bytes> fresh_;           // operands that are written again: offsets in `kept_`, -1 for others
  std::vector<Bytes> reads_, writes_;  // offsets in a set
  std::vector<void*> read_, written_;  // of one run
  Bytes set_bytes_ = 0;
  std::byte* ring_ = nullptr;
  std::byte* kept_ = nullptr;
  void* workspace_ = nullptr;
  void* labels_ = nullptr;
  void* statistics_ = nullptr;
  int sets_ = 1, next_ = 0, most_runs_ = 1;
  std::uint64_t stream_number_ = 0;  // another mask each time, as in training
  bool loaded_ = false;              // it ran once
  int at_once_ = 1 << 30;            // runs behind one hold
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_KERNEL_H_
