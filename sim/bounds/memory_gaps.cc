#include "sim/bounds/memory_gaps.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"

namespace spillway {

namespace {

// Tensors below this share of the capacity may leave for nothing: hundreds of small gradients of parameters would make
// the program twice as large and the bound hardly any better.
constexpr Bytes kSmallShare = 4096;

// Whether a tensor may be away before `use` for nothing: it is small, or `use` writes all of it without reading it.
bool LeavesForNothing(const BoundProblem& problem, TensorId id, OpId use) {
  const Tensor& tensor = problem.step->tensors[Index(id)];
  return IsSmall(problem, tensor) || (tensor.Traits().may_move && !Contains(problem.step->ops[Index(use)].reads, id));
}

// What `use` reads of the tensor at least: in tiles of rows a convolution may leave out those that no window meets.
Bytes BytesRead(const BoundProblem& problem, TensorId id, OpId use) {
  const Bytes bytes = problem.step->tensors[Index(id)].bytes;
  const Op& op = problem.step->ops[Index(use)];
  if (!problem.in_rows || PaddedOperand(op) != id) return bytes;
  return bytes / op.shape.in.h * RowsRead(op.shape, op.kind);
}

// The excess of `op` with the smallest workspace instead of the fastest way's.
Bytes LeastExcess(const BoundProblem& problem, const MemoryNeed& need, OpId op) {
  const std::vector<OpWay>& ways = problem.ways[Index(op)];
  return need.excess[Index(op)] - ways.front().workspace + ways.back().workspace;
}

// What does not leave, by op, against the one before it: throughout, or from its first use to its last.
void AddKept(const BoundProblem& problem, TensorId id, const std::vector<OpId>& uses, std::vector<Bytes>& change) {
  const Tensor& tensor = problem.step->tensors[Index(id)];
  const bool leaves = problem.states_leave && MayRestOnHost(*problem.step, id);
  if (tensor.Traits().resident && !leaves) {
    change.front() += tensor.bytes;
  } else if (!uses.empty()) {
    change[Index(uses.front())] += tensor.bytes;
    change[Index(uses.back()) + 1] -= tensor.bytes;
  }
}

// By op, against the one before it: bytes of tensors that are there and do not leave for nothing.
std::vector<Bytes> ChangesOf(const BoundProblem& problem, const Uses& all_uses) {
  const TrainingStep& step = *problem.step;
  std::vector<Bytes> change(step.ops.size() + 1, 0);
  for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) {
    const Tensor& tensor = step.tensors[Index(t)];
    const std::vector<OpId>& uses = all_uses.of[Index(t)];
    AddKept(problem, t, uses, change);
    for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
      if (!LeavesForNothing(problem, t, uses[k + 1])) continue;
      change[Index(uses[k]) + 1] -= tensor.bytes;
      change[Index(uses[k + 1])] += tensor.bytes;
    }
  }
  return change;
}

// Of one streamed tensor: where it is an operand in place, and between uses the second of which reads it, from when forward
// has made all of it.
void AddStreamedChanges(const BoundProblem& problem, const Uses& all_uses, TensorId t, std::vector<Bytes>& change) {
  const Tensor& tensor = problem.step->tensors[Index(t)];
  const std::vector<OpId>&uses = all_uses.of[Index(t)], &writers = all_uses.writers[Index(t)];
  const auto add = [&](OpId from, OpId to, Bytes bytes) {
    if (from >= to) return;
    change[Index(from)] += bytes;
    change[Index(to)] -= bytes;
  };
  const OpId made = writers.empty() ? kNoOp : writers.back();
  const auto anew = std::find_if(uses.rbegin(), uses.rend(),
                                 [&](OpId use) { return !Contains(problem.step->ops[Index(use)].reads, t); });
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const bool streamed = MayStreamAt(problem, uses[k], t);
    if (!streamed) add(uses[k], uses[k] + 1, tensor.bytes);
    const bool again = anew != uses.rend() && uses[k] <= *anew;  // somebody will write it anew
    if (k == 0 || again || LeavesForNothing(problem, t, uses[k])) continue;
    add(std::max(uses[k - 1], made) + 1, streamed ? uses[k] + 1 : uses[k], BytesRead(problem, t, uses[k]));
  }
}

std::vector<Bytes> StreamedChangesOf(const BoundProblem& problem, const Uses& all_uses) {
  const TrainingStep& step = *problem.step;
  std::vector<Bytes> change(step.ops.size() + 1, 0);
  for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) {
    const Tensor& tensor = step.tensors[Index(t)];
    if (tensor.Traits().may_move && !tensor.Traits().resident) {
      AddStreamedChanges(problem, all_uses, t, change);
    } else {
      AddKept(problem, t, all_uses.of[Index(t)], change);
    }
  }
  return change;
}

OpId PeakOf(const BoundProblem& problem, const MemoryNeed& need) {
  OpId peak = 0;
  for (OpId op = 0; op < need.ops(); ++op) {
    if (LeastExcess(problem, need, op) > LeastExcess(problem, need, peak)) peak = op;
  }
  if (LeastExcess(problem, need, peak) > 0) return peak;
  // Where smaller workspaces would do everywhere, where they would have to do most.
  return static_cast<OpId>(std::max_element(need.excess.begin(), need.excess.end()) - need.excess.begin());
}

