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
  Runtime counted;
  counted.memory = MemoryModel::kCounted;
  Runtime torch;  // a plan carried out beside eager PyTorch; 27 us a call: measured on PyTorch 2.15, one processor
  torch.memory = MemoryModel::kCounted;
  torch.framework_time = 27 * kMicrosecond;
  torch.gaps = CarriedGaps::kAll;
  Runtime torch_saved = torch;
  torch_saved.gaps = CarriedGaps::kSaved;
  Runtime managed, prefetch;
  managed.memory = MemoryModel::kManaged;
  prefetch.memory = MemoryModel::kManagedPrefetch;
  return {
      {"arena", "ours: two copy streams, addresses fixed before the step, no barriers", Runtime{}},
      {"pooch", "PoocH: one copy stream, pool; host waits after forward, at backward layers", pooch},
      {"vdnn", "vDNN: one copy stream, pool; host waits for all work after each layer", vdnn},
      {"unified-memory", "managed memory: pages come when kernels touch them; simulated, assumed", managed},
      {"unified-memory-prefetch", "unified-memory, with operands prefetched before each kernel", prefetch},
      {"vdnn++", "vDNN++: one copy stream, pool; host waits for copies after forward only", vdnn_plus},
      {"paging", "SuperNeurons, TFLMSv2, PyTorch LMS: two copy streams, pool", paging},
      {"paging-synchronous", "SuperNeurons' code: pool; each copy call returns after its copy", synchronous},
      {"torch", "a plan in eager PyTorch: two copy streams, counted memory, 27 us per op (assumed)", torch},
      {"counted", "torch by a host that takes no time: two copy streams, counted memory", counted},
      {"torch-saved", "torch; only tensors that autograd saves leave, between forward and backward", torch_saved},
      {"chainer-ooc", "out-of-core Chainer: two copy streams, pool, backward in break points", chainer_ooc},
  };
}

}  // namespace

const std::vector<RuntimeEntry>& RuntimeTable() {
  static const std::vector<RuntimeEntry> table = MakeRuntimes();
  return table;
}

const Runtime& RuntimeByName(const std::string& name) { return ByName(RuntimeTable(), name, "no runtime").runtime; }

}  // namespace spillway
