// ExecutionDevice: the interface of a device that Execute() (sim/execute/execute.h) runs a Program on. A device has one
// arena, host buffers, streams and events.
//
// The order of calls, as a regular expression:
//
//   Begin  (Write | Read)*  ( BeginStep  (Enqueue | Record | Wait | HostSync | Alloc | Free)*  EndStep
//                             (ReadSpans | HighWater | Write | Read)* )*  End
//
// WriteKept and Keep may be called wherever Write may.
//
// A stream runs its kernels and copies one at a time, in the order of the calls. Streams run at the same time. Enqueue,
// Record and Wait return at once; HostSync and EndStep block. The device decides nothing. It uses no memory except the
// arena, the host buffers and the memory that Begin() reserves for its library. It has no order except that of streams
// and events.
//
// Errors: any call except End may throw DeviceError. Streams fail asynchronously: a later call, EndStep at the latest,
// throws the error. The error names the instruction that failed, not the one being enqueued. After an error only End
// may be called. A device that waits for an event that cannot come throws Fault::kHung instead of waiting for ever.
//
// Threads: all calls come from one thread.
//
// (`Device` in model/profile/machine.h is something else: the description of a device in a Machine.)
#ifndef SPILLWAY_SIM_EXECUTE_DEVICE_H_
#define SPILLWAY_SIM_EXECUTE_DEVICE_H_

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/timeline.h"
#include "sim/program/program.h"

namespace spillway {

enum class Fault {
  kContract,  // a call breaks the contract of sim/program/program.h
  kRefused,   // the library cannot run this kernel: its shape, or the workspace granted
  kNoMemory,  // the arena or the host buffers cannot be reserved
  kFailed,    // a kernel or copy failed
  kHung,      // a stream or the host waits for an event that will not come
  kContents,  // memory does not hold what it should: debug runs only
};
const char* FaultName(Fault fault);  // "contract", "refused", "no memory", "failed", "hung", "contents"

class DeviceError : public std::runtime_error {
 public:
  DeviceError(Fault fault, std::uint32_t instruction, const std::string& what)
      : std::runtime_error(what), fault_(fault), instruction_(instruction) {}
  Fault fault() const { return fault_; }
  std::uint32_t instruction() const { return instruction_; }  // the one that failed; kNoInstruction: not one alone

 private:
  Fault fault_;
  std::uint32_t instruction_;
};

// The instruction that a call carries out, and its stream.
struct Issue {
  std::uint32_t instruction = 0;
  StreamId stream = 0;
};

// A buffer, or a piece of a buffer, in the device's terms.
struct Location {
  BufferId buffer = kNoBuffer;
  BufferKind kind = BufferKind::kTensor;
  TensorId tensor = kNoTensor;
  Bytes offset = 0;  // from the begin of the arena; for BufferKind::kHost from the begin of the host buffer
  Bytes bytes = 0;
};

struct OperandCall {
  Location at;  // the whole operand; if `boxed`, the box's bytes only; with `runs`, the whole buffer
  Access access = Access::kRead;
  bool boxed = false;
  // For a box that is not contiguous in the buffer: how to copy the box to contiguous memory. nullptr: contiguous. Only
  // devices with GathersOperands() get such operands.
  const BoxRuns* runs = nullptr;
};

// The calls of a session are the same in every step. Pointers and spans stay valid from Begin to End.
struct KernelCall {
  Issue issue;
  const Kernel* kernel = nullptr;
  const Launch* launch = nullptr;
  const Op* op = nullptr;  // nullptr in Programs without a step
  std::span<const OperandCall> operands;
};

struct CopyCall {
  Issue issue;
  const Copy* copy = nullptr;
  Location from, to;  // the pieces, `copy->bytes` each; with `runs`, the whole buffers. One of the two is on the host
  const BoxRuns* runs = nullptr;  // for a box: its places in both buffers
};

// A tensor that outlives the step, with the places of its bytes before the first and after the last instruction.
struct Resident {
  TensorId tensor = kNoTensor;
  Location first, last;
};

struct Session {
  const Program* program = nullptr;
  const TrainingStep* step = nullptr;  // nullptr: kernels without ops, for devices that do not compute
  Bytes arena_bytes = 0;
  // true: Execute calls Alloc and Free. The device fills freed memory with NaN, except the last buffer of a resident.
  // At BeginStep it fills the host buffers that hold no resident. It finds the highest byte of the arena that changes
  // (HighWater).
  bool debug = false;
  bool instrumented = false;  // true: the device records spans (ReadSpans)
  std::span<const KernelCall> kernels{};
  std::span<const Resident> residents{};
};

// A device's report on its last session, complete after End.
struct SessionReport {
  std::vector<double> losses;  // mean cross-entropy by iteration; empty: the device does not train
  Bytes host_bytes = -1;       // all host buffers together; -1: unknown
  std::string placement;       // the cores, or the GPU with its software, that computed and copied; "": unknown
  // The most bytes of the device's own memory in use, by any process; -1: the device has no memory of its own.
  Bytes device_bytes = -1;
  // The part of `device_bytes` that is not the session's: the device's reserve with all kernels loaded; -1 as above.
  Bytes device_reserve = -1;
  std::vector<double> step_clocks;  // megahertz by iteration, 0: unknown; empty: the device does not tell
};

class ExecutionDevice {
 public:
  virtual ~ExecutionDevice() = default;

