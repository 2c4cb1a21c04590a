#include "sim/program/lower_walk.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace spillway {

namespace {

template <typename Decision, typename OpOf>
std::vector<OpId> Each(const std::vector<Decision>& decisions, OpOf op_of) {
  std::vector<OpId> at;
  at.reserve(decisions.size());
  for (const Decision& decision : decisions) at.push_back(op_of(decision));
  return at;
}

// A copy that does not start where the gap begins: decided at an op of its own.
OpId CopyOutApart(const GapDecision& gap, OpId never) {
  return gap.action == GapAction::kSwap && gap.out_after != gap.after ? gap.out_after : never;
}

}  // namespace

DecisionsAt::DecisionsAt(const std::vector<OpId>& at, std::size_t ops) : first_(ops + 3, 0), order_(at.size()) {
  const auto slot = [ops](OpId op) { return std::min(Index(op + 1), ops + 1); };
  for (const OpId op : at) ++first_[slot(op) + 1];
  for (std::size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t g = 0; g < at.size(); ++g) order_[next[slot(at[g])]++] = g;
}

LowerWalk::LowerWalk(const Plan& plan, const StepTables& tables)
    : plan_(plan),
      tables_(tables),
      step_(*tables.step),
      out_(lowered_.program, step_),
      by_after_(Each(plan.gaps, [](const GapDecision& gap) { return gap.after; }), step_.ops.size()),
      by_out_(Each(plan.gaps,
                   [this](const GapDecision& gap) { return CopyOutApart(gap, static_cast<OpId>(step_.ops.size())); }),
              step_.ops.size()),
      by_issue_({}, step_.ops.size()),
      by_entry_(Each(plan.recompute, [](const Recomputation& entry) { return entry.before; }), step_.ops.size()),
      choice_(plan, tables, lowered_.program),
      unit_(tables.unit[static_cast<std::size_t>(plan.runtime.backward_units)]),
      at_(step_.tensors.size()),
      seen_in_(step_.tensors.size(), 0),
      live_at_(step_.ops.size(), 0),
      needed_at_(plan.gaps.size(), kNoOp) {
  lowered_.program.arena = plan.runtime.memory != MemoryModel::kPool;
  MakeStreams();
  out_.Reserve(step_.ops.size() * 6);
  for (const TensorId t : tables.inputs) at_[Index(t)].host_valid = true;
  FindSections();
  FindLeaving();
  AllocatePersistent();
  if (plan.runtime.workspaces == Workspaces::kHeld) HoldWorkspaces();
  for (const std::uint32_t gap : by_after_[kNoOp]) OpenGap(gap);
}

void LowerWalk::MakeStreams() {
  const auto device = static_cast<std::int16_t>(tables_.device);
  std::vector<Stream>& streams = lowered_.program.streams;
  if (plan_.runtime.copy_streams == 1) {
    streams = {{device, StreamKind::kCompute}, {device, StreamKind::kCopy}};
  } else {
    streams = {
        {device, StreamKind::kCompute}, {device, StreamKind::kDeviceToHost}, {device, StreamKind::kHostToDevice}};
    in_stream_ = 2;
  }
}

void LowerWalk::IssueSwapInsAt(const std::vector<OpId>& issue_at) {
  by_issue_ = DecisionsAt(issue_at, step_.ops.size());
}

void LowerWalk::RunUntil(OpId end) {
  while (next_ < end) {
    const OpId first = std::exchange(next_, choice_.EndOfGroup(next_));
    if (next_ == first + 1) {
      RunOp(first);
    } else {
      RunGroup(first, next_);
    }
  }
}

void LowerWalk::LookAhead(OpId end) {
  const std::vector<Residence> at = at_;
  const std::map<TensorId, Sections> sections = sections_;
  const std::vector<Leaving> leaving = leaving_;
  const std::uint32_t frames = frames_;
  const Bytes live = live_, list_peak = lowered_.list_peak;
  const OpId next = next_, peak_op = lowered_.op;
  const std::int64_t again = again_;
  out_.StartTrial();
  RunUntil(end);
  out_.EndTrial();
  at_ = at;
  sections_ = sections;
  leaving_ = leaving;
  frames_ = frames;
  live_ = live;
  next_ = next;
  again_ = again;
  lowered_.list_peak = list_peak;
  lowered_.op = peak_op;
}

Lowered LowerWalk::TakeItems() {
  RunUntil(static_cast<OpId>(step_.ops.size()));
  FreePersistent();
  lowered_.live_at = std::move(live_at_);
  lowered_.skeleton = out_.TakeSkeleton();
  return std::move(lowered_);
}

void LowerWalk::AllocatePersistent() {
  for (std::size_t t = 0; t < at_.size(); ++t) {
    if (!tables_.persistent[t]) continue;
    at_[t].device = NewOnDevice(tables_.bytes[t], static_cast<TensorId>(t), BufferKind::kTensor, kComputeStream);
  }
}

void LowerWalk::HoldWorkspaces() {
  held_.assign(step_.ops.size(), kNoBuffer);
  for (OpId op = 0; Index(op) < held_.size(); ++op) {
    const bool runs_again = step_.IsForward(op);
    held_[Index(op)] = NewWorkspace(std::max(choice_.WorkspaceOf(op), runs_again ? choice_.WorkspaceAgain(op) : 0));
  }
}

// kNoBuffer: none is wanted.
BufferId LowerWalk::NewWorkspace(Bytes wanted) {
  return wanted > 0 ? NewOnDevice(RoundToUnit(wanted), kNoTensor, BufferKind::kWorkspace, kComputeStream) : kNoBuffer;
}

