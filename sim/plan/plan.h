// A Plan holds every decision that a strategy takes about a training step, and nothing else: no clock, no streams, no
// I/O.
//
// The default is to keep: a tensor stays on the device between two uses unless a GapDecision says otherwise.
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

// Samples [begin, end) of a tensor along the batch; {0, 0} means all samples.
struct SampleRange {
  std::int64_t begin = 0, end = 0;
  bool IsWhole() const { return end == 0; }
  bool Meets(const SampleRange& other) const {
    return IsWhole() || other.IsWhole() || (begin < other.end && other.begin < end);
  }
  bool operator==(const SampleRange&) const = default;
};

constexpr OpId kNextStep = -2;  // GapDecision::before

// The decision on one gap of one tensor. Example: feature map X is written by op 2, read by op 3 and read again by
// backward op 30. {tensor X, after 3, before 30, kSwap, out_after 2, in_at 27}: the swap-out starts when op 2 is done,
// the device memory is free once op 3 and the swap-out are done, and the swap-in is issued just before op 27.
struct GapDecision {
  TensorId tensor = kNoTensor;
  OpId after = kNoOp;  // the use that begins the gap; kNoOp: the gap of the input before its first use
  // The use that ends the gap; `after` and `before` are consecutive uses of `tensor`. kNoOp: the gap has an open end.
  // `after` is then the last use, and the decision is for reruns of later ops' operands, which read the tensor:
  //   kRecompute  it stays until op `leaves_after` and is dropped; a later rerun that reads it recomputes it
  //   kSwap       it also goes to the host, and each later rerun that reads it copies it in for itself; no `in_at`
  // Without such a decision the device drops the tensor after its last use.
  // kNextStep: the gap goes on until the tensor's first use in the next step. It is for values that outlive the step
  // (MayRestOnHost) and kSwap alone. Each step then begins with the tensor on the host: it is copied in for its first use,
  // and leaves after its last one. It is copied out only if the step writes it. Reruns of later ops copy it in for
  // themselves, as above.
  OpId before = kNoOp;
  GapAction action = GapAction::kSwap;
  // kSwap: the swap-out may start when this op is done: last writer <= out_after <= Leaves(). The input lies on the
  // host already: there out_after is `after` or kNoOp and has no effect.
  OpId out_after = kNoOp;
  // kSwap: the op before which the swap-in is issued: Leaves() < in_at <= before. Swap-ins with the same in_at are
  // issued in the order of Plan::gaps. An arena runtime takes in_at as the earliest moment: it issues the swap-in as
  // soon as there is room from then on, and before `before` at the latest. A pool runtime issues the swap-in at in_at,
  // even without room. With kNextStep, in_at is an op from the first one to the tensor's first use.
  OpId in_at = kNoOp;
  // kRecompute. true: the recomputed tensor stays until its last use. false: it is freed right after `before` and
  // recomputed again for later uses.
  bool keep_result = true;
  // kRecompute, if the recomputation of another tensor makes this one on its way. true: this tensor stays for `before`.
  // false: it is freed afterwards, unless the backward unit being served (BackwardUnits) uses it, and recomputed for
  // `before`.
  bool keep_passed = true;
  std::string reason;  // for people
  // kSwap: the section that this decision swaps (sim/plan/parts.h). Other sections of the tensor stay, or have a
  // decision of their own on the same gap. Arena runtimes only.
  SampleRange samples{};
  // The last op of the gap for which the tensor is still on the device: after <= leaves_after < before. Entries of
  // Plan::recompute before the next op may read it too. kNoOp: the tensor leaves right after `after`. Kernels after
  // this op wait for the swap-out, if it has begun by then.
  OpId leaves_after = kNoOp;
  // The last op for which the tensor is on the device.
  OpId Leaves() const { return leaves_after == kNoOp ? after : leaves_after; }
  bool IsOpen() const { return before < 0; }  // no later op of this step ends it
  bool EndsInNextStep() const { return before == kNextStep; }
  bool ComesBack() const { return before != kNoOp; }  // for a use, in this step or the next one
  bool operator==(const GapDecision&) const = default;
};

