#include "hw/text/lists.h"
#include "sim/plan/runtime.h"

namespace spillway {

namespace {

std::vector<RuntimeEntry> MakeRuntimes() {
  Runtime pooch;
  pooch.copy_streams = 1;
  pooch.memory = MemoryModel::kPool;
  pooch.barrier = Barrier::kPhase;
  pooch.host_syncs = HostSyncs::kBackwardLayer;
  pooch.swap_in_waits = SwapInWaits::kBackwardLayer;
  Runtime vdnn;
  vdnn.copy_streams = 1;
  vdnn.memory = MemoryModel::kPool;
  vdnn.barrier = Barrier::kOp;
  Runtime vdnn_plus = vdnn;
  vdnn_plus.barrier = Barrier::kPhase;
  Runtime paging;  // of an allocator that waits for what it evicts
  paging.memory = MemoryModel::kPool;
  Runtime chainer_ooc = paging;
  chainer_ooc.backward_units = BackwardUnits::kBreakPoints;
  Runtime synchronous = paging;
  synchronous.copy_streams = 1;
  synchronous.blocking_copies = BlockingCopies::kAll;
  Runtime managed, prefetch;
  managed.memory = MemoryModel::kManaged;
  prefetch.memory = MemoryModel::kManagedPrefetch;
  return {
      {"arena", "ours: a copy stream per direction, memory laid out in advance, no barriers", Runtime{}},
      {"pooch",
       "PoocH: one copy stream, a memory pool that blocks, host waits after forward and before and after each backward "
       "layer",
       pooch},
      {"vdnn", "vDNN: one copy stream, a memory pool, the host waits for kernels and copies after every layer", vdnn},
      {"unified-memory", "CUDA's managed memory: pages come when kernels touch them; simulated only, by assumption",
       managed},
      {"unified-memory-prefetch", "the same, each kernel's operands prefetched before it", prefetch},
      {"vdnn++", "vDNN++: one copy stream, a memory pool that blocks, the host waits for copies after forward only",
       vdnn_plus},
      {"paging", "SuperNeurons, TFLMSv2, PyTorch LMS: a copy stream per direction, a memory pool that blocks", paging},
      {"paging-synchronous", "SuperNeurons' published code: a memory pool, copies that return when they are done",
       synchronous},
      {"chainer-ooc",
       "out-of-core Chainer: a copy stream per direction, a memory pool that blocks, backward in break points",
       chainer_ooc},
  };
}

}  // namespace

const std::vector<RuntimeEntry>& RuntimeTable() {
  static const std::vector<RuntimeEntry> table = MakeRuntimes();
  return table;
}

const Runtime& RuntimeByName(const std::string& name) { return ByName(RuntimeTable(), name, "no runtime").runtime; }

}  // namespace spillway