// To have a tensor again that was dropped behind `after`: its forward writers so far, each shared among what it writes.
double RecomputeTime(const BoundProblem& problem, const Uses& uses, TensorId tensor, OpId after) {
  const TrainingStep& step = *problem.step;
  const std::vector<OpId>& writers = uses.writers[Index(tensor)];
  if (writers.empty() || writers.front() > after) return -1;
  double sum = 0;
  for (OpId op : writers) {
    if (op > after) break;
    const std::vector<TensorId>& writes = step.ops[Index(op)].writes;
    const auto shared_by = std::count_if(writes.begin(), writes.end(),
                                         [&step](TensorId t) { return step.tensors[Index(t)].Traits().may_move; });
    sum += static_cast<double>(problem.WaysAgain(op).front().time) / static_cast<double>(shared_by);
  }
  return sum;
}

void AddGapsOf(const BoundProblem& problem, const Uses& all_uses, TensorId tensor, MemoryNeed& need) {
  const TrainingStep& step = *problem.step;
  const std::vector<OpId>& uses = all_uses.of[Index(tensor)];
  const Bytes bytes = step.tensors[Index(tensor)].bytes;
  MemoryGap gap{.tensor = tensor};
  gap.input = step.tensors[Index(tensor)].Traits().on_host;
  for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
    gap.after = uses[k];
    gap.before = uses[k + 1];
    if (Contains(step.ops[Index(gap.after)].writes, tensor)) gap.made = gap.after;
    gap.streamed = MayStreamAt(problem, gap.before, tensor);
    gap.bytes = problem.streamed ? BytesRead(problem, tensor, gap.before) : bytes;
    if (need.over_before[Index(gap.End())] == need.over_before[Index(gap.after) + 1]) continue;
    if (LeavesForNothing(problem, tensor, gap.before)) continue;
    const bool may = step.MayRecompute(tensor, gap.before);
    gap.recompute = may ? RecomputeTime(problem, all_uses, tensor, gap.after) : -1;
    need.gaps.push_back(gap);
  }
}

// No room is ever short where nothing is asked.
constexpr Bytes kNothingAsked = std::numeric_limits<Bytes>::min() / 4;

}  // namespace

double LeastBesideCopies(const std::vector<OpWay>& ways) {
  double least = ways.front().beside_copies;
  for (const OpWay& way : ways) least = std::min(least, way.beside_copies);
  return std::max(least, static_cast<double>(ways.front().time));
}

bool MayStreamAt(const BoundProblem& problem, OpId op, TensorId tensor) {
  return problem.streamed && HasSampleParts(problem.step->ops[Index(op)]) &&
         MayStream(problem.step->tensors[Index(tensor)]);
}

bool MayFollowInTurns(const BoundProblem& problem, OpId op) {
  const TrainingStep& step = *problem.step;
  if (!problem.streamed || op == 0 || step.IsForward(op) != step.IsForward(op - 1)) return false;
  return HasSampleParts(step.ops[Index(op)]) && HasSampleParts(step.ops[Index(op - 1)]);
}

bool MayStartEarly(const BoundProblem& problem, OpId op) {
  return problem.in_sections && HasAlgorithms(problem.step->ops[Index(op)].kind);
}

bool IsSmall(const BoundProblem& problem, const Tensor& tensor) {
  return tensor.Traits().may_move && tensor.bytes <= problem.capacity / kSmallShare;
}

MemoryNeed NeedOf(const BoundProblem& problem) {
  const TrainingStep& step = *problem.step;
  const Uses uses(step);
  const std::vector<Bytes> change = problem.streamed ? StreamedChangesOf(problem, uses) : ChangesOf(problem, uses);
  MemoryNeed need;
  need.elapsed.push_back(0);
  need.over_before.push_back(0);
  Bytes live = -problem.capacity;
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    const OpWay& fastest = problem.ways[op].front();
    live += change[op];
    const bool asked = !MayFollowInTurns(problem, static_cast<OpId>(op));
    need.excess.push_back(asked ? live + fastest.workspace : kNothingAsked);
    need.over_before.push_back(need.over_before.back() + (need.excess.back() > 0 ? 1 : 0));
    need.elapsed.push_back(need.elapsed.back() + fastest.time);
    need.beside_copies.push_back(LeastBesideCopies(problem.ways[op]));
  }
  need.peak = PeakOf(problem, need);
  for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) {
    const Tensor& tensor = step.tensors[Index(t)];
    if (tensor.Traits().may_move && !IsSmall(problem, tensor)) AddGapsOf(problem, uses, t, need);
  }
  return need;
}

bool CanFit(const BoundProblem& problem, const MemoryNeed& need) {
  std::vector<Bytes> movable(need.excess.size() + 1, 0);  // differences
  for (const MemoryGap& gap : need.gaps) {
    movable[Index(gap.after) + 1] += gap.bytes;
    movable[Index(gap.End())] -= gap.bytes;
  }
  std::partial_sum(movable.begin(), movable.end(), movable.begin());
  for (OpId op = 0; op < need.ops(); ++op) {
    if (LeastExcess(problem, need, op) > movable[Index(op)]) return false;
  }
  return true;
}

}  // namespace spillway