// One entry of a recomputation schedule, as Checkmate and DTR make: a forward op that runs again at a stated moment.
//
// A gap with GapAction::kRecompute and no entry is recomputed right before the use that ends it, with everything that
// this needs. Entries allow two things more: a tensor may be recomputed several times within one gap, or long before
// its use. An entry whose results are all on the device has no effect.
//
// Example: X (written by op 2) has a recomputed gap from op 3 to op 30. {before 20, run 2, leaves_after 22} recomputes
// X before op 20 and drops it after op 22. Op 30 then needs X again, by another entry or by the gap's own
// recomputation.
struct Recomputation {
  OpId before = kNoOp;  // the op before which the entry runs, after the entries of the same op that are listed earlier
  // The forward op to run. At least one of its results must be in a recomputed gap that is open at `before`, or be used
  // by no later op. If several ops write a result, name the last of them before the gap: all of them run again, in
  // order. Tensors that they read are brought back as for any recomputation.
  OpId run = kNoOp;
  // true: the results stay for the use that ends their gap; if that use is `before`, GapDecision::keep_result decides.
  // false, or no later use: the results are freed after the last entry of the same `before` that needs them.
  bool keep = true;
  // Only with keep: the last op for which the results stay (before <= leaves_after < the end of their gaps). Entries
  // before the next op may read them too. Afterwards the results are off the device again.
  OpId leaves_after = kNoOp;
  bool operator==(const Recomputation&) const = default;
};

// One part of an op that runs in parts along the batch (model/cost/op_tiles.h), by a kernel of its own.
struct OpPart {
  std::int64_t samples = 0;    // > 0; the part begins where the part before it ends
  std::int32_t algorithm = 0;  // as in OpDecision
  Bytes workspace = 0;         // granted; the parts of an op share one workspace, as large as the largest of theirs
  bool operator==(const OpPart&) const = default;
};

constexpr int kTilesDeep = 3, kMostTilesDeep = 16;
constexpr std::int64_t kMostTiles = 100'000;  // of one op

// How an op runs, whole, at one of its recomputations: with another algorithm, as less memory is free then.
struct OpAgain {
  std::int32_t algorithm = 0;  // as in OpDecision
  Bytes workspace = 0;
  bool operator==(const OpAgain&) const = default;
};

// How one op runs. An op without a decision gets the library's choice of algorithm and the workspace that it asks for.
//
// Example of an op over a batch of 64 in two parts that stream its input X: {op 7, parts {{32, 1, 8 MiB}, {32, 1, 8
// MiB}}, streamed {X}}. While the kernel of samples 0 to 31 runs, samples 32 to 63 of X are copied in.
struct OpDecision {
  OpId op = kNoOp;
  std::int32_t algorithm = 0;  // as in Launch; 0: the library's choice within `workspace`
  Bytes workspace = 0;         // granted, up to kMostWorkspace
  // The parts along the batch, in order; their samples add up to the batch. Empty: the op runs whole. With parts,
  // `algorithm` and `workspace` above are 0. One part is the whole op, but PartWaits applies. A recomputed op runs in
  // the same parts, unless `again` is set. An op without a choice of algorithm has parts only if it streams an operand.
  std::vector<OpPart> parts{};
  // Forward ops only. By recomputation, in the order in which they run; the last one is also for all after it. Empty:
  // recomputed as in forward.
  std::vector<OpAgain> again{};
  // Cuts each part further, along channels and rows (model/cost/op_tiles.h): one kernel for each tile, with its part's
  // algorithm and workspace. With at most one part, the whole batch is cut.
  TileCounts tiles{};
  // Operands without a buffer of their own on the device while the op runs. Each part copies the samples that it reads
  // into a tile, and copies the samples that it writes out of a tile. So the host holds these operands after the op,
  // and before it unless the op only writes them. A gap between a streamed use and another use needs a swap; a gap
  // between two streamed uses needs no decision. Either all forward ops that write a tensor stream it, or none. A
  // recomputed op streams nothing.
  std::vector<TensorId> streamed{};
  // The number of kernels for whose tiles memory is laid out, from 1 to kMostTilesDeep: one kernel runs, from the third
  // on one is copied out, the others are copied in ahead (ooc_cuDNN: 3). Copies may run further ahead where there is
  // room. A tile that two consecutive kernels share stays; a tile that sums up goes out once, when it is complete.
  int depth = kTilesDeep;
  // true: the op forms a group with the op just before it in the step, and with the ops which that one is fused with
  // (ooc_cuDNN's fused functions). The group runs all its ops on the first part, then all on the second, and so on. All
  // ops of a group stream something, have the same parts and depth, no tiles, and are of one phase. A tensor that
  // several of them stream is copied in once and stays in one tile from op to op. It is copied out once, when complete,
  // if a later op uses it. Operands that are not streamed are on the device before the first op; the runtime's barriers
  // follow the last op. A recomputed op is in no group.
  bool fused = false;
  bool operator==(const OpDecision&) const = default;
};

