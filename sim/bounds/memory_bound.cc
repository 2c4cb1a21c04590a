#include "sim/bounds/memory_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "sim/bounds/linear_program.h"

namespace spillway {

namespace {

// Tensors below this share of the capacity may leave for nothing: hundreds of small gradients of parameters would make
// the program twice as large and the bound hardly any better.
constexpr Bytes kSmallShare = 4096;

// What rounding in double precision may add to the program's minimum, relative to it.
constexpr double kRounding = 1e-9;

struct Gap {
  TensorId tensor = kNoTensor;
  OpId after = kNoOp;
  OpId before = kNoOp;
  Bytes bytes = 0;
  bool input = false;     // has its copy on the host already
  double recompute = -1;  // nanoseconds at least; < 0: cannot be
  OpId made = kNoOp;      // its last writer before the gap
  bool Over(OpId boundary) const { return after < boundary && boundary < before; }
};

enum class Way { kSwap, kRecompute, kRecomputeBeforePeak };

// A share of a gap's bytes that is absent while the ops from `first` to `last` run.
struct Choice {
  std::size_t gap = 0;
  Way way = Way::kSwap;
  OpId first = 0, last = 0;
  int column = 0;
};

// A way to run an op that is slower than its fastest one and needs less workspace.
struct Smaller {
  OpId op = 0;
  Bytes saved = 0;
  double longer = 0;  // nanoseconds
  int column = 0;
};

class ChoiceSet {
 public:
  explicit ChoiceSet(std::size_t choices) : words_((choices + 63) / 64, 0) {}
  void Insert(std::size_t choice) { words_[choice / 64] |= std::uint64_t{1} << (choice % 64); }
  bool IsSubsetOf(const ChoiceSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & ~other.words_[w]) != 0) return false;
    }
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
};

class MemoryProgram {
 public:
  explicit MemoryProgram(const BoundProblem& problem)
      : problem_(problem),
        step_(*problem.step),
        ops_(static_cast<OpId>(step_.ops.size())),
        uses_(step_),
        head_(static_cast<double>(problem.head)) {}
  Nanos Bound();

 private:
  using Terms = std::vector<LinearProgram::Term>;

  bool IsSmall(const Tensor& tensor) const {
    return tensor.Traits().may_move && tensor.bytes <= problem_.capacity / kSmallShare;
  }
  // Whether a tensor may be away before `use` for nothing: it is small, or `use` writes all of it without reading it.
  bool LeavesForNothing(TensorId tensor, OpId use) const {
    const Tensor& t = step_.tensors[Index(tensor)];
    const std::vector<TensorId>& reads = step_.ops[Index(use)].reads;
    return IsSmall(t) || (t.Traits().may_move && std::find(reads.begin(), reads.end(), tensor) == reads.end());
  }
  void SumMemory();
  void FindGaps();
  void AddGapsOf(TensorId tensor);
  double RecomputeTime(TensorId tensor, OpId after) const;
  bool CanFit() const;
  void AddChoices();
  void AddChoice(std::size_t gap, Way way, OpId last);
  void AddSmaller(OpId op);
  void AddShareRows();
  void AddMemoryRows();
  std::vector<OpId> TightBoundaries() const;
  void AddTimeRows();
  int CopyOutColumn(const std::vector<int>& swapped);
  void AddCopyRows();
  void AddPeakRows();
  double CopiesOutStart() const;
  Terms RecomputedBytesAtPeak(double nanos_per_byte) const;
  const OpWay& Fastest(OpId op) const { return problem_.ways[Index(op)].front(); }
  // With the smallest workspace instead of the fastest way's.
  Bytes LeastExcess(OpId op) const {
    return excess_[Index(op)] - Fastest(op).workspace + problem_.ways[Index(op)].back().workspace;
  }

