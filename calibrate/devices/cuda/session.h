// One session of the CUDA device, from Begin to End: memory, kernels, streams and events, all made in the constructor.
// Private to calibrate/devices/cuda/.
//
// One thread issues everything, so nothing here is locked; the device runs asynchronously. A step makes no kernel,
// stream, event or memory, so that its time is that of issuing and running only. The library reports errors later than
// the call that caused them. Events show which instruction failed (CudaWatch). After the first error only existing
// results may be read.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_H_

#include <map>
#include <span>
#include <vector>

#include "calibrate/devices/cuda/bound_kernels.h"
#include "calibrate/devices/cuda/device.h"
#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/session_memory.h"
#include "calibrate/devices/cuda/watch.h"
#include "sim/execute/session_order.h"

namespace spillway {

class CudaSession {
 public:
  // Makes and binds all of it: DeviceError kRefused, kNoMemory or kContract, with the instruction to blame. `device` must
  // outlive this, and so must what `session` points to; the struct itself is copied.
  CudaSession(CudaDevice& device, const Session& session);
  ~CudaSession();  // waits for streams that still run, up to the patience
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  // As in ExecutionDevice (sim/execute/device.h), which says the order in which they may be called. Bytes are those of
  // the tensor, row by row; locations are offsets into the arena or buffers of pinned host memory.
  void Write(const Location& at, std::span<const std::byte> bytes);
  void Read(const Location& at, std::span<std::byte> bytes);
  bool WriteKept(const Location& at, std::uint64_t identity);
  void Keep(const Location& at, std::uint64_t identity);
  void BeginStep();
  void Enqueue(const KernelCall& call);
  void Enqueue(const CopyCall& call);
  void Record(Issue issue, EventId event);
  void Wait(Issue issue, EventId event);
  void HostSync(Issue issue, EventId event);
  void Alloc(Issue issue, const Location& buffer);
  void Free(Issue issue, const Location& buffer);
  void EndStep();
  // Nanoseconds from the step's start; empty unless the session is instrumented.
  std::vector<Span> ReadSpans();
  Bytes HighWater();

  double ReadLoss();   // of the last step
  double ReadClock();  // megahertz, of the multiprocessors in the last step; 0: not known
  // Running statistics of batch norm by layer: means, then variances of all channels.
  std::map<LayerId, std::vector<float>> TakeStatistics();
  bool failed() const { return failed_; }  // something did; only what is there may be asked for
  const CudaSessionMemory& memory() const { return memory_; }

 private:
  struct Around {  // events before and after an instruction; either may be missing
    OwnedCudaEvent before, behind;
  };
  void Quiet() noexcept;  // waits until nothing runs, unless a stream hangs or the device is lost
  // Makes events for the Program's events and streams; in debug and instrumented sessions also around instructions.
  void MakeEvents();
  // Times the kernels without a known time, on contents as in a step, and sets the spin after each kernel
  // (emulation.h).
  void Rehearse(double slowdown, double gap);
  // Zeros; in debug sessions bytes that stand for nothing.
  void FillAtBegin();
  void Copies(const CopyCall& call);
  void CopyBox(const CopyCall& call, std::byte* to, const std::byte* from, CudaStream* stream);
  // Debug sessions: looks for the highest byte written in a buffer before its contents go; throws kContents where what
  // outlives the step holds NaN; fills all that holds no resident's value.
  void Look(Issue issue, const Location& buffer);
  void CheckResidents();
  bool HoldsNanAt(const Location& at);
  void EmptyAll();
  // Bytes that are brought or taken at once at most, between steps: what the staging is sized by.
  Bytes MostBrought() const;

  CudaStream* StreamOf(Issue issue) const { return streams_[issue.stream].get(); }
  // Calls `call` on behalf of an instruction, with the events around it where the session has such.
  template <typename Call>
  void Carry(Issue issue, const Call& call);
  // Calls; errors are blamed on whom they belong to.
  template <typename Call>
  auto Guarded(std::uint32_t instruction, const Call& call);

  CudaDevice& device_;
  CudaCalls& calls_;
  const Session session_;
  TrainingState training_;
  SessionOrder order_;
  CudaSessionMemory memory_;
  CudaBoundKernels kernels_;
  CudaWatch watch_;
  std::vector<OwnedCudaStream> streams_;       // by stream
  std::vector<OwnedCudaEvent> events_, ends_;  // by event; by stream
  std::vector<Around> around_;                 // by instruction
  CudaService service_;                        // what is done between steps
  CudaStaging staging_;                        // what is brought and taken there
  OwnedCudaEvent start_;                       // the zero of spans
  std::vector<char> ran_;                      // by instruction: has a span in this step
  std::vector<bool> looked_;                   // by buffer: debug sessions
  CudaMoment* marks_ = nullptr;                // of the step's beginning, then of its end; behind the staging
  std::uint64_t step_ = 0;                     // steps begun
  bool failed_ = false, hung_ = false;
};

template <typename Call>
auto CudaSession::Guarded(std::uint32_t instruction, const Call& call) {
  try {
    return call();
  } catch (const DeviceError& error) {
    failed_ = true;
    hung_ = hung_ || error.fault() == Fault::kHung;
    watch_.Blame(error, instruction, service_.probe());
  }
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_H_
