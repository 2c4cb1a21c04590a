// The host of the event engine. The host walks Program::code in order and issues each instruction to its stream, ahead
// of the device. Three things make the host wait for the device: a kHostSync, a blocking copy, and an allocation that
// finds no room in the pool.
//
// All times are nanoseconds since the start of the simulation. The host has its own clock (`time()`), which runs ahead
// of the device's clock (`now` in the calls below). Example: with a launch cost of 5,000 ns, kernels 0, 1, 2 are issued
// at 5,000, 10,000 and 15,000 ns, however long kernel 0 runs.
#ifndef SPILLWAY_SIM_ENGINE_EVENT_HOST_H_
#define SPILLWAY_SIM_ENGINE_EVENT_HOST_H_

#include "sim/engine/event_lanes.h"
#include "sim/engine/event_pool.h"

namespace spillway {

// Appends each issued instruction to `lists`; with kTimeline it also notes in `stalls` each interval in which the host
// was blocked. Owns none of its arguments: all must outlive the EventHost.
template <bool kTimeline>
class EventHost {
 public:
  static constexpr Nanos kNever = INT64_MAX;  // Scratch::reached of a free that its stream has not reached yet

  EventHost(const Program& program, const Conditions& conditions, Scratch& scratch, IssuedLists& lists,
            StallAccount& stalls)
      : program_(program),
        conditions_(conditions),
        scratch_(scratch),
        lists_(lists),
        stalls_(stalls),
        pool_(program, conditions, scratch),
        count_(static_cast<std::uint32_t>(program.code.size())),
        kernels_alike_(conditions.launch_cost.empty() && conditions.framework_time == 0 &&
                       conditions.collection_time == 0) {
    if (program.memory == ProgramMemory::kPool) scratch.reached.assign(count_, kNever);
    if constexpr (kTimeline) blocks_.resize(count_);
    MayBlock(Opcode::kHostSync) = true;
    MayBlock(Opcode::kCopy) = conditions.blocking_copies != BlockingCopies::kNone;
    MayBlock(Opcode::kAlloc) = MayBlock(Opcode::kFree) = program.memory == ProgramMemory::kPool;
  }

  // Issues as many instructions as the host can at the device's time `now`; returns true if it issued any. `running`
  // holds the streams on which a kernel or copy runs: only when it is empty may the pool be compacted.
  bool Issue(Nanos now, StreamSet running) {
    const std::uint32_t before = issued_;
    while (issued_ < count_ && awaited_ == kNoInstruction) {
      IssueFreely();
      if (issued_ == count_ || !IssueOne(now, running)) break;
    }
    return issued_ != before;
  }
  // The engine calls this when a kernel or copy ends. If the host waits for that copy, it goes on at `now`.
  void Ended(std::uint32_t instruction, Nanos now) {
    if (instruction != awaited_) return;
    awaited_ = kNoInstruction;
    Block(instruction, Cause::kBarrier, now);
  }

  bool done() const { return issued_ == count_; }
  bool failed() const { return failed_; }           // the pool has no room for the allocation at issued()
  std::uint32_t issued() const { return issued_; }  // how many instructions are issued: the index of the next one
  Nanos time() const { return host_; }
  const EventPool& pool() const { return pool_; }
  // How often the host had been blocked when it issued `instruction`. REQUIRES: kTimeline.
  std::size_t BlocksBefore(std::uint32_t instruction) const { return blocks_[instruction]; }

 private:
  // Issues instructions up to the next one whose opcode may block the host.
  void IssueFreely() {
    const Instruction* const code = program_.code.data();
    Nanos host = host_;
    std::uint32_t i = issued_;
    while (i < count_ && !MayBlock(code[i].opcode)) {
      const StreamId stream = code[i].stream;
      const std::uint32_t first = i;
      do {
        host += CostOf(code[i]);
        IssueAt(i, host);
        if (!kernels_alike_) host += PauseAfter(code[i]);
      } while (++i < count_ && code[i].stream == stream && !MayBlock(code[i].opcode));
      lists_.Append(stream, first, i - 1);
    }
    host_ = host;
    issued_ = i;
  }

