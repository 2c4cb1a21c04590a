#include "sim/strategies/shared/paging.h"

#include <algorithm>
#include <cassert>

namespace spillway {

LeastRecent::LeastRecent(std::size_t things)
    : end_(static_cast<std::int32_t>(things)), newer_(things + 1, kNone), older_(things + 1, kNone) {
  newer_.back() = older_.back() = end_;
}

std::int32_t LeastRecent::Newer(std::int32_t thing) const {
  const std::int32_t next = newer_[Index(thing)];
  return next == end_ ? kNone : next;
}

void LeastRecent::Remove(std::int32_t thing) {
  const std::int32_t newer = newer_[Index(thing)], older = older_[Index(thing)];
  if (newer == kNone) return;
  newer_[Index(older)] = newer;
  older_[Index(newer)] = older;
  newer_[Index(thing)] = older_[Index(thing)] = kNone;
}

void LeastRecent::Use(std::int32_t thing) {
  Remove(thing);
  const std::int32_t newest = older_[Index(end_)];
  newer_[Index(newest)] = older_[Index(end_)] = thing;
  older_[Index(thing)] = newest;
  newer_[Index(thing)] = end_;
}

namespace {

class PagingPlay {
 public:
  explicit PagingPlay(const Paging& paging) : p_(paging), tables_(*paging.tables), recent_(paging.may_leave.size()) {}

  std::vector<PagedOut> Run() {
    const auto ops = static_cast<OpId>(p_.live.size());
    returning_.resize(Index(ops) + 1);
    for (OpId op = 0; op < ops; ++op) {
      for (const TensorId t : returning_[Index(op)]) {
        away_ -= tables_.bytes[Index(t)];
        recent_.Use(t);
      }
      for (const StepTables::Touch& touch : tables_.Touches(op)) {
        if (p_.may_leave[Index(touch.tensor)]) recent_.Use(touch.tensor);
      }
      while (p_.live[Index(op)] - away_ > p_.capacity) {
        const TensorId t = Choose(op, p_.live[Index(op)] - away_ - p_.capacity);
        if (t == kNoTensor) break;
        PageOut(t, op);
      }
      for (const StepTables::Touch& touch : tables_.Touches(op)) {
        if (touch.last) recent_.Remove(touch.tensor);
      }
    }
    return std::move(out_);
  }

 private:
  MapGap GapAt(TensorId t, OpId op) const { return {tables_.uses.Previous(t, op), tables_.uses.Next(t, op - 1)}; }

  // Not used by the op, complete, and still away when the op runs.
  bool MayLeave(TensorId t, OpId op) const {
    const MapGap gap = GapAt(t, op);
    if (gap.before == op || gap.before == kNoOp || gap.after == kNoOp) return false;
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    return (writers.empty() || gap.after >= writers.back()) && p_.back_at(t, gap) > op;
  }

  TensorId Choose(OpId op, Bytes wanted) const {
    TensorId best = kNoTensor;
    for (TensorId t = recent_.Oldest(); t != kNoTensor; t = recent_.Newer(t)) {
      if (!MayLeave(t, op)) continue;
      if (p_.victim == Victim::kLeastRecent) return t;
      if (best == kNoTensor || IsBetter(tables_.bytes[Index(t)], tables_.bytes[Index(best)], wanted)) best = t;
    }
    return best;
  }

  static bool IsBetter(Bytes a, Bytes b, Bytes wanted) {
    if ((a >= wanted) != (b >= wanted)) return a >= wanted;
    return a >= wanted ? a < b : a > b;
  }

  void PageOut(TensorId t, OpId op) {
    const MapGap gap = GapAt(t, op);
    out_.push_back({t, gap, op});
    away_ += tables_.bytes[Index(t)];
    returning_[Index(p_.back_at(t, gap))].push_back(t);
    recent_.Remove(t);
  }

  const Paging& p_;
  const StepTables& tables_;
  LeastRecent recent_;
  std::vector<std::vector<TensorId>> returning_;  // by op
  std::vector<PagedOut> out_;
  Bytes away_ = 0;
};

}  // namespace

std::vector<PagedOut> PlayPaging(const Paging& paging) {
  assert(paging.back_at);
  static_assert(LeastRecent::kNone == kNoTensor);
  return PagingPlay(paging).Run();
}

}  // namespace spillway