  // Time in the program's unit.
  double Scaled(double nanos) const { return nanos / unit_; }
  double ComputeOf(OpId from, OpId to) const {  // [from, to)
    return static_cast<double>(elapsed_[Index(to)] - elapsed_[Index(from)]);
  }
  bool OverPeak(const Choice& choice) const {
    return choice.way != Way::kRecomputeBeforePeak && gaps_[choice.gap].Over(peak_);
  }

  const BoundProblem& problem_;
  const TrainingStep& step_;
  const OpId ops_;
  const Uses uses_;
  const double head_;
  std::vector<Nanos> elapsed_;     // by op: time of all ops before it; one more at the end
  std::vector<Bytes> excess_;      // by op
  std::vector<OpId> over_before_;  // by op: boundaries before it with an excess; one more at the end
  OpId peak_ = 0;                  // the boundary with the largest excess whatever the workspaces
  double unit_ = 1;
  std::vector<Gap> gaps_;  // those over a boundary with an excess, by tensor
  std::vector<Choice> choices_;
  std::vector<Smaller> smaller_;  // at boundaries with an excess, by op
  LinearProgram program_;
  int step_time_ = 0, peak_start_ = 0;  // columns T and S
};

Nanos MemoryProgram::Bound() {
  SumMemory();
  FindGaps();
  if (over_before_.back() == 0 || !CanFit()) return 0;
  AddChoices();
  AddShareRows();
  AddMemoryRows();
  AddTimeRows();
  AddCopyRows();
  AddPeakRows();
  const double least = program_.Minimum() * unit_;
  // Times are whole nanoseconds, so a step that takes at least 11.2 takes 12.
  return static_cast<Nanos>(std::ceil(least - kRounding * std::abs(least)));
}

void MemoryProgram::SumMemory() {
  std::vector<Bytes> change(Index(ops_) + 1, 0);
  for (TensorId t = 0; t < static_cast<TensorId>(step_.tensors.size()); ++t) {
    const Tensor& tensor = step_.tensors[Index(t)];
    const std::vector<OpId>& uses = uses_.of[Index(t)];
    if (tensor.Traits().resident) {
      change.front() += tensor.bytes;
    } else if (!uses.empty()) {
      change[Index(uses.front())] += tensor.bytes;
      change[Index(uses.back()) + 1] -= tensor.bytes;
    }
    for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
      if (!LeavesForNothing(t, uses[k + 1])) continue;
      change[Index(uses[k]) + 1] -= tensor.bytes;
      change[Index(uses[k + 1])] += tensor.bytes;
    }
  }
  Bytes live = -problem_.capacity;
  elapsed_.push_back(0);
  over_before_.push_back(0);
  for (OpId op = 0; op < ops_; ++op) {
    live += change[Index(op)];
    excess_.push_back(live + Fastest(op).workspace);
    over_before_.push_back(over_before_.back() + (excess_.back() > 0 ? 1 : 0));
    elapsed_.push_back(elapsed_.back() + Fastest(op).time);
  }
  for (OpId op = 0; op < ops_; ++op) {
    if (LeastExcess(op) > LeastExcess(peak_)) peak_ = op;
  }
  // Where smaller workspaces would do everywhere, where they would have to do most.
  if (LeastExcess(peak_) <= 0) {
    peak_ = static_cast<OpId>(std::max_element(excess_.begin(), excess_.end()) - excess_.begin());
  }
}

void MemoryProgram::FindGaps() {
  for (TensorId t = 0; t < static_cast<TensorId>(step_.tensors.size()); ++t) {
    const Tensor& tensor = step_.tensors[Index(t)];
    if (tensor.Traits().may_move && !IsSmall(tensor)) AddGapsOf(t);
  }
}

