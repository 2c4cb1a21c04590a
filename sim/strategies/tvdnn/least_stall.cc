// The integer program of section_model.h.
#include <algorithm>
#include <cmath>

#include "sim/strategies/tvdnn/integer_program.h"
#include "sim/strategies/tvdnn/section_model.h"

namespace spillway::tvdnn {

namespace {

using Terms = std::vector<LinearProgram::Term>;

// Of one direction: bytes copied by the start of each op, and by its end.
struct Copied {
  std::vector<int> start, end;
};

class Writer {
 public:
  Writer(const SectionModel& model, Bytes capacity) : model_(model), capacity_(capacity) {
    Nanos compute = 0;
    for (const Nanos time : model.time) compute += time;
    time_unit_ = std::max(1.0, static_cast<double>(compute) / 100);
    bytes_unit_ = std::max(1.0, static_cast<double>(capacity) / 100);
    for (const SectionGap& gap : model.gaps) all_ += Scaled(gap.bytes * gap.sections);
  }

  IntegerProgram Write() {
    AddColumns();
    for (OpId op = 0; op < model_.ops(); ++op) {
      AddTimes(op);
      AddSupply(op);
      AddNeed(op);
      AddMemory(op);
    }
    return std::move(program_);
  }
  double time_unit() const { return time_unit_; }

 private:
  double Scaled(Bytes bytes) const { return static_cast<double>(bytes) / bytes_unit_; }
  LinearProgram& rows() { return program_.rows; }

  void AddColumns() {
    const double rate = std::max(model_.out_rate, model_.in_rate) * bytes_unit_ / time_unit_;
    for (OpId op = 0; op < model_.ops(); ++op) {
      for (std::vector<int>* column : {&out_.start, &out_.end, &in_.start, &in_.end}) {
        column->push_back(rows().AddColumn(0, all_));
      }
      stall_.push_back(rows().AddColumn(1, 2 * all_ * rate + 1));
    }
    for (const SectionGap& gap : model_.gaps) {
      // Of equal stalls that with the fewest bytes away.
      count_.push_back(rows().AddColumn(kMoved * Scaled(gap.bytes), static_cast<double>(gap.sections)));
      program_.whole.push_back(count_.back());
      // What the gap before has copied out and away is there: d_g <= both counts.
      there_.push_back(-1);
      if (gap.copied_by < 0 || gap.on_host) continue;
      there_.back() = rows().AddColumn(0, static_cast<double>(gap.sections));
      rows().AddRow({{count_.back(), 1}, {there_.back(), -1}}, 0);
      rows().AddRow({{count_[Index(gap.copied_by)], 1}, {there_.back(), -1}}, 0);
    }
  }

  // Of gaps begun before the op: bytes to be copied out, or on the host already.
  void AddBytes(OpId op, bool copied, Terms& terms) const {
    for (std::size_t g = 0; g < model_.gaps.size(); ++g) {
      const SectionGap& gap = model_.gaps[g];
      if (gap.after >= op) continue;
      const double bytes = Scaled(gap.bytes);
      if (copied != gap.on_host) terms.push_back({count_[g], bytes});
      if (there_[g] >= 0) terms.push_back({there_[g], copied ? -bytes : bytes});
    }
  }

  // What is copied before the op runs, in its stall, or while it runs.
  void AddPhase(OpId op, bool run) {
    const double time = run ? static_cast<double>(model_.time[Index(op)]) / time_unit_ : 0;
    Terms outs, ins;
    if (!run) outs = ins = {{stall_[Index(op)], 1}};
    const auto add = [&](const Copied& copied, double nanos, Terms& terms) {
      const double rate = nanos * bytes_unit_ / time_unit_;
      const int to = (run ? copied.end : copied.start)[Index(op)];
      const int from = run ? copied.start[Index(op)] : op > 0 ? copied.end[Index(op) - 1] : -1;
      terms.push_back({to, -rate});
      if (from < 0) return;
      terms.push_back({from, rate});
      rows().AddRow({{to, 1}, {from, -1}}, 0);
    };
    add(out_, model_.out_rate, outs);
    add(in_, model_.in_rate, model_.copy_streams == 1 ? outs : ins);
    rows().AddRow(outs, -time);
    if (model_.copy_streams > 1) rows().AddRow(ins, -time);
  }

  void AddTimes(OpId op) {
    AddPhase(op, false);
    AddPhase(op, true);
  }

