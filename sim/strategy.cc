#include "sim/strategy.h"

#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

constexpr const char* kPoochPaper = "Ito et al., Profiling based Out-of-core Hybrid Method, arXiv 1907.05013";

std::vector<Strategy> MakeStrategies() {
  return {
      {"in-core", "everything stays on the device; the yardstick where it fits", "", PlanInCore},
      {"recompute-all", "every feature map is dropped and computed again where backward needs it", kPoochPaper,
       PlanRecomputeAll},
      {"swap-all-unscheduled", "every feature map is swapped, swap-ins one layer ahead of need", kPoochPaper,
       PlanSwapAllUnscheduled},
      {"swap-all", "every feature map is swapped, swap-ins as early as there is room", kPoochPaper, PlanSwapAll},
      {"swap-opt", "keep or swap, searched on a simulated timeline (PoocH's step 1)", kPoochPaper, PlanSwapOpt, false,
       1},
      {"pooch", "keep, swap or recompute, searched on a simulated timeline", kPoochPaper, PlanPooch, false, 2},
      {"pooch-keep-passed", "the same, but maps recomputed on the way to another one stay", kPoochPaper,
       PlanPoochKeepPassed, false, 2},
      {"pooch-released", "PoocH as its published code decides: greedy, swap-ins in bursts",
       "yukiito2/chainer, branch 3.0.0rc1-pooch", PlanPoochReleased, false, 2},
      {"superneurons", "keep from the output layer, swap convolutions, recompute the rest, as PoocH models it",
       "Wang et al., SuperNeurons, PPoPP 2018, arXiv 1801.04380", PlanSuperneurons, false, 1},
  };
}

std::vector<RuntimeEntry> MakeRuntimes() {
  Runtime pooch;
  pooch.copy_streams = 1;
  pooch.memory = MemoryModel::kPool;
  pooch.barrier = Barrier::kPhase;
  pooch.host_syncs = HostSyncs::kBackwardLayer;
  pooch.swap_in_waits = SwapInWaits::kBackwardLayer;
  return {
      {"arena", "ours: a copy stream per direction, memory laid out in advance, no barriers", Runtime{}},
      {"pooch",
       "PoocH: one copy stream, a memory pool that blocks, host waits after forward and before and after each backward "
       "layer",
       pooch},
  };
}

template <typename Row>
const Row& ByName(const std::vector<Row>& table, const std::string& name, const char* what) {
  for (const Row& row : table) {
    if (name == row.name) return row;
  }
  std::vector<std::string> names;
  for (const Row& row : table) names.emplace_back(row.name);
  throw UserError(std::string("no ") + what + " '" + name + "'" + DidYouMean(name, names));
}

}  // namespace

const std::vector<Strategy>& Strategies() {
  static const std::vector<Strategy> table = MakeStrategies();
  return table;
}

const Strategy& StrategyByName(const std::string& name) { return ByName(Strategies(), name, "strategy"); }

const std::vector<RuntimeEntry>& RuntimeTable() {
  static const std::vector<RuntimeEntry> table = MakeRuntimes();
  return table;
}

const Runtime& RuntimeByName(const std::string& name) { return ByName(RuntimeTable(), name, "runtime").runtime; }

}  // namespace spillway
