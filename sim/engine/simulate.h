// Executes a Program in simulated time.
//
// Two engines give the same answer where both apply (tests/sim/simulate_random_test.cc, many_streams_test.cc):
//   relax   one pass over the instructions; durations are final. About 1 ns an instruction.
//   events  kernels and copies that slow each other down; the clock advances from one end of an instruction to the
//           next and the rates are set anew. Used when a factor of Conditions is not 1, and for pools with addresses.
#ifndef SPILLWAY_SIM_ENGINE_SIMULATE_H_
#define SPILLWAY_SIM_ENGINE_SIMULATE_H_

#include <array>
#include <span>
#include <vector>

#include "sim/engine/timeline.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"

namespace spillway {

// The cost of moving live bytes within the device's memory.
struct CompactionCost {
  double rate = 0;     // bytes moved per nanosecond (each is read and written); 0 = moving takes no time
  Nanos per_copy = 0;  // fixed time of one copy from device memory to device memory
};

// The machine's behaviour in addition to durations. The default is ideal: no host cost, no contention, unlimited
// memory.
struct Conditions {
  // Host time by Opcode, before the instruction is issued; for a kHostSync after the wait, to wake up.
  std::array<Nanos, kOpcodes> host_cost{};
  // Host time of a kKernel by launch, in place of host_cost; empty = one figure holds for all kernels.
  std::vector<Nanos> launch_cost = {};
  Bytes pool_capacity = 0;           // Programs of a pool only; 0 = unlimited
  PoolKind pool = PoolKind::kBytes;  // kAddresses: the event engine only
  CompactionCost compaction;         // for a pool with addresses
  BlockingCopies blocking_copies = BlockingCopies::kNone;
  // The host's pause after it has issued a kernel that recomputes (the last one, if the op has parts), and after each
  // free that it waited for in a pool.
  Nanos collection_time = 0;
  // The part of a kernel's host cost that is paid once per op, not again for further parts of the same op.
  Nanos framework_time = 0;
  std::vector<std::array<double, 2>> duplex_factor;  // by link, then Direction (Link::duplex_factor); empty or 1 = none
  std::vector<double> copy_slowdown;                 // by launch: factor on a kernel while a copy runs; empty = none
  bool Contention() const;
  // Sets all host times to zero.
  void DropHostCosts() {
    host_cost.fill(0);
    launch_cost.clear();
    collection_time = 0;
    framework_time = 0;
  }
  bool Blocks(const Copy& copy) const {
    return blocking_copies == BlockingCopies::kAll ||
           (blocking_copies == BlockingCopies::kSwapOuts && copy.direction == Direction::kDeviceToHost);
  }
};
Conditions ConditionsOf(const Program& program, const CostModel& costs, const Runtime& runtime, Bytes capacity);

struct Simulated {
  bool completed = true;        // false: a pool ran out of memory
  std::uint32_t failed_at = 0;  // the kAlloc that failed
  Bytes failed_live = 0;        // bytes in use then
  Nanos makespan = 0;           // first issue to the last stream's end
  Bytes live_peak = 0;          // most bytes live on device 0, by the times at which streams reach kAlloc and kFree
  Bytes pool_peak = 0;          // pool: most bytes handed out at once, as the host sees it
  int compactions = 0;          // pool with addresses: how often it was compacted
  Bytes compacted_bytes = 0;    // bytes moved by compactions
};

// Memory that the engines reuse; belongs to the caller, one per thread. Contents mean nothing between calls.
struct Scratch {
  struct PendingFree {  // pool: bytes that come back when a copy stream gets there
    std::uint32_t instruction;
    Bytes bytes;
  };
  std::vector<Nanos> event_time;
  std::vector<std::vector<std::pair<Nanos, Bytes>>> memory;  // by stream, see sim/engine/engine_internal.h
  std::vector<PendingFree> pending;
  std::vector<Nanos> reached;         // by instruction: when its stream got there (pool frees only)
  std::vector<Nanos> issued;          // by instruction: when the host issued it (event engine)
  std::vector<std::uint32_t> next;    // by instruction: the following one on its stream
  std::vector<Instruction> last_run;  // see sim/engine/relax_arena.cc
};

// REQUIRES: durations.size() == program.code.size(); the program obeys sim/program/program.h.
// `timeline`, if given, is overwritten.
Simulated Simulate(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                   Scratch& scratch, Timeline* timeline = nullptr);
// As Simulate, in less time, but live_peak stays 0: for searches that ask thousands of times.
Simulated SimulateTimes(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                        Scratch& scratch);

// The engines themselves, for tests and benchmarks.
Simulated SimulateRelax(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                        Scratch& scratch, Timeline* timeline = nullptr);
Simulated SimulateEvents(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                         Scratch& scratch, Timeline* timeline = nullptr);

// Durations for a replay: the spans of a measured (or predicted) Timeline of the same Program. Slowdowns are in them
// already, so a replay runs under ideal Conditions.
std::vector<Nanos> ReplayDurations(const Program& program, const Timeline& timeline);

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_SIMULATE_H_
