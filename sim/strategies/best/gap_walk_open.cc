// GapWalk at gaps with an open end: values that stay or come back for the sake of recomputations.
#include "sim/strategies/best/gap_walk.h"

namespace spillway {

using Kind = GapTables::Event::Kind;

// It stays beyond its last use, or comes back, up to where what it serves is recomputed.
void GapWalk::MeetOpen(const GapTables::Event& event) {
  const GapTables::Gap& gap = tables_.gaps[Index(event.gap)];
  const GapTables::Gap& served = tables_.gaps[Index(gap.serves)];
  if (gaps_[gap.serves] != GapWay::kRecompute) return;
  std::int32_t& stays = stays_[Index(gap.value)];
  EndPoint(event.kind == Kind::kOpen ? event.op + 1 : event.op);
  if (event.kind == Kind::kAgain) {
    if (stays++ == 0) RunAgainEarly(gap);
    return;
  }
  const bool opens = event.kind == Kind::kOpen;
  if (!opens && open_[Index(served.value)] == gap.serves) Fetch(served.value);
  if (opens ? stays++ > 0 : --stays > 0) return;
  passing_there_[Index(gap.value)] = opens ? 1 : 0;
  away_ += opens ? -gap.bytes : gap.bytes;
}

// What it is made from is held for that, though the op before was the last one to use it.
void GapWalk::RunAgainEarly(const GapTables::Gap& gap) {
  const auto hold = [&](std::int32_t row, std::uint8_t there) {
    const std::size_t value = Index(tables_.sources[Index(row)]);
    if (open_[value] >= 0 || stays_[value] > 0) return;
    passing_there_[value] = there;
    away_ += there != 0 ? -tables_.values[value].bytes : tables_.values[value].bytes;
  };
  for (std::int32_t row = gap.dying.begin; row < gap.dying.end; ++row) hold(row, 1);
  Fetch(gap.value);
  // It stays: it is not dropped behind another recomputation.
  if (!passing_.empty() && passing_.back() == gap.value) passing_.pop_back();
  for (std::int32_t row = gap.dying.begin; row < gap.dying.end; ++row) hold(row, 0);
}

}  // namespace spillway