void MemoryProgram::AddGapsOf(TensorId tensor) {
  const std::vector<OpId>& uses = uses_.of[Index(tensor)];
  OpId made = kNoOp;
  for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
    const std::vector<TensorId>& writes = step_.ops[Index(uses[k])].writes;
    if (std::find(writes.begin(), writes.end(), tensor) != writes.end()) made = uses[k];
    if (over_before_[Index(uses[k + 1])] == over_before_[Index(uses[k]) + 1]) continue;
    if (LeavesForNothing(tensor, uses[k + 1])) continue;
    Gap gap{.tensor = tensor, .after = uses[k], .before = uses[k + 1], .bytes = step_.tensors[Index(tensor)].bytes};
    gap.input = step_.tensors[Index(tensor)].Traits().on_host;
    gap.recompute = RecomputeTime(tensor, gap.after);
    gap.made = made;
    gaps_.push_back(gap);
  }
}

double MemoryProgram::RecomputeTime(TensorId tensor, OpId after) const {
  const std::vector<OpId>& writers = uses_.writers[Index(tensor)];
  if (writers.empty() || writers.front() > after) return -1;
  double sum = 0;
  for (OpId op : writers) {
    if (op > after) break;
    const std::vector<TensorId>& writes = step_.ops[Index(op)].writes;
    const auto shared_by = std::count_if(writes.begin(), writes.end(),
                                         [this](TensorId t) { return step_.tensors[Index(t)].Traits().may_move; });
    sum += static_cast<double>(Fastest(op).time) / static_cast<double>(shared_by);
  }
  return sum;
}

bool MemoryProgram::CanFit() const {
  std::vector<Bytes> movable(Index(ops_) + 1, 0);  // differences
  for (const Gap& gap : gaps_) {
    movable[Index(gap.after) + 1] += gap.bytes;
    movable[Index(gap.before)] -= gap.bytes;
  }
  std::partial_sum(movable.begin(), movable.end(), movable.begin());
  for (OpId op = 0; op < ops_; ++op) {
    if (LeastExcess(op) > movable[Index(op)]) return false;
  }
  return true;
}

void MemoryProgram::AddChoices() {
  unit_ = std::max(1.0, static_cast<double>(elapsed_.back()));
  double longest = 2 * (static_cast<double>(elapsed_.back() + problem_.upload) + head_);
  for (const Gap& gap : gaps_) {
    longest += std::max(0.0, gap.recompute);
    longest += 2 * static_cast<double>(gap.bytes) * (problem_.out.nanos_per_byte + problem_.in.nanos_per_byte);
  }
  for (const std::vector<OpWay>& ways : problem_.ways) longest += static_cast<double>(ways.back().time);
  step_time_ = program_.AddColumn(1, Scaled(longest));
  peak_start_ = program_.AddColumn(0, Scaled(longest));
  for (std::size_t g = 0; g < gaps_.size(); ++g) {
    const Gap& gap = gaps_[g];
    AddChoice(g, Way::kSwap, gap.before - 1);
    if (gap.recompute < 0) continue;
    AddChoice(g, Way::kRecompute, gap.before - 1);
    const bool relieves_before_peak = over_before_[Index(peak_)] > over_before_[Index(gap.after) + 1];
    if (gap.Over(peak_) && relieves_before_peak) AddChoice(g, Way::kRecomputeBeforePeak, peak_ - 1);
  }
  for (OpId op = 0; op < ops_; ++op) AddSmaller(op);
}

void MemoryProgram::AddSmaller(OpId op) {
  const std::vector<OpWay>& ways = problem_.ways[Index(op)];
  if (excess_[Index(op)] <= 0 || ways.size() == 1) return;
  Terms terms;
  for (const OpWay& way : ways) {
    if (way.workspace == ways.front().workspace) continue;
    const int column = program_.AddColumn(0, 1);
    smaller_.push_back(
        {op, ways.front().workspace - way.workspace, static_cast<double>(way.time - ways.front().time), column});
    terms.push_back({column, -1});
  }
  program_.AddRow(terms, -1);
}

void MemoryProgram::AddChoice(std::size_t gap, Way way, OpId last) {
  choices_.push_back({gap, way, gaps_[gap].after + 1, last, program_.AddColumn(0, 1)});
}

