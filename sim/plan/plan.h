// A Plan is every decision a strategy takes about a training step, and nothing else: no clock, no streams, no I/O.
//
// What is not decided is kept: a tensor stays on the device between two uses unless a GapDecision says otherwise.
//
//   forward op a          ...          backward op b          the gap of X between its uses a and b:
//   |---use X---|                      |---use X---|            resident    nothing to say
//   .           .<------ gap of X ---->.           .            swapped     out after op `out_after`, in before `in_at`
//                                                               recomputed  dropped after a, computed again before b:
//                                                                           in backward before all of b's unit
//   ============.========              .                        either may stay for a while: until op `leaves_after`
#ifndef SPILLWAY_SIM_PLAN_PLAN_H_
#define SPILLWAY_SIM_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/cost/op_tiles.h"
#include "model/step/launch.h"
#include "model/step/training_step.h"
#include "sim/plan/runtime.h"

namespace spillway {

enum class GapAction : std::uint8_t { kSwap, kRecompute };

// Samples [begin, end) of a tensor; 0, 0: all that it has.
struct SampleRange {
  std::int64_t begin = 0, end = 0;
  bool IsWhole() const { return end == 0; }
  bool Meets(const SampleRange& other) const {
    return IsWhole() || other.IsWhole() || (begin < other.end && other.begin < end);
  }
  bool operator==(const SampleRange&) const = default;
};

struct GapDecision {
  TensorId tensor = kNoTensor;
  OpId after = kNoOp;   // the use that the gap follows; kNoOp: the input before its first use
  OpId before = kNoOp;  // the use that ends it; `after` and `before` are consecutive uses of `tensor`
  GapAction action = GapAction::kSwap;
  // kSwap: the copy to the host may start when this op is done (last writer <= out_after <= after, or leaves_after). The
  // input is on the host already: `after` or kNoOp there, without a meaning.
  OpId out_after = kNoOp;
  // kSwap: the copy back is issued just before this op (after, or leaves_after, < in_at <= before). Copies with the same
  // in_at are issued in the order of Plan::gaps. An arena runtime takes it as the earliest moment and issues the copy as
  // soon after it as there is room, at the latest before `before`; a pool runtime issues it there, room or not.
  OpId in_at = kNoOp;
  // kRecompute: the result stays until its last use; false: it is freed right after `before` and computed again for
  // later uses.
  bool keep_result = true;
  // kRecompute: computed on the way to another tensor, the result stays too; false: it is freed then, unless the unit
  // being served (BackwardUnits) uses it, and computed again for `before`.
  bool keep_passed = true;
  std::string reason;
  // kSwap: a section, which is swapped by itself (sim/plan/parts.h); what else the tensor has stays, or is another
  // section with a decision of its own on the same gap. Arena runtimes only.
  SampleRange samples{};
  // It stays on the device until this op is done (after <= leaves_after < before), and for those entries of
  // Plan::recompute before the next op that read it; kNoOp: it leaves right behind `after`. Kernels behind it wait for a
  // copy out that began before.
  OpId leaves_after = kNoOp;
  OpId Leaves() const { return leaves_after == kNoOp ? after : leaves_after; }
  bool operator==(const GapDecision&) const = default;
};

// One entry of a schedule of recomputations, as Checkmate's or DTR's: a forward op that runs again at a moment of its own,
// for as long as what it makes is wanted. GapAction::kRecompute by itself is the shorthand: right before the use that
// ends the gap, with all that this takes. With entries a value may be computed several times within one gap, or well
// before it is used. An entry whose results are all there is passed over.
struct Recomputation {
  OpId before = kNoOp;  // it runs just before this op, behind the entries of the same op that are listed earlier
  // The forward op. At least one of its results is in a gap that is recomputed and open at `before`, or is used by no op
  // any more, but perhaps by entries; of a result that several ops write, the last of those before the gap, and all of them
  // run again, in order. What they read is brought back as for any recomputation.
  OpId run = kNoOp;
  // The results stay for the use that ends their gap (where that is `before` itself: as the gap says); false, or where no
  // op uses them any more: they are freed behind the last entry of the same op that reads them, itself or for what it
  // passes on the way.
  bool keep = true;
  // With keep: the results stay until this op is done (before <= leaves_after < the end of their gaps), and for the entries
  // before the next op that read them; then they are missing again.
  OpId leaves_after = kNoOp;
  bool operator==(const Recomputation&) const = default;
};

// One part of an op that runs in parts along the batch (model/cost/op_tiles.h), by a kernel of its own.
struct OpPart {
  std::int64_t samples = 0;    // > 0, behind those of the part before it
  std::int32_t algorithm = 0;  // as in OpDecision
  Bytes workspace = 0;         // granted; the parts of an op share one workspace, as large as the largest of theirs
  bool operator==(const OpPart&) const = default;
};

constexpr int kTilesDeep = 3, kMostTilesDeep = 16;
constexpr std::int64_t kMostTiles = 100'000;  // of one op

struct OpAgain {               // how an op runs when it is recomputed: whole, as where less room is left
  std::int32_t algorithm = 0;  // as in OpDecision
  Bytes workspace = 0;
  bool operator==(const OpAgain&) const = default;
};

struct OpDecision {  // ops without one get the library's choice of algorithm and the workspace it asks for
  OpId op = kNoOp;
  std::int32_t algorithm = 0;  // as in Launch; 0 = the library's choice within `workspace`
  Bytes workspace = 0;         // granted, up to kMostWorkspace
  // In order, all samples of the batch; then `algorithm` and `workspace` are 0. Empty: the op runs as a whole. One part is
  // the whole, too, but for PartWaits. Recomputed, an op runs in the same parts, if `again` does not say otherwise. Ops
  // without a choice of algorithm have parts only where they stream something.
  std::vector<OpPart> parts{};
  std::optional<OpAgain> again{};  // of forward ops; none: as the first time
  // Each part is cut further, along channels and rows (model/cost/op_tiles.h): a kernel for each tile, all by their part's
  // algorithm in its workspace. In one part it is the whole batch that is cut.
  TileCounts tiles{};
  // Operands that have no buffer of their own on the device while the op runs: what each part reads of them is copied into
  // a tile, what it writes is copied out of one. So they are on the host before the op, unless it only writes them, and
  // behind it: a gap between a streamed use and one that is not needs a swap, one between two streamed uses nothing. Of
  // the forward ops that write a tensor all stream it, or none. Recomputed, an op streams nothing.
  std::vector<TensorId> streamed{};
  // A tile that the kernel before has in common stays: what is summed up goes out once, when it is complete.
  // Memory is laid out for the tiles of so many kernels: one that runs, from the third on one that is copied out, the others
  // copied in ahead (ooc_cuDNN: 3). Where there is more room, copies may run further ahead. 1 to kMostTilesDeep.
  int depth = kTilesDeep;
  // It runs with the op just before it in the step, and those that one is fused with (ooc_cuDNN's fused functions): all of
  // them on the first part, then all on the second. All stream something, in the same parts along the batch, no tiles,
  // equally deep, and are of one phase. What several of them stream comes in once, stays in one tile from one op to the
  // next, goes out once, complete, and not at all where nobody uses it later. What they find in place is there before the
  // first of them, and the runtime's barriers are behind the last. Recomputed, an op is fused with none.
  bool fused = false;
  bool operator==(const OpDecision&) const = default;
};

struct Plan {
  std::string strategy;
  std::string network;
  std::int64_t batch = 0;
  // Batch parts that the step runs in, one after another, gradients accumulated: tensors and ops are those of that step
  // (model/step/accumulate.h). A divisor of the batch.
  std::int64_t accumulate = 1;
  std::string machine;
  Bytes capacity = 0;  // bytes planned with
  Runtime runtime;
  std::vector<GapDecision> gaps;
  std::vector<OpDecision> ops;
  std::vector<Recomputation> recompute;
  std::string search;  // how the decisions were found: "exact", "capped at 20000 simulations", ...; "" = by rule
  std::int64_t evaluations = 0;  // simulations spent
  bool operator==(const Plan&) const = default;
};

// A use of a tensor is an op that reads or writes it. Uses in op order, one entry per op.
struct Uses {
  explicit Uses(const TrainingStep& step);
  // The use after `op`, kNoOp if none.
  OpId Next(TensorId tensor, OpId op) const;
  // The last use before `op`.
  OpId Previous(TensorId tensor, OpId op) const;
  std::vector<std::vector<OpId>> of;       // by tensor
  std::vector<std::vector<OpId>> writers;  // by tensor: forward ops that write it, in order
};

// The gap that the classes keep / swap / recompute speak of: from a map's last forward use (kNoOp if it has none, as
// an input that only backward reads) to its first backward use. {kNoOp, kNoOp} if backward never uses it. The input
// has one like every other map; a swap there costs no copy out, its master copy being on the host.
struct MapGap {
  OpId after = kNoOp;
  OpId before = kNoOp;
};
MapGap ForwardBackwardGap(const TrainingStep& step, const Uses& uses, TensorId map);

// Classes by feature map, as papers count them. A map of which sections are swapped counts as swapped.
struct ClassCounts {
  int keep = 0, swap = 0, recompute = 0;
};
ClassCounts CountClasses(const Plan& plan, const TrainingStep& step);
// What becomes of each of TrainingStep::maps between forward and backward; nothing: it is kept.
std::vector<std::optional<GapAction>> MapActions(const Plan& plan, const TrainingStep& step);

// What a plan may not say of a step, whoever wrote it: gaps that are not between consecutive uses, positions out of
// order, decisions on tensors that never move (parameters, optimizer state, auxiliary), recomputation of what no
// forward op computes, entries of a schedule that compute nothing missing, two decisions on one gap, copies out that
// start where another decision has taken the tensor away or behind its leaving, parts of an op that has none, or that are
// not all of its batch, streamed operands that are not on the host, or not only there, fused ops that do not go together,
// sections that cannot be (SectionMistakes).
struct PlanMistake {
  enum class Where : std::uint8_t { kPlan, kGap, kOp, kRecomputation };
  Where where = Where::kPlan;
  std::size_t index = 0;  // into Plan::gaps, Plan::ops or Plan::recompute
  std::string message;    // names tensors and ops
};
std::vector<PlanMistake> FindMistakes(const Plan& plan, const TrainingStep& step);
// The same as text, each with its place ("gaps[3]: ..."). Empty: the plan can be lowered.
std::vector<std::string> CheckPlan(const Plan& plan, const TrainingStep& step);

// YAML with names in place of indices, one decision a line, what is implied left out:
//
//   gaps:
//     - {tensor: conv2a, action: swap, after: "bn2a:forward", before: "bn2a:backward", reason: "..."}
//
// `out_after` defaults to `after`, `in_at` to `before`, `keep_result` and `keep_passed` to true, `leaves_after` to none,
// `samples: [0, 64]` to all of them; the position `start` is kNoOp. Reading checks every name and then FindMistakes
// (UserError with all mistakes at once); ParsePlan(PlanToYaml(p)) == p for every plan without mistakes.
std::string PlanToYaml(const Plan& plan, const TrainingStep& step);
Plan LoadPlan(const std::string& path, const TrainingStep& step);
Plan ParsePlan(const std::string& text, const std::string& file, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_PLAN_H_
