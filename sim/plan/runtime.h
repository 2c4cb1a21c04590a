// How a modelled system executes a plan: its copy streams, its memory, and its waits. Terms: a unit of backward is a
// layer or a sub-graph; a swap-in copies a tensor from the host to the device.
#ifndef SPILLWAY_SIM_PLAN_RUNTIME_H_
#define SPILLWAY_SIM_PLAN_RUNTIME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/step/training_step.h"

namespace spillway {

enum class MemoryModel : std::uint8_t {
  kArena,            // every buffer has a fixed address before the step
  kPool,             // buffers are allocated and freed while the step runs; an allocation may block the host
  kCounted,          // bytes are counted without addresses, as by a caching allocator; the host never blocks
  kManaged,          // unified memory: an arena larger than the device's memory; pages come when kernels touch them
  kManagedPrefetch,  // kManaged, with each kernel's operands prefetched before it (sim/engine/managed_memory.h)
};
constexpr bool IsManaged(MemoryModel memory) { return memory >= MemoryModel::kManaged; }
// Which bytes are free is known before the step, from the order of the list: swap-ins come as early as these allow.
constexpr bool IsPlannedAhead(MemoryModel memory) {
  return memory == MemoryModel::kArena || memory == MemoryModel::kCounted;
}
// When the host waits for every copy. kOp and kCall wait for kernels, too.
enum class Barrier : std::uint8_t {
  kNone,
  kPhase,  // at the end of the forward phase the host waits for every copy
  kOp,     // after every layer the host waits for its kernels and for every copy (vDNN)
  kCall,   // after every op the host waits for the op's kernels and for every copy (ooc_cuDNN's released code)
};
// When the host waits for kernels alone.
enum class HostSyncs : std::uint8_t {
  kNone,
  kBackwardLayer,  // after issuing the backward ops of a unit (BackwardUnits), the host waits for them (PoocH)
};

// Who waits for a swap-in.
enum class SwapInWaits : std::uint8_t {
  kKernel,  // the stream of the first kernel that uses the tensor
  // The host, in backward (PoocH). Before it issues a unit, it waits for all operands of the unit's ops. Before a
  // recomputation, it waits for the operands of the recomputation.
  kBackwardLayer,
};

// The units of backward. At the beginning of a unit swap-ins are issued and awaited, and recomputation begins; at its
// end the host may wait.
enum class BackwardUnits : std::uint8_t {
  kLayers,
  // Sub-graphs between break points (PoocH's published code). A layer whose result is a feature map begins a unit.
  // Layers without a feature map belong to the unit before: ReLU, addition and batch norm together.
  kBreakPoints,
};
// By op: the number of its unit, ascending. Consecutive ops of one layer have the same unit. In forward and in the
// update a unit is a layer, whatever `units` says.
std::vector<std::int32_t> UnitOfOps(const TrainingStep& step, BackwardUnits units);

// Who waits after each kernel of an op in parts.
enum class PartWaits : std::uint8_t {
  kNone,
  kHost,  // the host, until the kernel is done, before it sets up the next part (micro-cuDNN's published code)
};

// The lifetime of workspaces.
enum class Workspaces : std::uint8_t {
  kPerOp,  // while the op runs; the next op may use the same bytes
  kHeld,   // the whole step: each op owns a workspace, which its parts share (micro-cuDNN's workspace division)
};

// How a pool (MemoryModel::kPool) finds free memory.
enum class PoolKind : std::uint8_t {
  kBytes,      // any free bytes, wherever they lie
  kAddresses,  // contiguous free bytes; if there are none, the pool is compacted (sim/engine/pool.h)
};

// What a framework can carry out of a plan (sim/plan/carried.h).
enum class CarriedGaps : std::uint8_t { kAny, kAll, kSaved };

// The copies whose call blocks the host until the copy is done, as with memory that is not pinned.
enum class BlockingCopies : std::uint8_t { kNone, kSwapOuts, kAll };

constexpr Bytes kLeastCopyChunk = 64 * kKiB;  // with smaller pieces a Program has millions of copies
constexpr Nanos kMostFrameworkTime = kSecond;
constexpr Nanos kMostCollectionTime = kSecond;

// How a modelled system executes. A Runtime belongs to a system, not to a network: the table below has a row for each.
struct Runtime {
  int copy_streams = 2;  // 1: both directions share one stream
  MemoryModel memory = MemoryModel::kArena;
  Barrier barrier = Barrier::kNone;
  HostSyncs host_syncs = HostSyncs::kNone;
  Nanos framework_time = 0;  // host time per op on top of the driver's, e.g. an interpreter's; up to a second
  // Bytes of a piece: 0, a tensor is copied in one piece, or at least kLeastCopyChunk. Tensors of ops in parts are cut
  // between samples only, so their pieces may be larger.
  Bytes copy_chunk = 0;
  PoolKind pool = PoolKind::kBytes;
  BlockingCopies blocking_copies = BlockingCopies::kNone;
  SwapInWaits swap_in_waits = SwapInWaits::kKernel;
  // The host's pause for a garbage collection of its interpreter, up to a second. It follows every kernel that
  // recomputes and every wait of a pool for a swap-out (PoocH's published code). Predicted only: no device carries it
  // out.
  Nanos collection_time = 0;
  BackwardUnits backward_units = BackwardUnits::kLayers;
  PartWaits part_waits = PartWaits::kNone;
  Workspaces workspaces = Workspaces::kPerOp;
  // Per cent of the swapped-out bytes that the host stores, from 1 to 100. Below 100 a CPU compresses them (vDNN++), by
  // a ratio that is stated, not measured. Copies cross the link uncompressed, and compression keeps pace with them.
  // Predicted only: no device carries it out.
  int host_percent = 100;
  // Other than kAny: planners decide only what can be carried out, and other plans do not run here.
  CarriedGaps gaps = CarriedGaps::kAny;
  bool operator==(const Runtime&) const = default;
};

// Reads the fields of a Runtime from a map of a plan file or a scenario. Fields that the map lacks keep their values.
void ReadRuntimeFields(MapReader& reader, Runtime& runtime);

// ---- The runtimes of the modelled systems, by name: "pooch", "arena".

struct RuntimeEntry {
  const char* name;
  const char* description;  // one line
  Runtime runtime;
};
const std::vector<RuntimeEntry>& RuntimeTable();
const Runtime& RuntimeByName(const std::string& name);  // throws UserError with the nearest name if there is none

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_RUNTIME_H_