// The shares of one gap are at most 1 together.
void MemoryProgram::AddShareRows() {
  for (std::size_t c = 0; c < choices_.size();) {
    Terms terms;
    const std::size_t gap = choices_[c].gap;
    for (; c < choices_.size() && choices_[c].gap == gap; ++c) terms.push_back({choices_[c].column, -1});
    if (terms.size() > 1) program_.AddRow(terms, -1);
  }
}

// Boundaries with an excess, without those implied by another one: an excess no larger, to be covered from the same
// choices and more.
std::vector<OpId> MemoryProgram::TightBoundaries() const {
  std::vector<OpId> by_excess;
  for (OpId op = 0; op < ops_; ++op) {
    if (excess_[Index(op)] > 0) by_excess.push_back(op);
  }
  std::stable_sort(by_excess.begin(), by_excess.end(),
                   [this](OpId a, OpId b) { return excess_[Index(a)] > excess_[Index(b)]; });
  std::vector<OpId> tight;
  std::vector<ChoiceSet> relieved;  // by boundary of `tight`
  for (OpId op : by_excess) {
    ChoiceSet by(choices_.size() + smaller_.size());
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      if (choices_[c].first <= op && op <= choices_[c].last) by.Insert(c);
    }
    for (std::size_t s = 0; s < smaller_.size(); ++s) {
      if (smaller_[s].op == op) by.Insert(choices_.size() + s);
    }
    const auto implies = [&by](const ChoiceSet& fewer) { return fewer.IsSubsetOf(by); };
    if (std::any_of(relieved.begin(), relieved.end(), implies)) continue;
    tight.push_back(op);
    relieved.push_back(std::move(by));
  }
  return tight;
}

void MemoryProgram::AddMemoryRows() {
  for (OpId op : TightBoundaries()) {
    const auto excess = static_cast<double>(excess_[Index(op)]);
    Terms terms;
    for (const Choice& choice : choices_) {
      if (choice.first > op || op > choice.last) continue;
      terms.push_back({choice.column, static_cast<double>(gaps_[choice.gap].bytes) / excess});
    }
    for (const Smaller& smaller : smaller_) {
      if (smaller.op == op) terms.push_back({smaller.column, static_cast<double>(smaller.saved) / excess});
    }
    program_.AddRow(terms, 1);
  }
}

void MemoryProgram::AddTimeRows() {  // (T1)
  Terms terms{{step_time_, 1}};
  for (const Choice& choice : choices_) {
    if (choice.way != Way::kSwap) terms.push_back({choice.column, -Scaled(gaps_[choice.gap].recompute)});
  }
  for (const Smaller& smaller : smaller_) terms.push_back({smaller.column, -Scaled(smaller.longer)});
  program_.AddRow(terms, Scaled(head_ + ComputeOf(0, ops_)));
}

// The column of a tensor's copy to the host, given the columns of the shares of its gaps that are swapped: a column of
// its own, at least each of them, where there are several.
int MemoryProgram::CopyOutColumn(const std::vector<int>& swapped) {
  if (swapped.size() == 1) return swapped.front();
  const int copied = program_.AddColumn(0, 1);
  for (int share : swapped) program_.AddRow({{copied, 1}, {share, -1}}, 0);
  return copied;
}

void MemoryProgram::AddCopyRows() {  // (T2)
  Terms out{{step_time_, 1}}, in{{step_time_, 1}};
  for (std::size_t c = 0; c < choices_.size();) {
    const Gap& gap = gaps_[choices_[c].gap];
    std::vector<int> swapped;
    for (; c < choices_.size() && gaps_[choices_[c].gap].tensor == gap.tensor; ++c) {
      if (choices_[c].way == Way::kSwap) swapped.push_back(choices_[c].column);
    }
    for (int share : swapped) in.push_back({share, -Scaled(problem_.in.Least(gap.bytes))});
    if (!gap.input) out.push_back({CopyOutColumn(swapped), -Scaled(problem_.out.Least(gap.bytes))});
  }
  if (problem_.copy_streams == 1) {
    in.insert(in.end(), out.begin() + 1, out.end());
  } else {
    program_.AddRow(out, 0);
  }
  program_.AddRow(in, Scaled(static_cast<double>(problem_.upload)));
}

