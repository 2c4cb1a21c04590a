#include "calibrate/measure/plan.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "hw/text/lists.h"
#include "model/step/work_hash.h"
#include "model/unroll/unroll.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

using Networks = std::vector<std::shared_ptr<const BenchNetwork>>;

// A rough processor, to tell what makes most of a step: operations and bytes per nanosecond.
constexpr double kRoughPeak = 100, kRoughBandwidth = 10;
// Rounds of the same launch: first, beside copies, and once more at the end.
constexpr int kRoundBeside = 2, kRoundAgain = 3, kLastRound = 5, kQuickLastRound = 3;

double RoughTime(const Launch& launch) {
  const Work work = CountWork(launch);
  return work.flops / kRoughPeak + work.bytes / kRoughBandwidth;
}

struct Distinct {
  BenchItem item;
  double share = 0;  // of the step it is in, summed over its ops
};

// The distinct launches of networks, in the order of their first ops.
class LaunchCollector {
 public:
  void Add(const std::shared_ptr<const BenchNetwork>& network, BenchGroup group);
  std::vector<Distinct>& launches() { return launches_; }

 private:
  Distinct& Find(const Launch& launch, bool* is_new);
  std::vector<Distinct> launches_;
  std::unordered_multimap<std::uint64_t, std::size_t> places_;
};

Distinct& LaunchCollector::Find(const Launch& launch, bool* is_new) {
  const std::uint64_t hash = HashOfWork(launch);
  const auto [begin, end] = places_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (launches_[at->second].item.launch == launch) return launches_[at->second];
  }
  *is_new = true;
  places_.emplace(hash, launches_.size());
  return launches_.emplace_back();
}

void LaunchCollector::Add(const std::shared_ptr<const BenchNetwork>& network, BenchGroup group) {
  double whole = 0;
  for (const Op& op : network->step.ops) whole += RoughTime(LaunchOf(op));
  for (OpId id = 0; id < static_cast<OpId>(network->step.ops.size()); ++id) {
    const Launch launch = AsConvolution(LaunchOf(network->step.ops[static_cast<std::size_t>(id)]));
    if (launch.shape.PadBegin() != launch.shape.PadEnd()) continue;  // a row states one padding for both sides
    bool is_new = false;
    Distinct& found = Find(launch, &is_new);
    if (is_new) {
      found.item.group = group;
      found.item.from = network;
      found.item.op = id;
      found.item.launch = launch;
    }
    found.share += RoughTime(launch) / whole;
  }
}

void AddCopy(const BenchCopies& copies, Bytes bytes, Bytes row, bool both, std::vector<BenchItem>* plan) {
  for (const std::string& direction : copies.directions) {
    BenchItem item;
    item.kind = BenchItem::Kind::kCopy;
    item.group = copies.group;
    item.bytes = row > 0 ? bytes / row * row : bytes;
    item.row_bytes = row;
    item.pitch_bytes = 2 * row;
    item.direction = direction;
    item.memory = copies.memory;
    if (both) item.contention = direction == "h2d" ? "d2h" : "h2d";
    plan->push_back(item);
  }
}

void AddCopies(const BenchCopies& copies, bool quick, std::vector<BenchItem>* plan) {
  const Bytes factor = quick ? 4 * copies.factor : copies.factor;
  const std::vector<Bytes> rows = copies.row_bytes.empty() ? std::vector<Bytes>{0} : copies.row_bytes;
  for (const bool both : {false, true}) {
    if (both && !copies.both) continue;
    for (Bytes bytes = copies.least; bytes <= copies.most; bytes *= factor) {
      // Latency is no matter of the link: only copies that it bounds tell what two directions leave each other.
      if (both && bytes < kMiB) continue;
      for (const Bytes row : rows) AddCopy(copies, bytes, row, both, plan);
    }
  }
}

void AddCopiesOf(BenchGroup group, const BenchPlanOptions& options, std::vector<BenchItem>* plan) {
  for (const BenchCopies& copies : options.copies) {
    if (copies.group == group) AddCopies(copies, options.quick, plan);
  }
}

bool IsWanted(BenchGroup group, const std::vector<BenchGroup>& groups) {
  if (groups.empty()) return group != BenchGroup::kManaged;
  return Contains(groups, group);
}

void AddHostCalls(const std::vector<std::string>& calls, std::vector<BenchItem>* plan) {
  for (const std::string& call : calls) {
    BenchItem item;
    item.kind = BenchItem::Kind::kHost;
    item.group = BenchGroup::kHost;
    item.call = call;
    plan->push_back(item);
  }
}

bool HasMath(const Launch& launch) { return IsProduct(launch.kind) && launch.type == DataType::kFp32; }

// All in the first, then those that products make in each of the others.
std::vector<Distinct> InMaths(const std::vector<Distinct>& launches, const std::vector<MathMode>& maths) {
  std::vector<Distinct> all;
  for (const MathMode math : maths) {
    for (Distinct launch : launches) {
      if (math != maths.front() && !HasMath(launch.item.launch)) continue;
      if (HasMath(launch.item.launch)) launch.item.launch.math = math;
      all.push_back(std::move(launch));
    }
  }
  return all;
}