  // Issues one instruction that may block the host. Returns false if it does block now.
  bool IssueOne(Nanos now, StreamSet running) {
    const Instruction in = program_.code[issued_];
    if (!paid_ && in.opcode != Opcode::kHostSync) host_ += CostOf(in);
    paid_ = true;  // the cost is paid once, even if the instruction is tried again
    if (!GoesOn(in, now, running)) return false;
    paid_ = false;
    if (in.opcode != Opcode::kHostSync) {
      IssueAt(issued_, host_);
      lists_.Append(in.stream, issued_, issued_);
    }
    if (in.opcode == Opcode::kCopy && conditions_.Blocks(program_.copies[in.arg])) awaited_ = issued_;
    ++issued_;
    return true;
  }

  void IssueAt(std::uint32_t i, Nanos time) {
    lists_.Issue(i, time);
    if constexpr (kTimeline) blocks_[i] = stalls_.blocks();
  }

  Nanos CostOf(Instruction in) const {
    if (kernels_alike_ || in.opcode != Opcode::kKernel) return CostOf(in.opcode);
    const Kernel& kernel = program_.kernels[in.arg];
    const Nanos cost = conditions_.launch_cost.empty() ? CostOf(in.opcode) : conditions_.launch_cost[kernel.launch];
    return kernel.first_part ? cost : cost - conditions_.framework_time;
  }
  Nanos CostOf(Opcode opcode) const { return conditions_.host_cost[static_cast<std::size_t>(opcode)]; }
  Nanos PauseAfter(Instruction in) const {
    if (in.opcode != Opcode::kKernel) return 0;
    const Kernel& kernel = program_.kernels[in.arg];
    return kernel.recomputation && kernel.last_part ? conditions_.collection_time : 0;
  }

  bool GoesOn(Instruction in, Nanos now, StreamSet running) {
    if (in.opcode == Opcode::kHostSync) {
      const Nanos recorded = scratch_.event_time[in.arg];
      if (recorded < 0) return false;
      Block(issued_, in.cause, recorded);
      host_ += CostOf(Opcode::kHostSync);  // to wake up
    } else if (program_.memory == ProgramMemory::kPool && in.opcode == Opcode::kAlloc) {
      return PoolGives(in.arg, now, running);
    } else if (program_.memory == ProgramMemory::kPool && in.opcode == Opcode::kFree) {
      const bool compute = program_.streams[in.stream].kind == StreamKind::kCompute;
      compute ? pool_.FreeNow(in.arg) : pool_.FreeLater(issued_);
    }
    return true;
  }

  bool PoolGives(BufferId buffer, Nanos now, StreamSet running) {
    while (!pool_.FitsInOneBlock(buffer)) {
      if (!pool_.HasPending()) {
        failed_ = !pool_.Fits(buffer);
        if (failed_ || running != 0 || !lists_.Empty()) return false;
        Compact(now);
        break;
      }
      const std::uint32_t oldest = pool_.OldestPending();
      if (scratch_.reached[oldest] == kNever) return false;
      Block(oldest, Cause::kSwapOut, scratch_.reached[oldest]);
      host_ += conditions_.collection_time;
      pool_.TakeOldest();
    }
    pool_.Allocate(buffer);
    return true;
  }

  // REQUIRES: the device has finished everything that was issued. The host has the live blocks moved together and waits
  // for the move, because nothing else can go on.
  void Compact(Nanos now) {
    Block(kNoInstruction, Cause::kBarrier, now);
    host_ += CostOf(Opcode::kHostSync);
    Block(kNoInstruction, Cause::kBarrier, host_ + pool_.Compact());
  }

  void Block(std::uint32_t i, Cause cause, Nanos until) {
    if (until <= host_) return;
    if constexpr (kTimeline) stalls_.HostBlocked(i, cause, host_, until);
    host_ = until;
  }

  bool& MayBlock(Opcode opcode) { return may_block_[static_cast<std::size_t>(opcode)]; }
  bool MayBlock(Opcode opcode) const { return may_block_[static_cast<std::size_t>(opcode)]; }

  const Program& program_;
  const Conditions& conditions_;
  Scratch& scratch_;
  IssuedLists& lists_;
  StallAccount& stalls_;
  EventPool pool_;
  std::uint32_t count_;                     // number of instructions
  bool kernels_alike_;                      // every kernel costs the host the same time
  std::array<bool, kOpcodes> may_block_{};  // by opcode
  std::vector<std::size_t> blocks_;         // by instruction, with kTimeline: see BlocksBefore
  Nanos host_ = 0;                          // the host's clock
  std::uint32_t issued_ = 0;
  std::uint32_t awaited_ = kNoInstruction;  // the blocking copy that the host waits for
  bool paid_ = false;                       // the host's cost of instruction issued_ is in host_ already
  bool failed_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_EVENT_HOST_H_