// The end of the first op that makes bytes of a gap over the peak; no copy to the host of such bytes starts earlier.
double MemoryProgram::CopiesOutStart() const {
  OpId first = kNoOp;
  for (const Gap& gap : gaps_) {
    if (gap.Over(peak_) && !gap.input && (first == kNoOp || gap.made < first)) first = gap.made;
  }
  return first == kNoOp ? 0 : head_ + ComputeOf(0, first + 1);
}

MemoryProgram::Terms MemoryProgram::RecomputedBytesAtPeak(double nanos_per_byte) const {
  Terms terms;
  for (const Choice& choice : choices_) {
    if (choice.way != Way::kRecompute || !OverPeak(choice)) continue;
    terms.push_back({choice.column, Scaled(static_cast<double>(gaps_[choice.gap].bytes) * nanos_per_byte)});
  }
  return terms;
}

void MemoryProgram::AddPeakRows() {
  const auto excess = static_cast<double>(excess_[Index(peak_)]);
  Terms start{{peak_start_, 1}}, rest{{step_time_, 1}, {peak_start_, -1}};  // (P1), (P3)
  Terms out = RecomputedBytesAtPeak(problem_.out.nanos_per_byte);           // (P2)
  Terms in = RecomputedBytesAtPeak(problem_.in.nanos_per_byte);             // (P4)
  OpId last_end = 0;
  double copies = 0;
  for (const Choice& choice : choices_) {
    const Gap& gap = gaps_[choice.gap];
    if (choice.way == Way::kSwap) {
      if (!OverPeak(choice)) continue;
      last_end = std::max(last_end, gap.before);
      ++copies;
      const double bytes = static_cast<double>(gap.bytes);
      if (gap.input) out.push_back({choice.column, Scaled(bytes * problem_.out.nanos_per_byte)});
    } else if (choice.way == Way::kRecomputeBeforePeak || gap.before <= peak_) {
      start.push_back({choice.column, -Scaled(gap.recompute)});
    } else {
      rest.push_back({choice.column, -Scaled(gap.recompute)});
    }
  }
  if (copies == 0) return;  // nothing can be away
  for (const Smaller& smaller : smaller_) {
    (smaller.op < peak_ ? start : rest).push_back({smaller.column, -Scaled(smaller.longer)});
    if (smaller.op != peak_) continue;
    const auto saved = static_cast<double>(smaller.saved);
    out.push_back({smaller.column, Scaled(saved * problem_.out.nanos_per_byte)});
    in.push_back({smaller.column, Scaled(saved * problem_.in.nanos_per_byte)});
  }
  out.push_back({peak_start_, 1});
  in.push_back({step_time_, 1});
  in.push_back({peak_start_, -1});
  program_.AddRow(start, Scaled(head_ + ComputeOf(0, peak_)));
  program_.AddRow(rest, Scaled(ComputeOf(peak_, ops_)));
  program_.AddRow(out,
                  Scaled(CopiesOutStart() + excess * problem_.out.nanos_per_byte - copies * problem_.out.rounding));
  program_.AddRow(in, Scaled(ComputeOf(peak_, peak_ + 1) + ComputeOf(last_end, ops_) +
                             excess * problem_.in.nanos_per_byte - copies * problem_.in.rounding));
}

}  // namespace

double CopyRate::Least(Bytes bytes) const {
  return std::max(0.0, static_cast<double>(bytes) * nanos_per_byte - rounding);
}

Nanos MemoryBound(const BoundProblem& problem) { return MemoryProgram(problem).Bound(); }

}  // namespace spillway
