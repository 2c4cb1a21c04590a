// What Execute() (sim/execute/execute.h) needs of a device: one arena, host buffers, streams, events.
//
// The order of calls:
//
//   Begin  (Write | Read)*  ( BeginStep  (Enqueue | Record | Wait | HostSync | Alloc | Free)*  EndStep
//                             (ReadSpans | HighWater | Write | Read)* )*  End
//
// and WriteKept and Keep wherever Write may be.
//
// A stream runs what is enqueued on it in the order of the calls, one at a time; streams run side by side. Enqueue,
// Record and Wait return at once; HostSync and EndStep block. The device decides nothing: no memory of its own beside
// the arena, the host buffers and what Begin() reserves for its library, no order but that of streams and events.
//
// Errors: any call but End may throw DeviceError. Streams fail asynchronously: what went wrong on one is thrown by a
// later call, EndStep at the latest, and names the instruction that failed, not the one being enqueued. After an error
// only End may be called. A device that waits for something that cannot come any more says so (Fault::kHung); it does
// not wait for ever.
//
// Threads: all calls come from one thread.
//
// (`Device` is what a Machine has, model/profile/machine.h; this is what a Program runs on.)
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
  std::uint32_t instruction() const { return instruction_; }  // kNoInstruction: no single one is to blame

 private:
  Fault fault_;
  std::uint32_t instruction_;
};

// Which instruction a call carries out, and on which stream.
struct Issue {
  std::uint32_t instruction = 0;
  StreamId stream = 0;
};

// A buffer, or a piece of one, as a device finds it.
struct Location {
  BufferId buffer = kNoBuffer;
  BufferKind kind = BufferKind::kTensor;
  TensorId tensor = kNoTensor;
  Bytes offset = 0;  // from the beginning of the arena; kHost: from that of the host buffer
  Bytes bytes = 0;
};

struct OperandCall {
  Location at;  // where a box is named, its bytes and no more; with `runs` all of the buffer
  Access access = Access::kRead;
  bool boxed = false;
  // Of a box whose places do not lie together: from where they lie in the buffer to where they do. Only devices that
  // gather operands see any.
  const BoxRuns* runs = nullptr;
};

// The calls of a session are the same in every step; pointers and spans hold from Begin to End.
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
  Location from, to;  // the pieces, `copy->bytes` each, or with `runs` the buffers; one of them is on the host
  const BoxRuns* runs = nullptr;  // of a box: how it lies in both
};

// A tensor that outlives the step: where it is found before the first instruction, and where after the last one.
struct Resident {
  TensorId tensor = kNoTensor;
  Location first, last;  // of the tensor's bytes
};

struct Session {
  const Program* program = nullptr;
  const TrainingStep* step = nullptr;  // nullptr: kernels without ops, for devices that do not compute
  Bytes arena_bytes = 0;
  // Alloc and Free are called. Memory that is freed is filled with NaN, except the last buffer of a resident; so are, at
  // BeginStep, the host buffers of no resident. The highest byte that changes is found out.
  bool debug = false;
  bool instrumented = false;  // spans are taken
  std::span<const KernelCall> kernels{};
  std::span<const Resident> residents{};
};

// What a device tells of its last session, once that is over.
struct SessionReport {
  std::vector<double> losses;  // mean cross-entropy by iteration; empty: the device does not train
  Bytes host_bytes = -1;       // of all host buffers; -1: not told
  std::string placement;       // what computed and copied: cores, or a GPU with its software; "": not told
  // Of a device with memory of its own: bytes of that memory in use at most, by whomever; -1: it shares the process's.
  Bytes device_bytes = -1;
  // Of `device_bytes` all but the session's own: the device's reserve as it is with its kernels loaded; -1 likewise.
  Bytes device_reserve = -1;
  std::vector<double> step_clocks;  // megahertz by iteration, 0 where not known; empty: not told
};

class ExecutionDevice {
 public:
  virtual ~ExecutionDevice() = default;

  // Whether kernels may touch boxes whose places do not lie together: the device copies them together in its library's
  // memory, and back. What that takes nobody predicts.
  virtual bool GathersOperands() const { return false; }

  // Reserves the arena, exactly `arena_bytes`, all host buffers of the Program, its streams and events, and prepares
  // every kernel, so that a step allocates nothing. What `session` points to must outlive End. A kernel that the
  // library refuses is reported here, before anything runs.
  virtual void Begin(const Session& session) = 0;
  // Gives everything back, waiting for streams that still run. May be called at any time, twice, and without Begin.
  virtual void End() noexcept = 0;

  // Contents from and to the caller's memory of `at.bytes` bytes. Between steps only.
  virtual void Write(const Location& at, std::span<const std::byte> bytes) = 0;
  virtual void Read(const Location& at, std::span<std::byte> bytes) = 0;

  // Contents that come again, in this session or later ones. `identity`, not 0, stands for them: whoever gives the same
  // number gives the same bytes. Keep: they were just written there; the device may keep a copy, and drop it at any time.
  // WriteKept: as Write, of such a copy; false, and nothing is done, where there is none.
  virtual bool WriteKept(const Location& /*at*/, std::uint64_t /*identity*/) { return false; }
  virtual void Keep(const Location& /*at*/, std::uint64_t /*identity*/) {}

  // All streams are idle, no event is recorded; the zero of the spans.
  virtual void BeginStep() = 0;
  virtual void Enqueue(const KernelCall& call) = 0;
  virtual void Enqueue(const CopyCall& call) = 0;
  virtual void Record(Issue issue, EventId event) = 0;
  virtual void Wait(Issue issue, EventId event) = 0;
  virtual void HostSync(Issue issue, EventId event) = 0;        // the stream means nothing
  virtual void Alloc(Issue issue, const Location& buffer) = 0;  // sessions with `debug` only
  virtual void Free(Issue issue, const Location& buffer) = 0;   // sessions with `debug` only
  // Blocks until all streams are idle.
  virtual void EndStep() = 0;

  // Of the kernels and copies of the last step, in any order. Empty unless the session is instrumented.
  virtual std::vector<Span> ReadSpans() = 0;
  // One past the highest byte of the arena that changed since Begin. Sessions with `debug` only.
  virtual Bytes HighWater() = 0;

  // REQUIRES: no session is open.
  virtual SessionReport LastSession() const { return {}; }
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_DEVICE_H_
