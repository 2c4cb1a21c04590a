#include "sim/bounds/cut_graph.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hw/text/lists.h"

namespace spillway {

namespace {

// What all capacities that may be cut come to at most, as whole numbers: far below MinCut::kNeverCut, far above 1.
constexpr double kMostUnits = 1e15;
// Where nothing is copied, keeping all that is needed costs at most so often what computing all of it again takes.
constexpr double kDearest = 64;

}  // namespace

CutGraph::CutGraph(const BoundProblem& problem, const MemoryNeed& need, const Uses& uses, OpId op)
    : problem_(problem),
      need_(need),
      uses_(uses),
      op_(op),
      value_of_(problem.step->tensors.size(), -1),
      rerun_of_(problem.step->ops.size(), -1) {
  AddNeeded();
  AddSources();
  double most = 1;
  for (const Value& value : values_) most += value.out + value.in;
  for (const Rerun& rerun : reruns_) most += rerun.time;
  if (problem.copy_streams == 0) most *= kDearest + 1;
  scale_ = kMostUnits / most;
}

// Whether a value that is read by what runs again costs nothing at the instant: it never moves, is small, an operand, still
// being made, or comes back by an op behind the instant that writes it anew. (What is computed from the latter is wrong; no
// rule of plans forbids it.)
bool CutGraph::IsThere(TensorId tensor) const {
  const Tensor& t = problem_.step->tensors[Index(tensor)];
  if (!t.Traits().may_move || IsSmall(problem_, t)) return true;
  for (const OpId use : uses_.of[Index(tensor)]) {
    if (use == op_ && !MayStreamAt(problem_, op_, tensor)) return true;
    if (use >= op_ && !Contains(problem_.step->ops[Index(use)].reads, tensor)) return true;
  }
  const std::vector<OpId>& writers = uses_.writers[Index(tensor)];
  return !writers.empty() && writers.back() >= op_;  // inputs and gradients have none: nothing in forward writes them
}

int CutGraph::ValueOf(TensorId tensor, Bytes bytes) {
  int& known = value_of_[Index(tensor)];
  if (known >= 0) return known;
  known = static_cast<int>(values_.size());
  const Tensor& t = problem_.step->tensors[Index(tensor)];
  Value value{.tensor = tensor, .bytes = bytes};
  value.in = problem_.in.Least(bytes);
  value.out = t.Traits().on_host ? 0 : problem_.out.Least(bytes);
  const std::vector<OpId>& writers = uses_.writers[Index(tensor)];
  const auto once = [this](OpId writer) { return problem_.step->ops[Index(writer)].once; };
  value.may_be_copied = problem_.copy_streams > 0 || t.Traits().on_host;
  value.recomputable = !writers.empty() && std::none_of(writers.begin(), writers.end(), once);
  value.needed = cut_.AddNode();
  value.again = cut_.AddNode();
  value.edge = cut_.AddEdge(value.needed, value.again, 0);
  if (!t.Traits().on_host) {
    const OpId made = writers.empty() ? uses_.of[Index(tensor)].front() : writers.front();
    if (first_made_ == kNoOp || made < first_made_) first_made_ = made;
  }
  values_.push_back(value);
  return known;
}

int CutGraph::RerunOf(OpId op) {
  int& known = rerun_of_[Index(op)];
  if (known >= 0) return known;
  known = static_cast<int>(reruns_.size());
  const std::vector<OpWay>& ways = problem_.WaysAgain(op);
  Rerun rerun{.op = op,
              .time = static_cast<double>(ways.front().time),
              .beside_copies = LeastBesideCopies(ways),
              .node = cut_.AddNode()};
  rerun.edge = cut_.AddEdge(rerun.node, MinCut::kSink, 0);
  reruns_.push_back(rerun);
  return known;
}

// What ops behind the instant need of what was there before it.
void CutGraph::AddNeeded() {
  for (const MemoryGap& gap : need_.gaps) {
    if (!gap.Over(op_)) continue;
    // Still being made it stays, as one of those that never move. What is written anew later on may have left before, and
    // counts in what is too much; not so where operands are streamed (AddStreamedChanges).
    const std::vector<OpId>& made_by = uses_.writers[Index(gap.tensor)];
    const bool making = !made_by.empty() && made_by.back() >= op_;
    if (problem_.streamed ? IsThere(gap.tensor) : making) continue;
    const int index = ValueOf(gap.tensor, gap.bytes);
    Value& value = values_[Index(index)];
    value.always = true;
    value.recomputable = gap.recompute >= 0;
    needed_bytes_ += gap.bytes;
    last_awaited_ = std::max(last_awaited_, gap.before);
    cut_.AddEdge(MinCut::kSource, value.needed, MinCut::kNeverCut);
  }
}

// The ops that cannot be spared when a value is computed again: all its writers. Where one of several of them has other
// results too, the value comes back, unfinished, whenever that one runs for their sake; again no rule forbids its use.
std::vector<OpId> CutGraph::WritersOf(TensorId tensor) const {
  const std::vector<OpId>& writers = uses_.writers[Index(tensor)];
  std::vector<OpId> with_others;
  for (const OpId writer : writers) {
    const std::vector<TensorId>& writes = problem_.step->ops[Index(writer)].writes;
    const auto moves = [this](TensorId t) { return problem_.step->tensors[Index(t)].Traits().may_move; };
    if (std::count_if(writes.begin(), writes.end(), moves) > 1) with_others.push_back(writer);
  }
  if (writers.size() == 1 || with_others.empty()) return writers;
  return with_others.size() == 1 ? with_others : std::vector<OpId>{};
}

// Writers of what may be recomputed, what they read, and so on. A value that cannot be has no way to its node.
void CutGraph::AddSources() {
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const Value value = values_[v];
    if (!value.recomputable) cut_.AddEdge(value.again, MinCut::kSink, MinCut::kNeverCut);
    if (!value.recomputable) continue;
    for (const OpId writer : WritersOf(value.tensor)) {
      const bool known = rerun_of_[Index(writer)] >= 0;
      const int node = reruns_[Index(RerunOf(writer))].node;
      cut_.AddEdge(value.again, node, MinCut::kNeverCut);
      if (known) continue;
      const Op& op = problem_.step->ops[Index(writer)];
      for (const TensorId t : op.reads) {
        const int source =
            Contains(op.writes, t) || IsThere(t) ? -1 : ValueOf(t, problem_.step->tensors[Index(t)].bytes);
        if (source >= 0) cut_.AddEdge(node, values_[Index(source)].needed, MinCut::kNeverCut);
      }
    }
  }
}

