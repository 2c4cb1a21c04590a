// A device that computes nothing, checks everything and runs in virtual time: the referee in tests of Execute().
//
// The device checks the contract of sim/program/program.h with its own bookkeeping (sim/execute/fake/memory.h and
// fake/values.h), at each call and when a stream reaches each instruction:
//   - an event is recorded once, and before it is waited for
//   - operands are live and inside the arena, and no other instruction disturbs them while an instruction runs
//   - live buffers do not overlap
//   - every read finds the contents that in-core training would have there (without a step: the Program in list order)
// A violation throws a DeviceError that names the instruction.
//
// Time: durations are given, streams follow clause 2, and each call takes the host `host_cost`. Streams run event by
// event up to the moment that the host asks about, so errors come late, as on real devices. In debug sessions without
// injections this is a third engine in addition to the two of simulate(), and shares no code with them.
//
// Only debug sessions check lifetimes and contents, because only they call Alloc and Free.
#ifndef SPILLWAY_SIM_EXECUTE_FAKE_DEVICE_H_
#define SPILLWAY_SIM_EXECUTE_FAKE_DEVICE_H_

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/execute/clock.h"
#include "sim/execute/device.h"
#include "sim/execute/fake/memory.h"

namespace spillway {

// One injected fault, at the `nth` item of its kind that streams reach since Begin (counted from 0).
struct Injection {
  enum class What {
    kNoArena,          // Begin; nth has no meaning
    kNoHostMemory,     // Begin: the nth host buffer
    kKernelRefused,    // Begin: the nth kernel
    kKernelFails,      // the nth kernel
    kCopyLost,         // the nth copy moves nothing and reports success (debug sessions)
    kEventNeverFires,  // the nth record
    kMemoryCorrupted,  // what the nth kernel wrote changes right after it (debug sessions)
  };
  What what = What::kKernelFails;
  std::uint32_t nth = 0;
};

struct FakeOptions {
  std::vector<Nanos> durations{};           // by instruction; empty: everything takes no time
  std::array<Nanos, kOpcodes> host_cost{};  // as in Conditions
  std::vector<Injection> injections{};
};

class FakeDevice : public ExecutionDevice, public Clock {
 public:
  explicit FakeDevice(FakeOptions options = {}) : options_(std::move(options)) {}

  void Begin(const Session& session) override;
  void End() noexcept override;
  void Write(const Location& at, std::span<const std::byte> bytes) override;
  // Fingerprints instead of numbers, the same for the same contents.
  void Read(const Location& at, std::span<std::byte> bytes) override;
  void BeginStep() override;
  void Enqueue(const KernelCall& call) override;
  void Enqueue(const CopyCall& call) override;
  void Record(Issue issue, EventId event) override;
  void Wait(Issue issue, EventId event) override;
  void HostSync(Issue issue, EventId event) override;
  void Alloc(Issue issue, const Location& buffer) override;
  void Free(Issue issue, const Location& buffer) override;
  void EndStep() override;
  std::vector<Span> ReadSpans() override { return session_.instrumented ? spans_ : std::vector<Span>{}; }
  Bytes HighWater() override { return memory_->high_water(); }
  Nanos Now() const override { return elapsed_ + host_; }

  struct Call {
    Opcode opcode;
    Issue issue;
  };
  const std::vector<Call>& calls() const { return calls_; }  // of the last step, in order
  bool open() const { return memory_.has_value(); }          // between Begin and End

 private:
  // A call that was made and that its stream has not carried out yet.
  struct Queued {
    Opcode opcode;
    std::uint32_t instruction;
    Nanos issued;
    std::uint32_t event = 0;
    std::vector<OperandCall> accesses;  // kernels, copies; of kAlloc and kFree the buffer
    const BoxRuns* runs = nullptr;      // copies of boxes
    bool fill = false;
  };
  // A stream: one instruction after the other, each when the one before it has ended.
  struct Lane {
    std::deque<Queued> queue;
    bool running = false;  // its first instruction, until `end`
    Nanos end = 0;
  };
  // An event within one step. It is recorded by a call, and fires when its stream reaches the record, unless an
  // injection prevents that.
  struct Event {
    bool recorded = false;  // the call was made
    bool reached = false;   // its stream got there
    bool fired = false;
    Nanos time = 0;
  };

  // ---- When a call is made.

  // Notes the call, adds its host time, and queues it as the last of its stream. Throws if there is no such stream.
  void Push(Opcode opcode, Issue issue, std::uint32_t event, std::vector<OperandCall> accesses);
  // Throws unless the event exists and has been recorded (`recorded`: true) or has not (false).
  void NeedEvent(Issue issue, EventId event, bool recorded);
  // Throws the injected faults of Begin.
  void RefuseSome();

  // ---- When streams run.

  void RunUntil(const Event* fired, std::uint32_t sync);  // nullptr: until all streams are idle

  // Idle: true if nothing is queued. Progress: carries out one start or end at `now_`, ends first; false: none is left
  // at `now_`. NextMoment: the time of the next start or end; nullopt: none comes unless the host makes a call.
  bool Idle() const;
  bool Progress();
  bool ProgressOn(Lane& lane);
  std::optional<Nanos> NextMoment() const;
  void Hang(const Event* fired, std::uint32_t sync) const;  // throws
  // Start: the lane's first instruction begins. Finish: it ends and its results are written. Fire: the stream reached a
  // record.
  void Start(Lane& lane);
  void Finish(Lane& lane);
  void Fire(const Queued& head);
  void CheckReads(const Queued& head) const;
  void WriteResults(const Queued& head);
  bool Injected(Injection::What what, std::uint32_t count) const;

  // After a step.
  void CheckStep();

  FakeOptions options_;
  Session session_;
  std::optional<FakeMemory> memory_;
  ExpectedValues expected_;
  std::vector<Fingerprint> start_;                  // by tensor: before the next step
  std::vector<bool> keep_at_alloc_, keep_at_free_;  // by buffer: those of residents
  std::vector<Lane> lanes_;                         // by stream
  std::vector<Event> events_;
  std::vector<Span> spans_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> runs_;   // by op: how often it ran, recomputations apart
  std::vector<std::uint32_t> parts_;  // by op: how often it should
  Nanos now_ = 0;                     // how far streams were run
  Nanos host_ = 0;
  Nanos elapsed_ = 0;                                     // steps before this one
  std::uint32_t kernels_ = 0, copies_ = 0, records_ = 0;  // since Begin
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_FAKE_DEVICE_H_
