// Gaps with an open end: values that stay past their last use because a recomputation reads them later.
//
// Example: f2 reads X and makes Y. X is last read by b1, and Y is dropped before b1 and read by b0. If X stays until Y
// is recomputed from it, X need not be recomputed. Y is recomputed before b0, or right after b1.
//
// Y may be made from X by way of a small value M. Then M may be recomputed when X is read last, and stay in place of X.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "hw/text/lists.h"
#include "sim/plan/carried.h"
#include "sim/plan/check_op.h"
#include "sim/strategies/best/gap_tables.h"

namespace spillway {

namespace {

// A recomputation from more values than this has no early recomputations of those. Chosen, not measured.
constexpr std::size_t kMostSources = 16;
// More rows than these beside the usual ones are left out, since the same search finds less among many more rows. Chosen,
// not measured.
std::size_t MostMore(std::size_t rows) { return std::max<std::size_t>(64, rows / 2); }

// What is read by the ops that make `tensor` up to op `last`, directly or by way of values without a use from `until` on.
class Sources {
 public:
  Sources(const StepTables& tables, OpId until) : tables_(tables), until_(until) {}

  const std::set<TensorId>& Of(TensorId tensor, OpId last) {
    for (const OpId writer : tables_.uses.writers[Index(tensor)]) {
      if (writer > last) break;
      for (const TensorId t : tables_.step->ops[Index(writer)].reads) {
        const TensorTraits& traits = tables_.step->tensors[Index(t)].Traits();
        if (t == tensor || !traits.may_move || traits.on_host || tables_.last_use[Index(t)] >= until_ ||
            !found_.insert(t).second)
          continue;
        Of(t, until_ - 1);
      }
    }
    return found_;
  }

 private:
  const StepTables& tables_;
  const OpId until_;
  std::set<TensorId> found_;
};

}  // namespace

// Where a recomputation finds no room with everything kept, gaps over that moment get rows as well.
void GapTables::AddOpenGaps(const StepFacts& facts, Bytes capacity, Bytes small) {
  const std::size_t closed = gaps.size();
  AddAllOpenGaps(facts);
  if (!FindTightReruns(facts, capacity)) return;
  const std::vector<Gap> first = gaps;
  const std::vector<std::int32_t> first_sources = sources;
  gaps.clear();
  sources.clear();
  AddGaps(facts, capacity, small);
  if (gaps.size() > closed + MostMore(closed)) {
    gaps = first;
    sources = first_sources;
    return;
  }
  AddAllOpenGaps(facts);
}

void GapTables::AddAllOpenGaps(const StepFacts& facts) {
  const std::vector<Served> all = AllServed(facts);
  std::map<std::pair<TensorId, OpId>, Bytes> reads;  // bytes recomputed before the op from the tensor
  for (const Served& served : all) {
    for (const TensorId t : served.sources) reads[{t, served.until}] += gaps[Index(served.gap)].bytes;
  }
  const std::size_t closed = gaps.size();
  for (const Served& served : all) {
    for (const TensorId t : served.sources) AddOpenGapsFor(facts, served, t, reads[{t, served.until}]);
  }
  const std::vector<OpId> changes = all.empty() ? std::vector<OpId>() : FirstChanges(*facts.tables().step);
  const std::size_t kept = gaps.size();
  for (const Served& served : all) {
    if (served.sources.size() > kMostSources) continue;
    for (const TensorId t : served.sources) AddGapsAgain(facts, t, served, changes[Index(t)]);
  }
  if (gaps.size() - kept <= MostMore(closed)) return;
  gaps.resize(kept);
  sources.clear();
}

std::vector<GapTables::Served> GapTables::AllServed(const StepFacts& facts) const {
  std::vector<Served> all;
  for (std::size_t g = 0; g < gaps.size(); ++g) {
    if (!gaps[g].may_recompute) continue;
    Served served{.gap = static_cast<std::int32_t>(g), .until = FirstNeeded(facts, gaps[g])};
    if (served.until <= gaps[g].after) continue;
    served.sources = Sources(facts.tables(), served.until).Of(gaps[g].tensor, gaps[g].after);
    if (!served.sources.empty()) all.push_back(std::move(served));
  }
  return all;
}

// The op before which a recomputed tensor is back: that which ends its gap, or the first of that one's unit in backward.
OpId GapTables::FirstNeeded(const StepFacts& facts, const Gap& gap) const {
  OpId end = gap.before;
  if (facts.tables().step->IsForward(end)) return end;
  while (end > 0 && ops[Index(end) - 1].unit_end == ops[Index(gap.before)].unit_end) --end;
  return end;
}

// Counts the ops before which a recomputation that open gaps serve does not fit with all kept.
bool GapTables::FindTightReruns(const StepFacts& facts, Bytes capacity) {
  std::vector<Bytes> more(ops.size(), 0);  // by op: bytes that it takes beside Op::before
  for (const Gap& gap : gaps) {
    if (gap.serves < 0) continue;
    Bytes dying = 0;
    for (std::int32_t row = gap.dying.begin; row < gap.dying.end; ++row) {
      dying += facts.tables().bytes[Index(TensorOf(sources[Index(row)]))];
    }
    Bytes& most = more[Index(gap.again == kNoOp ? gap.until : gap.again)];
    most = std::max(most, gap.bytes + dying);
  }
  tight_until_.assign(ops.size(), 0);
  std::int32_t tight = 0;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    tight += more[op] > 0 && ops[op].before + more[op] > capacity ? 1 : 0;
    tight_until_[op] = tight;
  }
  return tight > 0;
}