void LowerWalk::FreePersistent() {
  for (Residence& at : at_) {
    if (at.device != kNoBuffer) FreeBuffer(at.device, kComputeStream);
    at.device = kNoBuffer;
  }
  for (const BufferId workspace : held_) {
    if (workspace != kNoBuffer) FreeBuffer(workspace, kComputeStream);
  }
}

void LowerWalk::RunOp(OpId op) {
  now_ = op;
  BringOperands(op);
  Launch(op, false);
  LeaveOps(op, op + 1);
}

void LowerWalk::BringOperands(OpId op) {
  IssueSwapIns(op);
  RunEntries(op);
  if (StartsUnit(op)) {
    if (plan_.runtime.swap_in_waits == SwapInWaits::kBackwardLayer) BringInForUnit(op);
    RecomputeForUnit(op);
  }
  for (const Touch& touch : tables_.Touches(op)) {
    const bool wanted = touch.access != Access::kWrite && !Streams(op, touch.tensor);
    if (wanted && !IsThere(touch.tensor)) Materialise(touch.tensor, op);
  }
}

// Of several ops that ran together, the last one has the barriers.
void LowerWalk::LeaveOps(OpId first, OpId end) {
  // Copies that may start now run beside the next layer: a barrier behind every layer comes before them.
  const bool behind_barrier = plan_.runtime.barrier == Barrier::kOp || plan_.runtime.barrier == Barrier::kCall;
  for (OpId op = first; op < end; ++op) {
    if (!behind_barrier) StartCopiesOut(op);
    AfterOp(op);
  }
  Barriers(end - 1);
  for (OpId op = first; behind_barrier && op < end; ++op) StartCopiesOut(op);
}

// What the host waits for has to be on its way before.
void LowerWalk::BringInForUnit(OpId first) {
  const OpId end = EndOfUnit(first);
  for (OpId op = first; op < end; ++op) {
    for (const Touch& touch : tables_.Touches(op)) {
      // What an op of the unit streams, as a result perhaps, comes in behind that one.
      const bool streamed = Streams(tables_.uses.Next(touch.tensor, first - 1), touch.tensor);
      const bool missing = touch.access != Access::kWrite && !streamed && !IsThere(touch.tensor);
      if (missing && !NeedsRecompute(touch.tensor)) Materialise(touch.tensor, first);
    }
  }
  AwaitSwapIns(first, end);
}

// Copies in arrive in the order of their buffers: the last one brings the others.
void LowerWalk::AwaitSwapIns(OpId first, OpId end) {
  BufferId last = kNoBuffer;
  for (OpId op = first; op < end; ++op) {
    for (const Touch& touch : tables_.Touches(op)) {
      Residence& at = at_[Index(touch.tensor)];
      if (touch.access == Access::kWrite || !at.arriving || at.device == kNoBuffer) continue;
      at.arriving = false;
      const BufferId arrived = LastArrived(touch.tensor);
      if (last == kNoBuffer || arrived > last) last = arrived;
    }
  }
  if (last != kNoBuffer) out_.HostSyncFor(last);
}

void LowerWalk::IssueSwapIns(OpId op) {
  for (const std::uint32_t g : by_issue_[op]) {
    const TensorId t = plan_.gaps[g].tensor;
    if (Streams(plan_.gaps[g].before, t)) continue;  // which is what brings it in, part by part
    if (Sections* const sections = SectionsOf(t)) {
      IssueSections(g, *sections, op);
      continue;
    }
    if (at_[Index(t)].device == kNoBuffer && at_[Index(t)].gap == g) {
      needed_at_[g] = op;
      SwapIn(t);
    }
  }
}

void LowerWalk::Barriers(OpId op) {
  if (plan_.runtime.barrier == Barrier::kNone && plan_.runtime.host_syncs == HostSyncs::kNone) return;
  const bool last = op + 1 == static_cast<OpId>(step_.ops.size());
  const bool turns = !last && step_.IsForward(op) != step_.IsForward(op + 1);
  const bool last_of_phase = step_.IsForward(op) && (last || turns);
  const bool last_of_layer = last || turns || step_.ops[Index(op)].layer != step_.ops[Index(op + 1)].layer;
  const Runtime& runtime = plan_.runtime;
  const bool backward = step_.IsBackward(op);
  const bool every_op = runtime.barrier == Barrier::kCall || (runtime.barrier == Barrier::kOp && last_of_layer);
  const bool unit_done = runtime.host_syncs == HostSyncs::kBackwardLayer && backward && EndsUnit(op);
  if (every_op || unit_done) {
    out_.HostSync(kComputeStream);
  }
  if (every_op || (runtime.barrier == Barrier::kPhase && last_of_phase)) {
    out_.HostSync(out_stream_);
    if (in_stream_ != out_stream_) out_.HostSync(in_stream_);
  }
}

BufferId LowerWalk::NewOnDevice(Bytes bytes, TensorId tensor, BufferKind kind, StreamId stream) {
  const BufferId buffer = out_.NewBuffer(bytes, tensor, kind, tables_.device);
  out_.Alloc(buffer, stream);
  live_ += bytes;
  live_at_[Index(now_)] = std::max(live_at_[Index(now_)], live_);
  if (live_ > lowered_.list_peak) {
    lowered_.list_peak = live_;
    lowered_.op = now_;
  }
  return buffer;
}

void LowerWalk::FreeOnDevice(TensorId tensor) {
  if (Sections* const sections = SectionsOf(tensor)) return FreeSections(tensor, *sections);
  Residence& at = at_[Index(tensor)];
  FreeBuffer(at.device, kComputeStream);
  at.device = kNoBuffer;
}

void LowerWalk::FreeBuffer(BufferId buffer, StreamId stream) {
  live_ -= lowered_.program.buffers[buffer].bytes;
  out_.Free(buffer, stream);
}

}  // namespace spillway