  // True if kernels may use boxes that are not contiguous. The device copies such a box to contiguous memory of its
  // library, and back. No model predicts the time of these copies.
  virtual bool GathersOperands() const { return false; }

  // Reserves the arena (exactly `arena_bytes`), the host buffers, streams and events, and prepares every kernel, so
  // that a step allocates nothing. Objects that `session` points to must outlive End. Throws DeviceError (kRefused) if
  // the library refuses a kernel, before anything runs.
  virtual void Begin(const Session& session) = 0;
  // Waits for running streams and releases everything. May be called at any time, twice, and without Begin.
  virtual void End() noexcept = 0;

  // Copies `at.bytes` bytes from or to the caller's memory. Between steps only.
  virtual void Write(const Location& at, std::span<const std::byte> bytes) = 0;
  virtual void Read(const Location& at, std::span<std::byte> bytes) = 0;

  // A cache for contents that are written again and again, in this session or later ones. `identity`, not 0, names the
  // contents: equal identities mean equal bytes. Keep: the contents at `at` have this identity; the device may keep a
  // copy and drop it at any time. WriteKept writes the kept copy to `at`; without a copy it returns false and does
  // nothing.
  virtual bool WriteKept(const Location& /*at*/, std::uint64_t /*identity*/) { return false; }
  virtual void Keep(const Location& /*at*/, std::uint64_t /*identity*/) {}

  // Starts a step: all streams are idle, no event is recorded. Spans are measured from this moment.
  virtual void BeginStep() = 0;
  virtual void Enqueue(const KernelCall& call) = 0;
  virtual void Enqueue(const CopyCall& call) = 0;
  virtual void Record(Issue issue, EventId event) = 0;
  virtual void Wait(Issue issue, EventId event) = 0;
  virtual void HostSync(Issue issue, EventId event) = 0;        // `issue.stream` has no meaning
  virtual void Alloc(Issue issue, const Location& buffer) = 0;  // sessions with `debug` only
  virtual void Free(Issue issue, const Location& buffer) = 0;   // sessions with `debug` only
  // Blocks until all streams are idle.
  virtual void EndStep() = 0;

  // The spans of all kernels and copies of the last step, in any order. Empty unless the session is instrumented.
  virtual std::vector<Span> ReadSpans() = 0;
  // One past the highest byte of the arena that changed since Begin. Sessions with `debug` only.
  virtual Bytes HighWater() = 0;

  // REQUIRES: no session is open.
  virtual SessionReport LastSession() const { return {}; }
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_DEVICE_H_
