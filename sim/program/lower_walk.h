// One pass over the ops of a step that carries out a Plan: where every tensor is, and which items follow from it.
// Internal to `lower`.
//
// The walk is in the order of the step's ops, which is the host's issue order. Around op o it does, in this order: swap-ins
// that the plan issues before o; what the runtime has done before a backward unit that begins at o; what o's operands
// still need, by copy or recomputation; the kernel; for each tensor that o touches, what its gap decision or its last use
// asks for, and what stayed until o leaves; the runtime's barriers. A tensor is in one place of three: on the device, in a
// gap, or not there yet; for a while it may be in a gap and still, or again, on the device. One that o streams stays in its
// gap while o runs: it is on the host.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_WALK_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_WALK_H_

#include <map>
#include <span>
#include <vector>

#include "sim/plan/sections.h"
#include "sim/program/item_writer.h"
#include "sim/program/launch_choice.h"
#include "sim/program/lower.h"

namespace spillway {

// Gap decisions by the op at which they take effect.
class DecisionsAt {
 public:
  // `at[g]` is the op of decision g; kNoOp stands for "before the first op".
  DecisionsAt(const std::vector<OpId>& at, std::size_t ops);
  std::span<const std::uint32_t> operator[](OpId op) const {
    const auto slot = static_cast<std::size_t>(op + 1);
    return {order_.data() + first_[slot], order_.data() + first_[slot + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> order_;
};

// Thrown where recomputation goes beyond kRecomputeLimit; LowerItems makes a result of it.
struct RecomputesWithoutEnd {
  OpId op;
};

// `plan` and `tables` are read, never changed, and must outlive this. REQUIRES: CheckPlan found nothing wrong with the plan
// for the tables' step; what it says of tensors, gaps and ops is not checked again.
class LowerWalk {
 public:
  LowerWalk(const Plan& plan, const StepTables& tables);

  // `issue_at[g]`: the op before which the swap-in of decision g is issued; beyond the last op = not before the tensor
  // is needed, which is what holds until this is called.
  void IssueSwapInsAt(const std::vector<OpId>& issue_at);
  void RunUntil(OpId end);   // goes on with the ops before `end`
  void LookAhead(OpId end);  // the same, but only live_at() and needed_at() remember it
  Lowered TakeItems();       // once; goes on to the end of the step

  // Of the ops seen: most bytes live in list order while each op runs, and the op that first needed what decision g
  // brings back (kNoOp: none did).
  const std::vector<Bytes>& live_at() const { return live_at_; }
  const std::vector<OpId>& needed_at() const { return needed_at_; }

 private:
  using Touch = StepTables::Touch;
  static constexpr std::uint32_t kNoGap = 0xffffffffu;
  static constexpr StreamId kComputeStream = 0;
  struct Residence {  // of one tensor
    BufferId device = kNoBuffer;
    BufferId host = kNoBuffer;
    std::uint32_t gap = kNoGap;  // the decision whose gap it is in
    bool host_valid = false;
    bool keeps_result = true;  // of the recomputation it came from
    bool arriving = false;     // copied in, and nobody has waited for it yet
    OpId leaves = kNoOp;       // as the entry that made it says
  };
  struct Leaving {
    TensorId tensor = kNoTensor;
    std::uint32_t gap = kNoGap;  // the decision whose gap it stayed in; kNoGap: an entry made it
  };
  // Of a tensor that lies in sections: Residence::device is then the first one's while all are there, and kNoBuffer else.
  struct Section {
    SampleRange samples;
    BoxId box = kWhole;
    BufferId device = kNoBuffer;
    std::uint32_t gap = kNoGap;  // the decision whose gap it is in
    bool host_valid = false;
  };
  struct Sections {
    std::vector<Section> list;  // in order of samples
    std::uint32_t frame = kNoFrame;
  };
  void FindSections();
  Sections* SectionsOf(TensorId tensor);  // nullptr: it lies in one piece
  void NewSection(TensorId tensor, Sections& sections, Section& section, StreamId stream);
  void NoteSections(TensorId tensor, const Sections& sections);
  void PlaceSections(TensorId tensor, Sections& sections);
  template <typename Wanted>
  bool BringSections(TensorId tensor, Sections& sections, Wanted wanted);
  void SwapInSections(TensorId tensor, Sections& sections, OpId op);
  void IssueSections(std::uint32_t gap, Sections& sections, OpId op);
  void CopyOutSections(const GapDecision& gap, Sections& sections);
  void NoteGap(std::uint32_t gap, Sections& sections);
  void LeaveSections(std::uint32_t gap, Sections& sections);
  void FreeSections(TensorId tensor, Sections& sections);
  void CopySection(TensorId tensor, const Section& section, spillway::Copy copy);
  void AddSectionOperands(const Sections& sections, Access access, BoxId box);
  BufferId LastArrived(TensorId tensor);
  void MakeStreams();
  void AllocatePersistent();
  void FreePersistent();
  void HoldWorkspaces();
  void RunOp(OpId op);
  void BringOperands(OpId op);
  void LeaveOps(OpId first, OpId end);
  void IssueSwapIns(OpId op);
  bool StartsUnit(OpId op) const;
  bool EndsUnit(OpId op) const;
  OpId EndOfUnit(OpId op) const;
  void BringInForUnit(OpId first);
  void RecomputeForUnit(OpId first);
  void RunEntries(OpId op);
  void RunEntry(const Recomputation& entry);
  void MakeAgain(TensorId tensor, const Recomputation& entry);
  bool IsMadeWith(OpId writer, TensorId tensor) const;
  bool ReadsAgain(const Recomputation& entry, TensorId tensor) const;
  bool IsMadeFrom(TensorId result, TensorId tensor, const Recomputation& entry) const;
  void PlaceResults(OpId op, bool recomputation);
  void Launch(OpId op, bool recomputation);
  // On places_.
  void LaunchPart(spillway::Kernel kernel, const PartLaunch& part, BufferId workspace);
  void FindPlaces(OpId op);  // fills places_ with what lies in place
  void LaunchInPlace(OpId op, bool recomputation, BufferId workspace);
  // The tiles of one part: by touch, kNoBuffer for what lies in place.
  using Tiles = std::vector<BufferId>;
  void LaunchStreamed(OpId op, BufferId workspace);
  void RunStreamedPart(OpId op, std::size_t part, std::vector<Tiles>& tiles, BufferId workspace);
  bool Stays(OpId op, std::size_t part, std::size_t touch) const;
  void BringTiles(OpId op, std::vector<Tiles>& tiles, std::size_t part);
  void SendTiles(OpId op, const std::vector<Tiles>& tiles, std::size_t part);
  void FreeTiles(OpId op, const std::vector<Tiles>& tiles, std::size_t part, bool written);
  // What the ops of a group that is fused stream: one tile for each part.
  struct FusedOperand {
    TensorId tensor = kNoTensor;
    OpId first = kNoOp, last = kNoOp;  // of the group's ops that touch it
    std::size_t touch = 0;             // of the first one
    OpId last_write = kNoOp;           // kNoOp: it is only read
    bool brought = false;              // the first one reads it
    bool sent = false;                 // somebody uses it behind the group
    std::vector<BufferId> tiles{};     // by part
  };
  void RunGroup(OpId first, OpId end);
  void RunGroupParts(OpId first, OpId end, BufferId workspace);
  std::vector<FusedOperand> FusedOperands(OpId first, OpId end) const;
  BoxId BoxOf(const FusedOperand& operand, std::size_t part) const;
  void BringFused(std::vector<FusedOperand>& operands, std::size_t part);
  void RunFusedPart(OpId op, std::size_t part, std::vector<FusedOperand>& operands, BufferId workspace);
  void LeaveFusedPart(OpId op, std::size_t part, const std::vector<FusedOperand>& operands);
  void FreeSentFused(const std::vector<FusedOperand>& operands, std::size_t part);
  BufferId NewTile(TensorId tensor, BoxId box, StreamId stream);
  spillway::Copy TileCopy(TensorId tensor, BoxId box) const;
  BufferId HostOf(TensorId tensor);
  void FindLeaving();
  bool StaysForGroup(OpId leaves_after, OpId next) const;
  void StartCopiesOut(OpId op);
  void AfterOp(OpId op);
  void LeaveOp(const Touch& touch);
  void OpenGap(std::uint32_t gap);
  void LeaveGap(std::uint32_t gap);
  void LeaveBehind(OpId op, const std::vector<Leaving>& leaving);
  void FreeUnread(std::span<const std::uint32_t> entries);
  void Barriers(OpId op);

  // Whether the op, run for the first time, streams the tensor instead of finding it on the device.
  bool Streams(OpId op, TensorId tensor) const { return choice_.Streams(op, tensor); }
  bool IsUsedFrom(OpId op, TensorId tensor) const { return tables_.uses.Next(tensor, op - 1) != kNoOp; }
  bool IsThere(TensorId tensor) const { return at_[static_cast<std::size_t>(tensor)].device != kNoBuffer; }
  // The host waits for what of the operands of [first, end) is still being copied in.
  void AwaitSwapIns(OpId first, OpId end);
  // Puts `tensor` on the device, by copy or by recomputation, if it is not there.
  void Materialise(TensorId tensor, OpId op);
  void BringSources(TensorId tensor, OpId op);
  void WalkSources(TensorId tensor, OpId op);
  void BringBack(TensorId tensor, OpId op);
  bool NeedsRecompute(TensorId tensor) const;  // rather than a copy
  void SwapIn(TensorId tensor);
  void Recompute(TensorId tensor, OpId op);
  OpId LastWriter(TensorId tensor, OpId op) const;
  // Runs forward op `writer` again for `tensor`, then drops what nothing but it needed.
  void RunWriterAgain(OpId writer, TensorId tensor, OpId op);
  bool KeepsResult(TensorId tensor) const;  // when it is computed again
  // Whether a tensor brought back for another one's sake stays until a use of its own.
  bool StaysFor(TensorId tensor, OpId op) const;

  void CopyOut(TensorId tensor);
  BufferId NewWorkspace(Bytes wanted);
  BufferId NewOnDevice(Bytes bytes, TensorId tensor, BufferKind kind, StreamId stream);
  void FreeOnDevice(TensorId tensor);
  void FreeBuffer(BufferId buffer, StreamId stream);
  void CopyInPieces(spillway::Copy copy, TensorId tensor, StreamId stream);
  void CopyInSamples(spillway::Copy copy, TensorId tensor, StreamId stream);

  const Plan& plan_;
  const StepTables& tables_;
  const TrainingStep& step_;
  Lowered lowered_;
  ItemWriter out_;
  DecisionsAt by_after_, by_out_, by_issue_, by_entry_;
  LaunchChoice choice_;
  const std::vector<std::int32_t>& unit_;  // by op, of backward
  std::vector<Residence> at_;              // by tensor
  std::map<TensorId, Sections> sections_;
  std::uint32_t frames_ = 0;
  std::map<OpId, std::vector<Leaving>> leaves_behind_;  // what may stay until an op
  const Recomputation* making_dead_ = nullptr;          // the entry, of which all results are, that is run
  std::vector<TensorId> made_with_;                     // its results that came with another one of them
  std::vector<Leaving> leaving_;                        // as soon as no entry before the op at hand reads it
  std::vector<BufferId> held_;                          // by op: workspaces that stay; empty: none does
  std::vector<BufferId> places_;                        // the buffers of what an op touches, in the order of Touches
  // By tensor: the walk over sources that has seen it. What stays is there behind that, and whatever needs it again finds
  // it; so each is seen once, however many ways lead to it.
  std::vector<std::uint32_t> seen_in_;
  std::uint32_t walk_ = 0;
  int walking_ = 0;
  std::int64_t again_ = 0;  // forward ops run again
  Bytes live_ = 0;
  OpId now_ = 0;
  OpId next_ = 0;  // op
  StreamId out_stream_ = 1, in_stream_ = 1;
  std::vector<Bytes> live_at_;
  std::vector<OpId> needed_at_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_WALK_H_
