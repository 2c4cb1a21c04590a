#include "sim/program/step_tables.h"

#include <algorithm>
#include <cassert>
#include <set>

#include "hw/text/lists.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"
#include "sim/plan/parts.h"

namespace spillway {

namespace {

// The rows of the launch table, each launch once. They are few: ResNet-50's 53 convolutions have 20 shapes. Hashes are
// compared first: a launch is twenty times as long.
class LaunchRows {
 public:
  explicit LaunchRows(std::vector<Launch>& launches) : launches_(launches) {}
  std::uint32_t RowOf(const Launch& launch) {
    const std::uint64_t hash = HashOfWork(launch);
    for (std::size_t row = 0; row < hashes_.size(); ++row) {
      if (hashes_[row] == hash && launches_[row] == launch) return static_cast<std::uint32_t>(row);
    }
    hashes_.push_back(hash);
    launches_.push_back(launch);
    return static_cast<std::uint32_t>(hashes_.size() - 1);
  }

 private:
  std::vector<Launch>& launches_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

StepTables::StepTables(const TrainingStep& s, const CostModel& c, int d, Bytes capacity)
    : step(&s), costs(&c), device(d), uses(s) {
  const Machine& machine = c.machine();
  const auto nearest = std::find_if(machine.links.begin(), machine.links.end(),
                                    [d](const Link& candidate) { return candidate.device == d; });
  assert(nearest != machine.links.end() && "a loaded machine links every device");
  link = static_cast<std::uint16_t>(nearest - machine.links.begin());
  host = nearest->host;
  for (std::size_t t = 0; t < s.tensors.size(); ++t) {
    bytes.push_back(RoundToUnit(s.tensors[t].bytes));
    persistent.push_back(s.tensors[t].Traits().resident);
    if (s.tensors[t].Traits().on_host) inputs.push_back(static_cast<TensorId>(t));
    last_use.push_back(uses.of[t].empty() ? kNoOp : uses.of[t].back());
  }
  for (const BackwardUnits units : {BackwardUnits::kLayers, BackwardUnits::kBreakPoints}) {
    unit[static_cast<std::size_t>(units)] = UnitOfOps(s, units);
  }
  Bytes always = 0;
  for (std::size_t t = 0; t < bytes.size(); ++t) always += persistent[t] ? bytes[t] : 0;
  first_touch_.push_back(0);
  LaunchRows rows(launches);
  for (const Op& op : s.ops) {
    const auto id = static_cast<OpId>(launch.size());
    AddTouches(id);
    const Bytes operands = always + OperandBytes(id);
    if (c.Kernel(LaunchOf(op), d).calls == 0) refused.push_back(id);
    const Launch call = UsualWithin(LaunchOf(op), operands, capacity);
    launch.push_back(rows.RowOf(call));
    launch_again.push_back(op.recompute_differs ? rows.RowOf(UsualWithin(RecomputationOf(op), operands, capacity))
                                                : launch.back());
    working_set_.push_back(operands + call.workspace);
  }
}

// With the workspace that the library asks for, or takes of what `operands` leave of the capacity.
Launch StepTables::UsualWithin(Launch call, Bytes operands, Bytes capacity) const {
  call.workspace = costs->Kernel(call, device).workspace;
  if (call.workspace > 0 && operands + RoundToUnit(call.workspace) > capacity) {
    call.workspace = TakenWithin(call, capacity - operands);
  }
  return call;
}

Bytes StepTables::TakenWithin(Launch called, Bytes granted) const {
  if (!costs->KnowsWorkspace(called)) return called.workspace;
  const Bytes units = std::max<Bytes>(0, granted) / kAllocationUnit * kAllocationUnit;
  called.algorithm = 0;
  called.workspace = units;
  return costs->Kernel(called, device).workspace;
}

bool StepTables::CutsGrants(Bytes capacity) const {
  for (std::size_t op = 0; op < launch.size(); ++op) {
    const Bytes workspace = launches[launch[op]].workspace;
    for (const Bytes wanted : {workspace, launches[launch_again[op]].workspace}) {
      if (wanted > 0 && working_set_[op] - workspace + RoundToUnit(wanted) > capacity) return true;
    }
  }
  return false;
}

void StepTables::AddTouches(OpId op) {
  const auto add = [this, op](TensorId t, Access access) {
    touches_.push_back({t, access, last_use[Index(t)] == op && !persistent[Index(t)]});
  };
  const std::vector<TensorId>& reads = step->ops[Index(op)].reads;
  const std::vector<TensorId>& writes = step->ops[Index(op)].writes;
  for (const TensorId t : reads) add(t, Contains(writes, t) ? Access::kReadWrite : Access::kRead);
  for (const TensorId t : writes) {
    if (!Contains(reads, t)) add(t, Access::kWrite);
  }
  first_touch_.push_back(static_cast<std::uint32_t>(touches_.size()));
}

Bytes StepTables::OperandBytes(OpId op) const {
  Bytes sum = 0;
  for (const Touch& touch : Touches(op)) sum += persistent[Index(touch.tensor)] ? 0 : bytes[Index(touch.tensor)];
  return sum;
}

OpId StepTables::LargestWorkingSet() const {
  return static_cast<OpId>(std::max_element(working_set_.begin(), working_set_.end()) - working_set_.begin());
}

// Of an op whose library chooses, whole or in parts; of one with a named algorithm, what that is granted.
Bytes StepTables::LeastWorkspace(const OpDecision& decision) const {
  const Op& op = step->ops[Index(decision.op)];
  if (decision.parts.empty()) {
    if (decision.algorithm != 0) return decision.workspace;
    return std::min(decision.workspace, TakenWithin(LaunchOf(op), 0));
  }
  const std::vector<std::vector<Launch>> tiles = LaunchesOfParts(decision, op);
  Bytes most = 0;
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    const OpPart& part = decision.parts[k];
    if (part.workspace <= most) continue;
    Bytes wanted = part.algorithm == 0 ? 0 : part.workspace;
    for (const Launch& tile : tiles[k]) {
      if (part.algorithm == 0) wanted = std::max(wanted, TakenWithin(tile, 0));
    }
    most = std::max(most, std::min(wanted, part.workspace));
  }
  return most;
}

std::vector<Bytes> StepTables::WorkingSets(std::span<const OpDecision> decisions, Grants grants) const {
  std::vector<Bytes> sets = working_set_;
  const auto usual = [this](OpId op) { return launches[launch[Index(op)]].workspace; };
  if (grants == Grants::kLeast) {
    for (OpId op = 0; op < static_cast<OpId>(sets.size()); ++op) {
      if (usual(op) > 0) sets[Index(op)] += TakenWithin(launches[launch[Index(op)]], 0) - usual(op);
    }
  }
  std::set<OpId> fused;  // with the op before
  for (const OpDecision& decision : decisions) {
    if (decision.fused) fused.insert(decision.op);
  }
  for (const OpDecision& decision : decisions) {
    Bytes granted = decision.workspace;
    for (const OpPart& part : decision.parts) granted = std::max(granted, part.workspace);
    if (grants == Grants::kLeast) granted = LeastWorkspace(decision);
    sets[Index(decision.op)] = working_set_[Index(decision.op)] - usual(decision.op) + granted;
    for (const TensorId t : decision.streamed) sets[Index(decision.op)] -= bytes[Index(t)];
    // Fused, an op need not have tiles of more than one part of what it streams.
    const bool alone = !fused.contains(decision.op) && !fused.contains(decision.op + 1);
    sets[Index(decision.op)] += MostTiles(decision, TileDepth(alone ? decision.depth : 1));
  }
  return sets;
}

namespace {

// The tiles of one streamed operand, by kernel.
struct TileSizes {
  std::vector<Bytes> bytes;
  std::vector<bool> stays;  // it is the tile of the kernel before
};

TileSizes SizesOf(const TrainingStep& step, const OpDecision& decision, TensorId t, std::span<const OpTile> tiles) {
  const Tensor& tensor = step.tensors[Index(t)];
  TileSizes sizes;
  if (!decision.tiles.Any()) {
    for (const OpPart& part : decision.parts) {
      sizes.bytes.push_back(RoundToUnit(tensor.bytes / tensor.shape.n * part.samples));
    }
    sizes.stays.resize(sizes.bytes.size(), false);
    return sizes;
  }
  const Op& op = step.ops[Index(decision.op)];
  const bool padded = HoldsPadding(decision, op);
  Box before;
  for (const OpTile& tile : tiles) {
    const Box box = BoxOfTile(step, op, t, tile, padded);
    sizes.stays.push_back(!sizes.bytes.empty() && box == before);
    sizes.bytes.push_back(RoundToUnit(BytesOf(tensor, box)));
    before = box;
  }
  return sizes;
}

}  // namespace

// Bytes of a streamed op's tiles at the moment when they are most: tiles of the kernel that runs, tiles copied in ahead
// of it, tiles still copied out behind it.
Bytes StepTables::MostTiles(const OpDecision& decision, const TileDepth& depth) const {
  if (decision.streamed.empty()) return 0;
  const std::vector<OpTile> tiles =
      decision.tiles.Any() ? TilesOf(decision, step->ops[Index(decision.op)]) : std::vector<OpTile>{};
  const std::size_t kernels = decision.tiles.Any() ? tiles.size() : decision.parts.size();
  std::vector<Bytes> live(kernels, 0);
  for (const Touch& touch : Touches(decision.op)) {
    if (!Contains(decision.streamed, touch.tensor)) continue;
    const TileSizes sizes = SizesOf(*step, decision, touch.tensor, tiles);
    for (std::size_t k = 0; k < kernels; ++k) {
      const std::size_t first = touch.access == Access::kRead ? k : k - std::min(k, depth.behind);
      const std::size_t last = touch.access == Access::kWrite ? k : std::min(k + depth.ahead, kernels - 1);
      for (std::size_t j = first; j <= last; ++j) live[k] += j > first && sizes.stays[j] ? 0 : sizes.bytes[j];
    }
  }
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

Bytes StepTables::NetworkWide() const {
  Bytes all = 0, gradient = 0, scratch = 0, always = 0;
  for (std::size_t t = 0; t < bytes.size(); ++t) {
    const bool shared = step->tensors[t].use == TensorClass::kGradient;
    (shared ? gradient : all) = shared ? std::max(gradient, bytes[t]) : all + bytes[t];
    always += persistent[t] ? bytes[t] : 0;
  }
  for (OpId op = 0; op < static_cast<OpId>(step->ops.size()); ++op) {
    Bytes workspace = WorkingSet(op) - always;
    for (const Touch& touch : Touches(op))
      workspace -= persistent[Index(touch.tensor)] ? 0 : bytes[Index(touch.tensor)];
    scratch = std::max(scratch, workspace);
  }
  return all + 2 * gradient + scratch;
}

}  // namespace spillway
