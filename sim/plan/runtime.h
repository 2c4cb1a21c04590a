// The runtime of the modelled system that carries out a plan: its streams, its memory, and its waits.
#ifndef SPILLWAY_SIM_PLAN_RUNTIME_H_
#define SPILLWAY_SIM_PLAN_RUNTIME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/step/training_step.h"

namespace spillway {

enum class MemoryModel : std::uint8_t {
  kArena,
  kPool,
  kManaged,          // unified memory: an arena beyond the device's memory, pages come when kernels touch them
  kManagedPrefetch,  // unified memory, with each kernel's operands prefetched (sim/engine/managed_memory.h)
};
constexpr bool IsManaged(MemoryModel memory) { return memory >= MemoryModel::kManaged; }
enum class Barrier : std::uint8_t {
  kNone,
  kPhase,  // at the end of the forward phase the host waits for every copy
  kOp,     // after every layer the host waits for its kernels and for every copy (vDNN)
  kCall,   // as kOp, but after every op (ooc_cuDNN's released code)
};
enum class HostSyncs : std::uint8_t {
  kNone,
  kBackwardLayer,  // after the backward ops of each unit (BackwardUnits) the host waits for them (PoocH)
};

// The waiter for a swap-in.
enum class SwapInWaits : std::uint8_t {
  kKernel,         // the first kernel that uses it, on its stream
  kBackwardLayer,  // in backward the host: before it issues a unit, for all operands of its ops; before a
                   // recomputation, for all its operands (PoocH)
};

// The units of backward: at their begin swap-ins are issued and awaited, recomputation begins and the host waits.
enum class BackwardUnits : std::uint8_t {
  kLayers,
  kBreakPoints,  // a layer whose result is a feature map begins one, layers whose results are not go on with it: ReLU,
                 // addition and batch norm together (the sub-graphs between break points of PoocH's published code)
};
// By op: the number of its unit, ascending. Ops in a row of one layer are never cut apart; forward and the update are
// counted by layers, whatever `units` says.
std::vector<std::int32_t> UnitOfOps(const TrainingStep& step, BackwardUnits units);

// The waiter after each kernel of an op that a plan divides.
enum class PartWaits : std::uint8_t {
  kNone,
  kHost,  // as micro-cuDNN's published code, which changes descriptors and workspace for the next one
};

// The lifetime of workspaces.
enum class Workspaces : std::uint8_t {
  kPerOp,  // while the op runs, so that the next op can use the same bytes
  kHeld,   // throughout: each op owns its workspace, for all its parts (micro-cuDNN's workspace division)
};

// How the pool of a runtime with MemoryModel::kPool finds room.
enum class PoolKind : std::uint8_t {
  kBytes,      // any free bytes will do
  kAddresses,  // free bytes must lie together; if they do not, the pool is compacted (sim/engine/pool.h)
};

// Copies whose call returns only when they are done, as with memory that is not pinned.
enum class BlockingCopies : std::uint8_t { kNone, kSwapOuts, kAll };

constexpr Bytes kLeastCopyChunk = 64 * kKiB;  // smaller pieces make a program of millions of copies
constexpr Nanos kMostFrameworkTime = kSecond;
constexpr Nanos kMostCollectionTime = kSecond;

// How the modelled system executes. It belongs to the system, not to the network: one row of a table per system.
struct Runtime {
  int copy_streams = 2;  // 1: both directions share one stream
  MemoryModel memory = MemoryModel::kArena;
  Barrier barrier = Barrier::kNone;
  HostSyncs host_syncs = HostSyncs::kNone;
  Nanos framework_time = 0;  // host time per op on top of the driver's, e.g. an interpreter's; up to a second
  // 0 = a tensor is copied in one piece; else at least kLeastCopyChunk. Tensors of ops in parts are cut between
  // samples, into pieces that are no smaller.
  Bytes copy_chunk = 0;
  PoolKind pool = PoolKind::kBytes;
  BlockingCopies blocking_copies = BlockingCopies::kNone;
  SwapInWaits swap_in_waits = SwapInWaits::kKernel;
  // The host's pause for a garbage collection of its interpreter, after every kernel that recomputes and every wait of
  // a pool for a swap-out (PoocH's published code); up to a second. Predicted only: no device carries it out.
  Nanos collection_time = 0;
  BackwardUnits backward_units = BackwardUnits::kLayers;
  PartWaits part_waits = PartWaits::kNone;
  Workspaces workspaces = Workspaces::kPerOp;
  // The percentage of swapped-out bytes that the host holds, from 1 to 100: a CPU that compresses them (vDNN++). The
  // ratio is stated, not measured. Copies cross the link uncompressed, and compression keeps up with them. Predicted
  // only.
  int host_percent = 100;
  bool operator==(const Runtime&) const = default;
};

// Reads the fields of a Runtime from a map of a plan or scenario; fields without a key keep their values.
void ReadRuntimeFields(MapReader& reader, Runtime& runtime);

// ---- The runtimes of the modelled systems, by name: "pooch", "arena".

struct RuntimeEntry {
  const char* name;
  const char* description;  // one line
  Runtime runtime;
};
const std::vector<RuntimeEntry>& RuntimeTable();
const Runtime& RuntimeByName(const std::string& name);  // UserError with the nearest name

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_RUNTIME_H_
