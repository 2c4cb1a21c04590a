// One session of the CPU device, from Begin to End: memory, kernels, streams and events, all made in the constructor.
// Private to calibrate/devices/cpu/.
//
// Each stream has a thread, pinned to the cores that CoreChoice names; the caller's thread issues. The caller writes an
// action when it issues an instruction, and the stream's thread reads it, in stream order. The caller reuses a row only
// in the next step, when all streams have finished the last step. The first thread that meets a failure records it; the
// caller's thread throws it.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_SESSION_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_SESSION_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/devices/cpu/bound_kernels.h"
#include "calibrate/devices/cpu/caller_gate.h"
#include "calibrate/devices/cpu/device.h"
#include "calibrate/devices/cpu/link.h"
#include "calibrate/devices/cpu/session_memory.h"
#include "calibrate/devices/cpu/stream.h"
#include "calibrate/host/pin.h"
#include "sim/execute/session_order.h"

namespace spillway {

class CpuSession {
 public:
  // Keeps `kernels`; the clock and what `session` points to must outlive Stop() and Abandon().
  CpuSession(const CpuDeviceOptions& options, const Clock& clock, std::shared_ptr<CpuKernels> kernels,
             const Session& session);

  // As in ExecutionDevice (sim/execute/device.h), which says the order in which they may be called.
  void Write(const Location& at, std::span<const std::byte> bytes);
  void Read(const Location& at, std::span<std::byte> bytes);
  void BeginStep();
  void Enqueue(const KernelCall& call);
  void Enqueue(const CopyCall& call);
  void Record(Issue issue, EventId event);
  void Wait(Issue issue, EventId event);
  void HostSync(Issue issue, EventId event);
  void AllocOrFree(Opcode opcode, Issue issue, const Location& buffer);
  void EndStep();
  // In order of instructions, those that ran; empty unless the session is instrumented.
  std::vector<Span> ReadSpans() const;
  Bytes HighWater() { return memory_.HighWater(); }

  // Leaves out what is not done yet and waits for what runs, up to the options' patience. True: everything but results
  // is over. False: a stream hangs, and only Abandon() may be called.
  bool Stop() noexcept;
  // Leaves threads that hang to themselves, with their part in `self`, the owner of this session. The caller lets go of
  // its own part then.
  void Abandon(const std::shared_ptr<CpuSession>& self) noexcept;
  // The training state besides tensors: labels, running statistics, losses. Owned by the session.
  TrainingState& training() { return training_; }
  const SessionMemory& memory() const { return memory_; }
  std::string Pinning() const;

 private:
  // The work of an instruction, written when it is issued.
  struct Action {
    Opcode opcode = Opcode::kKernel;
    StreamId stream = 0;
    const KernelCall* kernel = nullptr;  // of the session; set once
    Direction direction = Direction::kHostToDevice;
    Location at, to;  // of copies; kAlloc and kFree: the buffer
    Bytes offset = 0;
    bool boxed = false, fill = false;
    BoxRuns runs{};  // of a boxed copy; written once
    std::span<std::byte> from_bytes{}, to_bytes{};
  };

  // Streams take what is written here: an action is filled when it is issued, and performed by its number.
  void StartStreams();
  CpuStreamOptions StreamOptions(StreamId stream);
  Action& NewAction(Opcode opcode, Issue issue);
  void Give(bool given, Issue issue) const;

  // On the streams' threads.
  void Perform(std::uint32_t instruction);
  void RunKernel(const Action& action, std::uint32_t instruction);
  void RunCopy(const Action& action, std::uint32_t instruction);
  // Debug sessions: throw kContents where memory that holds nothing would be copied or read.
  void CheckSource(const Action& action, std::uint32_t instruction);
  void CheckReads(const Action& action);
  void NeedWritten(const Location& at, Bytes bytes, std::uint32_t instruction) const;

  // On the caller's.
  // Waits as long as streams get on with something, by Progress(), and for the options' patience beyond that; then Hang()
  // throws kHung, naming the instruction that runs.
  void Await(CpuEvent& event, std::uint32_t instruction);
  std::uint64_t Progress() const;
  [[noreturn]] void Hang(std::uint32_t instruction) const;
  void CheckResidents() const;

  const CpuDeviceOptions options_;
  const Clock& clock_;  // for the caller's thread
  CallerGate gate_;
  const GatedClock gated_clock_;
  const Session session_;  // what it points to is the caller's
  const CoreChoice cores_;
  std::optional<PinnedHere> pinned_;  // until Stop()
  const std::shared_ptr<CpuKernels> library_;
  CpuLink link_;
  TrainingState training_;
  SessionOrder order_;
  SessionMemory memory_;
  BoundKernels kernels_;
  std::mutex one_kernel_;                // kernels run one at a time, whatever the streams
  std::vector<Action> actions_;          // by instruction
  std::vector<CpuEvent> events_, ends_;  // by event; by stream
  std::vector<Span> spans_;              // by instruction
  std::uint64_t step_ = 0;               // steps begun
  Nanos start_ = 0;                      // of this step
  StreamFailure failure_;
  std::vector<std::unique_ptr<CpuStream>> streams_;  // last: their threads use all of the above
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_SESSION_H_
