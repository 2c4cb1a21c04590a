// A device that computes nothing, sees everything and runs in virtual time: the referee in tests of Execute().
//
// It holds its caller to the contract of sim/program/program.h with its own bookkeeping (sim/execute/fake/memory.h and
// fake/values.h): every call when it is made, and every instruction when its stream gets there. An event is recorded
// once and before it is waited for; operands are live, inside the arena and disturbed by nobody from an instruction's
// start to its end; live buffers do not overlap; every read finds what in-core training, or without a step the Program
// in list order, would have put there. What is wrong is thrown as DeviceError naming the instruction.
//
// Time: given durations, streams as in clause 2, and a host that takes `host_cost` for each call. Streams are run event
// by event up to the moment that the host needs to know, so errors come late, as on real devices. In debug sessions
// without injections it is a third engine beside those of simulate(), sharing no code with them.
//
// Only debug sessions check lives and contents: without Alloc and Free there is nothing to go by.
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

// What goes wrong, once: with the `nth` (from 0) that its streams get to since Begin.
struct Injection {
  enum class What {
    kNoArena,          // Begin; nth means nothing
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
  // A call that was made and that its stream has not carried out.
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
  // An event within one step. Recording it is a call; it fires when its stream gets to that, unless an injection forbids it.
  struct Event {
    bool recorded = false;  // the call was made
    bool reached = false;   // its stream got there
    bool fired = false;
    Nanos time = 0;
  };

  // When a call is made.
  // Notes the call, lets the host take its time for it, and queues it behind its stream's others. Throws where there is no
  // such stream.
  void Push(Opcode opcode, Issue issue, std::uint32_t event, std::vector<OperandCall> accesses);
  // Throws unless there is the event and it was recorded, or was not, as `recorded` says.
  void NeedEvent(Issue issue, EventId event, bool recorded);
  // Throws what the injections have gone wrong at Begin.
  void RefuseSome();

  // When streams run.
  void RunUntil(const Event* fired, std::uint32_t sync);  // nullptr: until all streams are idle

  // Idle: nothing is queued. Progress: one thing that happens at `now_`, ends before beginnings; false: nothing more does.
  // NextMoment: when something will; nothing: never, unless the host does something.
  bool Idle() const;
  bool Progress();
  bool ProgressOn(Lane& lane);
  std::optional<Nanos> NextMoment() const;
  void Hang(const Event* fired, std::uint32_t sync) const;  // throws
  // The first of the lane begins; ends, and what it writes is there. Fire: its stream got to a record.
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