double CutGraph::rerun_time() const {
  double sum = 0;
  for (const Rerun& rerun : reruns_) sum += rerun.time;
  return sum;
}

// No multiplier above it is the best one: the bound would fall below the time of all ops.
double CutGraph::HighestPrice(Bytes excess) const {
  if (problem_.copy_streams > 0) return problem_.out.nanos_per_byte + problem_.in.nanos_per_byte;
  const double needed = static_cast<double>(needed_bytes_);
  return rerun_time() / std::max({needed - static_cast<double>(excess), needed / kDearest, 1.0});
}

CutChoice CutGraph::Cheapest(const CutPrices& prices, bool sets) {
  const auto whole = [this](double price) { return static_cast<std::int64_t>(std::floor(price * scale_)); };
  const auto copying = [&prices](const Value& v) {
    return v.may_be_copied ? prices.out * v.out + prices.in * v.in : std::numeric_limits<double>::infinity();
  };
  const auto keeping = [&prices](const Value& v) { return prices.kept * static_cast<double>(v.bytes); };
  for (const Value& v : values_) cut_.SetCapacity(v.edge, whole(std::min(copying(v), keeping(v))));
  for (const Rerun& rerun : reruns_) cut_.SetCapacity(rerun.edge, whole(rerun.CostAt(prices.rerun)));
  CutChoice choice{.least = static_cast<double>(cut_.Solve()) / scale_};
  for (const Value& v : values_) {
    if (!cut_.OnSourceSide(v.needed)) continue;
    if (cut_.OnSourceSide(v.again)) {
      if (sets) choice.recomputed.push_back(v.tensor);
    } else if (keeping(v) <= copying(v)) {
      choice.kept += static_cast<double>(v.bytes);
    } else {
      choice.out += v.out;
      choice.in += v.in;
      if (sets) choice.copied.push_back(v.tensor);
    }
  }
  for (const Rerun& rerun : reruns_) {
    const bool more = prices.rerun * rerun.beside_copies <= rerun.time;
    choice.rerun += more && cut_.OnSourceSide(rerun.node) ? rerun.beside_copies : 0;
  }
  return choice;
}

}  // namespace spillway