// What each network adds, in all maths before the next network: the usual budget ends within a long grid, and what
// comes in a second math would not have its turn.
std::vector<Distinct> CollectGrid(const Networks& grid, const std::vector<MathMode>& maths,
                                  LaunchCollector* collector) {
  std::vector<Distinct> all;
  for (const auto& network : grid) {
    const auto known = static_cast<std::ptrdiff_t>(collector->launches().size());
    collector->Add(network, BenchGroup::kGrid);
    const std::vector<Distinct> added(collector->launches().begin() + known, collector->launches().end());
    for (Distinct& launch : InMaths(added, maths)) all.push_back(std::move(launch));
  }
  return all;
}

// Of each op and pass the launch that moves most bytes: alone once more, so that both times are of the same minute, and
// beside a copy.
void AddBeside(const std::vector<Distinct>& launches, std::vector<BenchItem>* plan) {
  std::set<std::pair<OpKind, Pass>> done;
  std::vector<const Distinct*> sorted;
  for (const Distinct& launch : launches) sorted.push_back(&launch);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Distinct* a, const Distinct* b) {
    return CountWork(a->item.launch).bytes > CountWork(b->item.launch).bytes;
  });
  for (const Distinct* launch : sorted) {
    if (!done.emplace(launch->item.launch.kind, launch->item.launch.pass).second) continue;
    BenchItem item = launch->item;
    item.group = BenchGroup::kBeside;
    item.round = kRoundBeside;
    plan->push_back(item);
    item.round = 1;
    for (const char* direction : {"h2d", "d2h"}) {
      item.contention = direction;
      plan->push_back(item);
    }
  }
}

void AddAgain(const std::vector<Distinct>& launches, const BenchPlanOptions& options, std::vector<BenchItem>* plan) {
  for (int round = kRoundAgain; round <= (options.quick ? kQuickLastRound : kLastRound); ++round) {
    for (const Distinct& launch : launches) {
      BenchItem item = launch.item;
      item.group = BenchGroup::kAgain;
      item.round = round;
      plan->push_back(item);
    }
  }
}

}  // namespace

const std::vector<std::string>& BenchGroupNames() {
  static const std::vector<std::string> names = {"copies", "host",   "networks", "beside", "memory",
                                                 "grid",   "beyond", "again",    "managed"};
  return names;
}
const char* BenchGroupName(BenchGroup group) { return BenchGroupNames()[static_cast<std::size_t>(group)].c_str(); }

const std::vector<std::string>& HostCallNames() {
  static const std::vector<std::string> names = {"kernel_launch", "copy_submit", "event_record", "stream_wait",
                                                 "sync",          "event_wake",  "thread_start"};
  return names;
}

std::vector<BenchItem> MakeBenchPlan(const Networks& networks, const Networks& grid, const BenchPlanOptions& options) {
  std::vector<BenchItem> plan;
  AddCopiesOf(BenchGroup::kCopies, options, &plan);
  AddHostCalls(options.host_calls, &plan);
  LaunchCollector collector;
  for (const auto& network : networks) collector.Add(network, BenchGroup::kNetworks);
  std::vector<Distinct> wanted = collector.launches();
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Distinct& a, const Distinct& b) { return a.share > b.share; });
  wanted = InMaths(wanted, options.maths);
  for (const Distinct& launch : wanted) plan.push_back(launch.item);
  const std::vector<Distinct> others = CollectGrid(grid, options.maths, &collector);
  AddBeside(wanted.empty() ? collector.launches() : wanted, &plan);
  AddCopiesOf(BenchGroup::kMemory, options, &plan);
  for (const Distinct& launch : others) plan.push_back(launch.item);
  for (BenchItem item : options.beyond) {
    item.group = BenchGroup::kBeyond;
    plan.push_back(std::move(item));
  }
  AddAgain(wanted, options, &plan);
  AddCopiesOf(BenchGroup::kManaged, options, &plan);
  std::erase_if(plan, [&](const BenchItem& item) { return !IsWanted(item.group, options.groups); });
  return plan;
}

double BudgetShare(BenchGroup group) {
  switch (group) {
    case BenchGroup::kCopies:
      return 0.20;
    case BenchGroup::kHost:
      return 1.0;  // takes no time to speak of
    case BenchGroup::kNetworks:
      return 0.60;
    case BenchGroup::kBeside:
      return 0.66;
    case BenchGroup::kMemory:
      return 0.72;
    case BenchGroup::kGrid:
      return 0.85;
    case BenchGroup::kBeyond:
      return 0.90;
    case BenchGroup::kAgain:
    case BenchGroup::kManaged:
      break;
  }
  return 1.0;
}

double LargestShare(std::span<const BenchItem> plan) {
  double largest = 0;
  for (const BenchItem& item : plan) {
    if (item.group != BenchGroup::kHost) largest = std::max(largest, BudgetShare(item.group));
  }
  return largest > 0 ? largest : 1;
}

std::shared_ptr<const BenchNetwork> MakeBenchNetwork(std::string name, Network network, const StepOptions& options) {
  TrainingStep step = BuildTrainingStep(network, options);
  return std::make_shared<const BenchNetwork>(BenchNetwork{std::move(name), std::move(network), std::move(step)});
}

}  // namespace spillway
