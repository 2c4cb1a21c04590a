#include "sim/bounds/memory_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/bounds/linear_program.h"
#include "sim/bounds/memory_gaps.h"

namespace spillway {

namespace {

// What rounding in double precision may add to the program's minimum, relative to it.
constexpr double kRounding = 1e-9;

using Terms = std::vector<LinearProgram::Term>;

enum class Way { kSwap, kRecompute, kRecomputeBeforePeak };

// A share of a gap's bytes that is absent while the ops from `first` to `last` run.
struct Choice {
  const MemoryGap* gap = nullptr;
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

struct Columns {
  double unit = 1;                    // nanoseconds that are 1 in the program
  int step_time = 0, peak_start = 0;  // T and S
  std::vector<Choice> choices;        // by gap
  std::vector<Smaller> smaller;       // of ops with an excess, by op

  double Scaled(double nanos) const { return nanos / unit; }
};

// More than any plan worth comparing takes.
double Longest(const BoundProblem& problem, const MemoryNeed& need) {
  double longest = 2 * (static_cast<double>(need.elapsed.back() + problem.upload) + static_cast<double>(problem.head));
  for (const MemoryGap& gap : need.gaps) {
    longest += std::max(0.0, gap.recompute);
    longest += 2 * static_cast<double>(gap.bytes) * (problem.out.nanos_per_byte + problem.in.nanos_per_byte);
  }
  for (const std::vector<OpWay>& ways : problem.ways) longest += static_cast<double>(ways.back().time);
  return longest;
}

void AddChoices(const MemoryNeed& need, LinearProgram& program, Columns& columns) {
  const OpId peak = need.peak;
  for (const MemoryGap& gap : need.gaps) {
    const auto add = [&](Way way, OpId last) {
      columns.choices.push_back({&gap, way, gap.after + 1, last, program.AddColumn(0, 1)});
    };
    add(Way::kSwap, gap.before - 1);
    if (gap.recompute < 0) continue;
    add(Way::kRecompute, gap.before - 1);
    const bool relieves_before_peak = need.over_before[Index(peak)] > need.over_before[Index(gap.after) + 1];
    if (gap.Over(peak) && relieves_before_peak) add(Way::kRecomputeBeforePeak, peak - 1);
  }
}

// The shares of one op's slower ways are at most 1 together.
void AddSmaller(OpId op, const std::vector<OpWay>& ways, LinearProgram& program, Columns& columns) {
  if (ways.size() == 1) return;
  const OpWay& fastest = ways.front();
  Terms terms;
  for (const OpWay& way : ways) {
    if (way.workspace == fastest.workspace) continue;
    const int column = program.AddColumn(0, 1);
    columns.smaller.push_back(
        {op, fastest.workspace - way.workspace, static_cast<double>(way.time - fastest.time), column});
    terms.push_back({column, -1});
  }
  program.AddRow(terms, -1);
}

Columns AddColumns(const BoundProblem& problem, const MemoryNeed& need, LinearProgram& program) {
  Columns columns;
  columns.unit = std::max(1.0, static_cast<double>(need.elapsed.back()));
  const double longest = columns.Scaled(Longest(problem, need));
  columns.step_time = program.AddColumn(1, longest);
  columns.peak_start = program.AddColumn(0, longest);
  AddChoices(need, program, columns);
  for (OpId op = 0; op < need.ops(); ++op) {
    if (need.excess[Index(op)] > 0) AddSmaller(op, problem.ways[Index(op)], program, columns);
  }
  return columns;
}

// The shares of one gap are at most 1 together.
void AddShareRows(const Columns& columns, LinearProgram& program) {
  const std::vector<Choice>& choices = columns.choices;
  for (std::size_t c = 0; c < choices.size();) {
    Terms terms;
    const MemoryGap* gap = choices[c].gap;
    for (; c < choices.size() && choices[c].gap == gap; ++c) terms.push_back({choices[c].column, -1});
    if (terms.size() > 1) program.AddRow(terms, -1);
  }
}

// What relieves an op: (i), as shares of its excess.
Terms ReliefOf(OpId op, const MemoryNeed& need, const Columns& columns) {
  const auto excess = static_cast<double>(need.excess[Index(op)]);
  Terms terms;
  for (const Choice& choice : columns.choices) {
    if (choice.first > op || op > choice.last) continue;
    terms.push_back({choice.column, static_cast<double>(choice.gap->bytes) / excess});
  }
  for (const Smaller& smaller : columns.smaller) {
    if (smaller.op == op) terms.push_back({smaller.column, static_cast<double>(smaller.saved) / excess});
  }
  return terms;
}

class ColumnSet {
 public:
  explicit ColumnSet(int columns) : words_((Index(columns) + 63) / 64, 0) {}
  void Insert(int column) { words_[Index(column) / 64] |= std::uint64_t{1} << (column % 64); }
  bool IsSubsetOf(const ColumnSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & ~other.words_[w]) != 0) return false;
    }
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
};

// Of ops with an excess, without those implied by another one: an excess no larger, to be covered from the same choices
// and more. No more rows than kMostRows, those of the largest excess: with fewer the minimum is lower, a bound all the same,
// and steps of thousands of ops would take Clp a quarter of a minute.
constexpr std::size_t kMostRows = 1000;

void AddMemoryRows(const MemoryNeed& need, const Columns& columns, LinearProgram& program) {
  std::vector<OpId> by_excess;
  for (OpId op = 0; op < need.ops(); ++op) {
    if (need.excess[Index(op)] > 0) by_excess.push_back(op);
  }
  std::stable_sort(by_excess.begin(), by_excess.end(),
                   [&need](OpId a, OpId b) { return need.excess[Index(a)] > need.excess[Index(b)]; });
  std::vector<ColumnSet> relieved;  // by row that was added
  for (OpId op : by_excess) {
    if (relieved.size() == kMostRows) break;
    const Terms relief = ReliefOf(op, need, columns);
    ColumnSet by(program.columns());
    for (const LinearProgram::Term& term : relief) by.Insert(term.column);
    const auto implies = [&by](const ColumnSet& fewer) { return fewer.IsSubsetOf(by); };
    if (std::any_of(relieved.begin(), relieved.end(), implies)) continue;
    program.AddRow(relief, 1);
    relieved.push_back(std::move(by));
  }
}

// (T1)
void AddTimeRow(const BoundProblem& problem, const MemoryNeed& need, const Columns& columns, LinearProgram& program) {
  Terms terms{{columns.step_time, 1}};
  for (const Choice& choice : columns.choices) {
    if (choice.way != Way::kSwap) terms.push_back({choice.column, -columns.Scaled(choice.gap->recompute)});
  }
  for (const Smaller& smaller : columns.smaller) terms.push_back({smaller.column, -columns.Scaled(smaller.longer)});
  program.AddRow(terms, columns.Scaled(static_cast<double>(problem.head) + need.Compute(0, need.ops())));
}

// The column of a tensor's copy to the host, given the columns of the shares of its gaps that are swapped: a column of
// its own, at least each of them, where there are several.
int CopyOutColumn(const std::vector<int>& swapped, LinearProgram& program) {
  if (swapped.size() == 1) return swapped.front();
  const int copied = program.AddColumn(0, 1);
  for (int share : swapped) program.AddRow({{copied, 1}, {share, -1}}, 0);
  return copied;
}

// (T2)
void AddCopyRows(const BoundProblem& problem, const Columns& columns, LinearProgram& program) {
  const std::vector<Choice>& choices = columns.choices;
  Terms out{{columns.step_time, 1}}, in{{columns.step_time, 1}};
  for (std::size_t c = 0; c < choices.size();) {
    const MemoryGap& gap = *choices[c].gap;
    std::vector<int> swapped;
    for (; c < choices.size() && choices[c].gap->tensor == gap.tensor; ++c) {
      if (choices[c].way == Way::kSwap) swapped.push_back(choices[c].column);
    }
    for (int share : swapped) in.push_back({share, -columns.Scaled(problem.in.Least(gap.bytes))});
    if (gap.input) continue;
    out.push_back({CopyOutColumn(swapped, program), -columns.Scaled(problem.out.Least(gap.bytes))});
  }
  if (problem.copy_streams == 1) {
    in.insert(in.end(), out.begin() + 1, out.end());
  } else {
    program.AddRow(out, 0);
  }
  program.AddRow(in, columns.Scaled(static_cast<double>(problem.upload)));
}

// The end of the first op that makes bytes of a gap over the peak; no copy to the host of such bytes starts earlier.
double CopiesOutStart(const BoundProblem& problem, const MemoryNeed& need) {
  OpId first = kNoOp;
  for (const MemoryGap& gap : need.gaps) {
    if (gap.Over(need.peak) && !gap.input && (first == kNoOp || gap.made < first)) first = gap.made;
  }
  return first == kNoOp ? 0 : static_cast<double>(problem.head) + need.Compute(0, problem.in_parts ? first : first + 1);
}

// (P1) to (P4)
void AddPeakRows(const BoundProblem& problem, const MemoryNeed& need, const Columns& columns, LinearProgram& program) {
  const OpId peak = need.peak;
  const CopyRate &rate_out = problem.out, &rate_in = problem.in;
  Terms start{{columns.peak_start, 1}}, rest{{columns.step_time, 1}, {columns.peak_start, -1}};  // (P1), (P3)
  Terms out{{columns.peak_start, 1}}, in{{columns.step_time, 1}, {columns.peak_start, -1}};      // (P2), (P4)
  // Bytes that are away from the peak and that a copy need not have taken there, need not bring back.
  const auto spare = [&columns](Terms& copied, int column, Bytes bytes, const CopyRate& rate) {
    copied.push_back({column, columns.Scaled(static_cast<double>(bytes) * rate.nanos_per_byte)});
  };
  OpId last_end = 0;
  double copies = 0;
  for (const Choice& choice : columns.choices) {
    const MemoryGap& gap = *choice.gap;
    if (choice.way == Way::kSwap) {
      if (!gap.Over(peak)) continue;
      last_end = std::max(last_end, gap.before);
      ++copies;
      if (gap.input) spare(out, choice.column, gap.bytes, rate_out);
      continue;
    }
    const bool before_peak = choice.way == Way::kRecomputeBeforePeak || gap.before <= peak;
    (before_peak ? start : rest).push_back({choice.column, -columns.Scaled(gap.recompute)});
    if (choice.way != Way::kRecompute || !gap.Over(peak)) continue;
    spare(out, choice.column, gap.bytes, rate_out);
    spare(in, choice.column, gap.bytes, rate_in);
  }
  if (copies == 0) return;  // nothing can be away
  for (const Smaller& smaller : columns.smaller) {
    (smaller.op < peak ? start : rest).push_back({smaller.column, -columns.Scaled(smaller.longer)});
    if (smaller.op != peak) continue;
    spare(out, smaller.column, smaller.saved, rate_out);
    spare(in, smaller.column, smaller.saved, rate_in);
  }
  if (problem.in_parts) last_end = std::min(last_end + 1, need.ops());
  const auto excess = static_cast<double>(need.excess[Index(peak)]);
  program.AddRow(start, columns.Scaled(static_cast<double>(problem.head) + need.Compute(0, peak)));
  program.AddRow(rest, columns.Scaled(need.Compute(peak, need.ops())));
  program.AddRow(out, columns.Scaled(CopiesOutStart(problem, need) + excess * rate_out.nanos_per_byte -
                                     copies * rate_out.rounding));
  program.AddRow(in, columns.Scaled(need.Compute(peak, peak + 1) + need.Compute(last_end, need.ops()) +
                                    excess * rate_in.nanos_per_byte - copies * rate_in.rounding));
}

}  // namespace

double CopyRate::Least(Bytes bytes) const {
  return std::max(0.0, static_cast<double>(bytes) * nanos_per_byte - rounding);
}

Nanos MemoryBound(const BoundProblem& problem) {
  const MemoryNeed need = NeedOf(problem);
  if (need.over_before.back() == 0 || !CanFit(problem, need)) return 0;
  LinearProgram program;
  const Columns columns = AddColumns(problem, need, program);
  AddShareRows(columns, program);
  AddMemoryRows(need, columns, program);
  AddTimeRow(problem, need, columns, program);
  AddCopyRows(problem, columns, program);
  if (!MayStartEarly(problem, need.peak)) AddPeakRows(problem, need, columns, program);
  const double least = program.Minimum() * columns.unit;
  // Times are whole nanoseconds, so a step that takes at least 11.2 takes 12.
  return static_cast<Nanos>(std::ceil(least - kRounding * std::abs(least)));
}

}  // namespace spillway
