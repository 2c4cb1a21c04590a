// Facts about one training step on one device that do not depend on any plan. They are made once and used for thousands
// of plans: by `lower`, by bounds and by strategies.
//
// Rows are flat arrays, by op or by tensor, because lowering goes through a whole step and TrainingStep's ops are far
// apart in memory. Example, a convolution and a ReLU in place, tensors of 1000 bytes, x the input, w parameters:
//
//   op 0  conv reads x, w, writes y      Touches(0): {x, kRead, last} {w, kRead} {y, kWrite}
//   op 1  relu reads y, writes y         Touches(1): {y, kReadWrite, last}
//   bytes      {1024, 1024, 1024}        by x, w, y; rounded up to kAllocationUnit
//   last_use   {0, 0, 1}
//   WorkingSet {3072, 2048}              by op, without workspace: w is there throughout
#ifndef SPILLWAY_SIM_PROGRAM_STEP_TABLES_H_
#define SPILLWAY_SIM_PROGRAM_STEP_TABLES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"

namespace spillway {

constexpr Bytes kEndlessBytes = std::numeric_limits<Bytes>::max() / 4;
constexpr Bytes kAllocationUnit = 512;  // both cudaMalloc's and the frameworks' pools round to it
constexpr Bytes RoundToUnit(Bytes bytes) { return RoundUp(std::max<Bytes>(bytes, 1), kAllocationUnit); }

// How many parts of a streamed op have tiles besides the part that runs (OpDecision::depth).
struct TileDepth {
  explicit TileDepth(int depth)
      : ahead(static_cast<std::size_t>(depth <= 2 ? depth - 1 : depth - 2)), behind(depth <= 2 ? 0 : 1) {}
  std::size_t ahead;   // parts whose tiles are copied in before their kernels are issued
  std::size_t behind;  // parts whose tiles are still copied out after their kernels
};

struct StepTables {
  // The step and the costs are referred to, not copied: they must outlive the tables. A grant is an upper limit: with a
  // `capacity`, the library chooses within what an op's operands, and tensors that never move, leave of that. REQUIRES:
  // the machine links `device` to a host.
  StepTables(const TrainingStep& step, const CostModel& costs, int device = 0, Bytes capacity = kEndlessBytes);

  const TrainingStep* step;
  const CostModel* costs;
  int device;          // index into Machine::devices
  int host;            // the host node that the device's copies go to
  std::uint16_t link;  // index into Machine::links: the link between both
  Uses uses;
  std::vector<Bytes> bytes;                 // by tensor, rounded
  std::vector<bool> persistent;             // by tensor: there before the step and after it
  std::vector<OpId> last_use;               // by tensor
  std::vector<TensorId> inputs;             // tensors of class kInput: on the host before the step
  std::vector<Launch> launches;             // distinct ones
  std::vector<std::uint32_t> launch;        // by op: row of `launches`, with the library's choice of algorithm
  std::vector<std::uint32_t> launch_again;  // by op: the same of a recomputation; mostly the same row
  std::vector<OpId> refused;                // whose launch the library does not take whole (Cost::calls); ascending
  std::array<std::vector<std::int32_t>, 2> unit;  // by BackwardUnits: UnitOfOps

  struct Touch {  // an op's use of a tensor
    TensorId tensor = kNoTensor;
    Access access = Access::kRead;
    bool last = false;  // no later op uses the tensor, and it does not outlive the step
  };
  // First what `op` reads, in order, then what it only writes.
  std::span<const Touch> Touches(OpId op) const {
    const auto row = static_cast<std::size_t>(op);
    return {touches_.data() + first_touch_[row], touches_.data() + first_touch_[row + 1]};
  }

  // Bytes that must be on the device while `op` runs and everything else is offloaded: its operands, its workspace and
  // the persistent tensors. The workspace is the usual one.
  Bytes WorkingSet(OpId op) const { return working_set_[static_cast<std::size_t>(op)]; }
  OpId LargestWorkingSet() const;  // the op that has it
  // Whether some op has another launch in the tables of that capacity.
  bool CutsGrants(Bytes capacity) const;
  // The same by op, with the workspaces that `decisions` grant; a streamed operand counts as its tiles. An op that is
  // also recomputed counts as its first run, which every plan has. The recomputation may need more, or less
  // (OpDecision::again), or never happen; only lowering tells. So working sets are never too large, and a plan without
  // room for the recomputation is refused later, for its live bytes (sim/evaluate/compile.h).
  // With kLeast, a library that chooses has the least workspace of its menu, whatever it is granted.
  enum class Grants : std::uint8_t { kFull, kLeast };
  std::vector<Bytes> WorkingSets(std::span<const OpDecision> decisions, Grants grants = Grants::kFull) const;
  // The most that the tiles of the op take at once on the device; 0: it streams nothing.
  Bytes TilesOfOp(const OpDecision& decision) const { return MostTiles(decision, TileDepth(decision.depth)); }
  // What the library takes of a grant for that launch: the workspace of the algorithm that it chooses. More than
  // `granted` only if no algorithm wants less.
  Bytes TakenWithin(Launch called, Bytes granted) const;
  // Bytes of network-wide allocation, which lasts from the beginning of training to its end. Every tensor has a buffer
  // of its own, with two exceptions: gradients of values share two buffers, workspaces one, each as large as the
  // largest that it must hold (Torch; the baseline of vDNN, MICRO 2016).
  Bytes NetworkWide() const;

 private:
  void AddTouches(OpId op);
  Launch UsualWithin(Launch call, Bytes operands, Bytes capacity) const;
  Bytes OperandBytes(OpId op) const;  // without those that are persistent
  Bytes LeastWorkspace(const OpDecision& decision) const;
  Bytes MostTiles(const OpDecision& decision, const TileDepth& depth) const;

  std::vector<Touch> touches_;
  std::vector<std::uint32_t> first_touch_;  // by op, and the end
  std::vector<Bytes> working_set_;          // by op
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_STEP_TABLES_H_