  void AddSupply(OpId op) {
    Terms out{{out_.end[Index(op)], -1}};
    AddBytes(op, true, out);
    rows().AddRow(out, 0);
    Terms early{{in_.start[Index(op)], -1}}, late{{in_.end[Index(op)], -1}, {out_.start[Index(op)], 1}};
    if (op > 0) early.push_back({out_.end[Index(op) - 1], 1});
    AddBytes(op, false, early);
    AddBytes(op, false, late);
    rows().AddRow(early, 0);
    rows().AddRow(late, 0);
  }

  // What is in when the op begins: at least the gaps that it, or an earlier one, ends.
  void AddNeed(OpId op) {
    Terms in{{in_.start[Index(op)], 1}};
    bool ends = false;
    for (std::size_t g = 0; g < model_.gaps.size(); ++g) {
      if (model_.gaps[g].before > op) continue;
      ends = ends || model_.gaps[g].before == op;
      in.push_back({count_[g], -Scaled(model_.gaps[g].bytes)});
    }
    if (ends) rows().AddRow(in, 0);
  }

  void AddMemory(OpId op) {
    const double excess = Scaled(model_.live[Index(op)] - capacity_);
    if (excess <= 0) return;
    Terms away{{in_.end[Index(op)], -1}, {out_.start[Index(op)], 1}};
    AddBytes(op, false, away);
    rows().AddRow(away, excess);
  }

  static constexpr double kMoved = 1e-6;  // of a hundredth of the compute time, for a hundredth of the memory
  const SectionModel& model_;
  const Bytes capacity_;
  double time_unit_ = 1, bytes_unit_ = 1, all_ = 0;
  IntegerProgram program_;
  Copied out_, in_;
  std::vector<int> stall_;          // by op
  std::vector<int> count_, there_;  // by gap
};

// In the order of the program's whole columns, which are the gaps'.
Counts CountsOf(const IntegerProgram& program, const std::vector<double>& columns) {
  Counts counts;
  for (const int column : program.whole) {
    counts.push_back(static_cast<std::int64_t>(std::llround(columns[static_cast<std::size_t>(column)])));
  }
  return counts;
}

constexpr double kClose = 1e-6;  // of a hundredth of the compute time
constexpr OpId kMostMoments = 128;

// With ops taken together where there are many, each group with the most that any of them needs. What leaves behind one
// group, or is needed within another, is there throughout both: counts that fit here fit op by op.
SectionModel Coarse(const SectionModel& model) {
  const OpId group = (model.ops() + kMostMoments - 1) / kMostMoments;
  if (group <= 1) return model;
  SectionModel coarse = model;
  coarse.live.clear();
  coarse.time.clear();
  for (OpId op = 0; op < model.ops(); ++op) {
    if (op % group == 0) {
      coarse.live.push_back(0);
      coarse.time.push_back(0);
    }
    coarse.live.back() = std::max(coarse.live.back(), model.live[Index(op)]);
    coarse.time.back() += model.time[Index(op)];
  }
  for (SectionGap& gap : coarse.gaps) {
    if (gap.after >= 0) gap.after /= group;
    gap.before /= group;
    if (gap.before - gap.after < 2) gap.sections = 0;
  }
  return coarse;
}

}  // namespace

CountedProgram LeastStall(const SectionModel& whole, Bytes capacity, std::int64_t most_nodes) {
  const SectionModel model = Coarse(whole);
  Writer writer(model, capacity);
  const IntegerProgram program = writer.Write();
  const IntegerSolution solution = Minimise(program, most_nodes, kClose);
  CountedProgram counted;
  counted.bound = solution.bound * writer.time_unit();
  counted.found = solution.found;
  counted.nodes = solution.nodes;
  if (!solution.found) return counted;
  counted.stall = solution.value * writer.time_unit();
  counted.counts = CountsOf(program, solution.columns);
  return counted;
}

double StallOf(const SectionModel& model, Bytes capacity, const Counts& counts) {
  Writer writer(model, capacity);
  const IntegerProgram program = writer.Write();
  std::vector<double> lower(program.rows.upper().size(), 0.0), upper = program.rows.upper();
  for (std::size_t g = 0; g < counts.size(); ++g) {
    const auto column = static_cast<std::size_t>(program.whole[g]);
    lower[column] = upper[column] = static_cast<double>(counts[g]);
  }
  const auto solution = LinearProgram::Solver(program.rows).Minimum(lower, upper);
  return solution.kind == LinearProgram::Solver::Solution::Kind::kFound ? solution.bound * writer.time_unit() : -1;
}

}  // namespace spillway::tvdnn