// Whether a recomputation before an op after `after`, up to `before`, finds no room.
bool GapTables::IsOverTightRerun(OpId after, OpId before) const {
  return !tight_until_.empty() && after != kNoOp && tight_until_[Index(after)] < tight_until_[Index(before)];
}

// Until the gap's tensor is recomputed where the gap ends, or right after the last use. A tensor that is as large as all
// that is recomputed from it (`served_bytes`) need not stay from before those leave.
void GapTables::AddOpenGapsFor(const StepFacts& facts, const Served& served, TensorId tensor, Bytes served_bytes) {
  const OpId last = facts.tables().last_use[Index(tensor)];
  const bool within = last > gaps[Index(served.gap)].after;
  const bool smaller = facts.tables().bytes[Index(tensor)] < served_bytes;
  if (within && last + 1 < served.until) AddOpenGap(facts, tensor, served.gap, last + 1);
  if (within || smaller) AddOpenGap(facts, tensor, served.gap, served.until);
}

// Recomputes right after the last use of a larger value that the tensor is made from, which need not stay then. Or just
// before the gap's tensor is recomputed. `changes`: the op that changes what it would be made from.
void GapTables::AddGapsAgain(const StepFacts& facts, TensorId tensor, const Served& served, OpId changes) {
  const StepTables& step = facts.tables();
  if (step.uses.writers[Index(tensor)].empty()) return;
  const std::set<TensorId> from = Sources(step, served.until).Of(tensor, served.until - 1);
  std::set<OpId> moments;
  for (const TensorId t : from) {
    const OpId again = step.last_use[Index(t)] + 1;
    const bool smaller = step.bytes[Index(tensor)] < step.bytes[Index(t)];
    if (again == served.until || (again < served.until && smaller)) moments.insert(again);
  }
  for (const OpId again : moments) {
    const bool late = again > step.last_use[Index(tensor)] + 1 && again > gaps[Index(served.gap)].after;
    const bool same = changes == kNoOp || changes >= again;
    if (late && same && step.step->MayRecompute(tensor, again)) AddGapAgain(facts, tensor, served, again);
  }
}

void GapTables::AddGapAgain(const StepFacts& facts, TensorId tensor, const Served& served, OpId again) {
  const StepTables& step = facts.tables();
  const std::set<TensorId> from = Sources(step, again).Of(tensor, again - 1);
  const auto may_stay = [&](TensorId t) { return MayStayOpen(facts, t); };
  if (!may_stay(tensor) || !std::all_of(from.begin(), from.end(), may_stay)) return;
  AddOpenGap(facts, tensor, served.gap, served.until);
  gaps.back().again = again;
  const auto begin = static_cast<std::int32_t>(sources.size());
  for (const TensorId t : from) {
    if (step.last_use[Index(t)] + 1 == again) sources.push_back(ValueOf(facts, t));
  }
  gaps.back().dying = {begin, static_cast<std::int32_t>(sources.size())};
}

bool GapTables::MayStayOpen(const StepFacts& facts, TensorId tensor) const {
  return MayCarryGap(carried_, *facts.tables().step, facts.tables().last_use[Index(tensor)], kNoOp);
}

void GapTables::AddOpenGap(const StepFacts& facts, TensorId tensor, std::int32_t served, OpId until) {
  if (!MayStayOpen(facts, tensor)) return;
  Gap gap{.tensor = tensor, .after = facts.tables().last_use[Index(tensor)]};
  gap.value = ValueOf(facts, tensor);
  gap.bytes = facts.tables().bytes[Index(tensor)];
  gap.may_recompute = true;
  gap.serves = served;
  gap.until = until;
  gaps.push_back(gap);
}

}  // namespace spillway