struct Plan {
  std::string strategy;
  std::string network;
  std::int64_t batch = 0;
  // The number of micro-batches that the step runs in, one after another, with gradients accumulated; it divides the
  // batch. Ids of tensors and ops are those of that step (model/step/accumulate.h).
  std::int64_t accumulate = 1;
  std::string machine;
  Bytes capacity = 0;  // bytes of device memory that the strategy planned with
  Runtime runtime;
  std::vector<GapDecision> gaps;
  std::vector<OpDecision> ops;
  std::vector<Recomputation> recompute;
  std::string search;  // how the decisions were found: "exact", "capped at 20000 simulations", ...; "" = by rule
  std::int64_t evaluations = 0;  // simulations spent
  bool operator==(const Plan&) const = default;
};

// The uses of each tensor: the ops that read or write it, in op order, one entry per op.
struct Uses {
  explicit Uses(const TrainingStep& step);
  // The use after `op`, kNoOp if none.
  OpId Next(TensorId tensor, OpId op) const;
  // The last use before `op`.
  OpId Previous(TensorId tensor, OpId op) const;
  std::vector<std::vector<OpId>> of;       // by tensor
  std::vector<std::vector<OpId>> writers;  // by tensor: forward ops that write it, in order
};

// The first op that uses the tensor; kNoOp: none does.
OpId FirstUse(const TrainingStep& step, TensorId tensor);
// Whether the tensor may lie on the host between steps (kNextStep): its value outlives the step on the device, and the
// first use reads it. (The input lies on the host anyway.)
bool MayRestOnHost(const TrainingStep& step, TensorId tensor);

// The gap to which the classes keep, swap and recompute refer: from a map's last forward use to its first backward use.
// `after` is kNoOp for an input that only backward reads. {kNoOp, kNoOp}: backward never uses the map. The input has
// such a gap too; a swap there needs no swap-out, because the host holds the input.
struct MapGap {
  OpId after = kNoOp;
  OpId before = kNoOp;
};
MapGap ForwardBackwardGap(const TrainingStep& step, const Uses& uses, TensorId map);

// Numbers of feature maps by class, as papers count them. A map with swapped sections counts as swapped.
struct ClassCounts {
  int keep = 0, swap = 0, recompute = 0;
};
ClassCounts CountClasses(const Plan& plan, const TrainingStep& step);
// The action on each of TrainingStep::maps between forward and backward; nullopt: the map is kept.
std::vector<std::optional<GapAction>> MapActions(const Plan& plan, const TrainingStep& step);

// A mistake in a plan, written by a strategy or by a user. Mistakes are:
//   - gaps that are not between consecutive uses, positions out of order, two decisions on one gap
//   - gaps with an open end that do not begin at the last use, or that name a moment of a copy back
//   - gaps to the next step of values that do not outlive the step
//   - other decisions on tensors that never move (parameters, optimizer state, auxiliary)
//   - recomputation of a tensor that no forward op computes; schedule entries that compute nothing missing
//   - swap-outs that start while another decision keeps the tensor off the device, or after the tensor has left
//   - parts of an op that cannot be divided, or that are not the whole batch
//   - streamed operands that the host does not hold, or that the device holds as well
//   - fused ops that cannot form a group; sections that cannot be (SectionMistakes)
struct PlanMistake {
  enum class Where : std::uint8_t { kPlan, kGap, kOp, kRecomputation };
  Where where = Where::kPlan;
  std::size_t index = 0;  // into Plan::gaps, Plan::ops or Plan::recompute
  std::string message;    // names tensors and ops
};
std::vector<PlanMistake> FindMistakes(const Plan& plan, const TrainingStep& step);
// FindMistakes as text, each with its place ("gaps[3]: ..."). Empty: the plan can be lowered.
std::vector<std::string> CheckPlan(const Plan& plan, const TrainingStep& step);

// A plan file: YAML with names in place of indices, one decision a line, without fields that have their default:
//
//   gaps:
//     - {tensor: conv2a, action: swap, after: "bn2a:forward", before: "bn2a:backward", reason: "..."}
//
// `out_after` defaults to `after`, `in_at` to `before`, `keep_result` and `keep_passed` to true, `leaves_after` to
// none, `samples` to all (`samples: [0, 64]` names a section); the position `start` is kNoOp, and so is `before: none`.
// `before: next_step` is kNextStep; `in_at` then defaults to the tensor's first use. Reading checks every name, then
// FindMistakes, and throws UserError with all mistakes at once. ParsePlan(PlanToYaml(p)) == p for every plan without
// mistakes.
std::string PlanToYaml(const Plan& plan, const TrainingStep& step);
Plan LoadPlan(const std::string& path, const TrainingStep& step);
Plan ParsePlan(const std::string& text, const std::string& file, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_PLAN_H_
