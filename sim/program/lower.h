// Plan -> Program. The only place that knows how decisions become streams and buffers; events come from `Synchronise`.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_H_

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"
#include "sim/program/synchronise.h"

namespace spillway {

constexpr Bytes kAllocationUnit = 512;  // both cudaMalloc's and the frameworks' pools round to it
constexpr Bytes RoundToUnit(Bytes bytes) { return RoundUp(std::max<Bytes>(bytes, 1), kAllocationUnit); }

// How many parts of an op that streams have tiles beside the one that runs (OpDecision::depth).
struct TileDepth {
  explicit TileDepth(int depth)
      : ahead(static_cast<std::size_t>(depth <= 2 ? depth - 1 : depth - 2)), behind(depth <= 2 ? 0 : 1) {}
  std::size_t ahead, behind;  // copied in before their kernels; copied out behind them
};

// What lowering needs to know of a step on a machine, whatever the plan. Made once, used for many plans.
struct StepTables {
  StepTables(const TrainingStep& step, const CostModel& costs, int device = 0);

  const TrainingStep* step;
  int device;
  int host;            // host node the device's copies go to
  std::uint16_t link;  // index into Machine::links
  Uses uses;
  std::vector<Bytes> bytes;                       // by tensor, rounded
  std::vector<bool> persistent;                   // by tensor: there before the step and after it
  std::vector<OpId> last_use;                     // by tensor
  std::vector<TensorId> inputs;                   // those of class kInput
  std::vector<Launch> launches;                   // distinct ones
  std::vector<std::uint32_t> launch;              // by op: row of `launches`, with the library's choice of algorithm
  std::vector<LayerId> layer;                     // by op
  std::array<std::vector<std::int32_t>, 2> unit;  // by BackwardUnits: UnitOfOps

  struct Touch {  // of a tensor by an op
    TensorId tensor = kNoTensor;
    Access access = Access::kRead;
    bool last = false;  // nobody uses it afterwards, nor does it outlive the step
  };
  // What `op` reads, in order, then what it only writes.
  std::span<const Touch> Touches(OpId op) const {
    const auto row = static_cast<std::size_t>(op);
    return {touches_.data() + first_touch_[row], touches_.data() + first_touch_[row + 1]};
  }

  // Bytes that must be on the device while `op` runs if everything else is moved out: its operands, its workspace and
  // the persistent tensors. The workspace is the usual one, or what `decisions` grant; of operands that are streamed, the
  // tiles. Of an op that runs again these are its first run, which every plan has: the second may want more, or less
  // (OpDecision::again), or not come about, which only lowering tells. So they are never too large, and a plan without room
  // for the second run is refused for what is live then (sim/program/compile.h).
  Bytes WorkingSet(OpId op) const { return working_set_[static_cast<std::size_t>(op)]; }
  // The op with the largest one.
  OpId LargestWorkingSet() const;
  std::vector<Bytes> WorkingSets(std::span<const OpDecision> decisions) const;  // by op
  // What network-wide allocation takes, from the beginning of training to its end: every tensor for itself, but for the
  // gradients of values, which share one pair of buffers, and workspaces, which share one, each as large as the largest of
  // them (Torch; the baseline of vDNN, MICRO 2016).
  Bytes NetworkWide() const;

 private:
  void AddTouches(OpId op);
  void AddWorkingSet(OpId op, Bytes always);
  Bytes MostTiles(const OpDecision& decision, const TileDepth& depth) const;

  // Side by side: lowering goes through the whole step, and TrainingStep's ops are far apart.
  std::vector<Touch> touches_;
  std::vector<std::uint32_t> first_touch_;  // by op, and the end
  std::vector<Bytes> working_set_;          // by op
};

// A plan whose recomputations pass on what they come by, freed and computed again for the next, can take a time that is
// exponential in the joins of the network. Lowering gives up where more forward ops run again than so many times all there
// are.
constexpr std::int64_t kRecomputeLimit = 16;
constexpr Bytes kEndlessBytes = std::numeric_limits<Bytes>::max() / 4;

struct Lowered {
  // Given up at kRecomputeLimit, at `op`: no Program, and of every op kEndlessBytes are said to be live.
  bool Endless() const { return list_peak >= kEndlessBytes; }

  // The bytes live in list order at their most, and the op that runs then. No layout can need less.
  Bytes list_peak = 0;
  OpId op = kNoOp;
  std::vector<Bytes> live_at;  // by op: the same while it runs, its workspace included
  Program program;             // without offsets
  Skeleton skeleton;           // of LowerItems: what `program` will be made of, which has no code yet
};

// `live_limit` (arena runtimes only; 0 = unlimited): swap-ins are issued as early as the plan and the bytes live in list
// order allow. A pool runtime issues them where the plan says.
// REQUIRES: the plan was checked against the step (CheckPlan).
Lowered Lower(const Plan& plan, const StepTables& tables, Bytes live_limit);
// The same before it is synchronised, for who will place its buffers (PlaceBuffers) and may have to lower it again.
Lowered LowerItems(const Plan& plan, const StepTables& tables, Bytes live_limit);
// Lowered::live_at of LowerItems(plan, tables, 1) alone, in a fraction of the time: nothing is written down.
// REQUIRES: a plan that recomputes nothing, and as Lower.
std::vector<Bytes> LiveAt(const Plan& plan, const StepTables& tables);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_H_
