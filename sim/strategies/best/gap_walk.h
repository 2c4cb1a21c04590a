// The first half of GapModel: walks the step in order and finds which gaps open and close, which ops are recomputed,
// and how many bytes are live.
//
// The walk cuts the step into points. A point is a stretch of ops; tensors come and go only between points. The bytes
// live in a point count every swap-in as arriving at the point that needs it. GapClock moves swap-ins earlier
// afterwards.
//
// Example: feature map X (1 GiB) is swapped between ops 4 and 40. A point ends after op 4. `away` of the next point is
// 1 GiB higher. `away` of the point that begins at op 40 is 1 GiB lower, because X comes in for that point (CopyIn).
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_WALK_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_WALK_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/program/lower/lower.h"
#include "sim/strategies/best/gap_tables.h"
#include "sim/strategies/best/op_ways.h"

namespace spillway {

// The result of a walk, with the times that GapClock adds. Sizes are bytes, times nanoseconds.
struct GapWalked {
  struct Point {
    OpId begin = 0, end = 0;  // the ops [begin, end)
    Bytes load = 0;           // most bytes live in the point, in its ops or in the recomputation before them
    // `away`: bytes off the device while the ops run that would be live with all kept. `peak`: most bytes live in the
    // recomputation before the ops; 0: nothing is recomputed.
    Bytes away = 0, peak = 0;
    Nanos again = 0;            // time of that recomputation, and of copies in passing
    double again_slowdown = 1;  // factor on `again` while copies run
    Nanos brought = 0;          // time of the copies that bring streamed operands part by part while its ops run
    std::int32_t acts_end = 0;  // end of its rows of `acts`
    Nanos start = 0;            // set by GapClock
  };
  struct CopyIn {  // a swap-in
    std::int32_t gap = 0;
    // Points: the one that needs the tensor, and the first from which there is room. GapClock sets `issue` and the
    // times.
    std::int32_t need = 0, issue = 0;
    Nanos start = 0, end = 0;
  };
  std::vector<Point> points;
  std::vector<std::int32_t> acts;    // rows of GapTables::events that happen, each at the end of its point
  std::vector<CopyIn> copies_in;     // in order of need
  std::vector<std::uint8_t> copied;  // by gap: 1 if its tensor is copied out; 0: the host has it already
  std::vector<std::int32_t> opened;  // by gap that is swapped: the first point in it
  std::int64_t runs = 0;             // number of recomputed ops, each run counted
  // Ops whose chosen way finds no room, with the fastest way that fits (index among the op's ways), in op order.
  std::vector<std::pair<OpId, std::uint8_t>> leaner;
  // Each recomputation, in the order in which they run, with its way (index among GapTables::Op::again). An op that runs
  // in parts has one way for all its recomputations, which is the last one here. So earlier ones are counted too fast.
  std::vector<std::pair<OpId, std::uint8_t>> again;
};

// Refers to `tables`, which must outlive it.
class GapWalk {
 public:
  GapWalk(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  // Walks the step with one GapWay for each row of GapTables::gaps. Sets leaner ways in `ops` where the chosen ones
  // find no room. Returns false if recomputation runs more ops than kRecomputeLimit times all forward ops. Allocates
  // memory in the first call only.
  bool Run(const GapWay* gaps, OpWays& ops);

  GapWalked& walked() { return walked_; }
  const GapWalked& walked() const { return walked_; }

 private:
  void Begin();
  void BeginPoint(OpId op);
  void EndPoint(OpId end);
  Bytes NeedOf(OpId op);
  void Meet(const GapTables::Event& event);
  void MeetStreamed(const GapTables::Event& event);
  // Of gaps with an open end: gap_walk_open.cc.
  void MeetOpen(const GapTables::Event& event);
  void RunAgainEarly(const GapTables::Gap& gap);
  void AddAct(const GapTables::Event& event);
  void Open(std::int32_t gap);
  bool IsThere(std::int32_t value) const;
  bool StaysFor(std::int32_t value) const;
  bool IsCopied(std::int32_t value) const;
  OpId LastWriter(std::int32_t value) const;
  void Fetch(std::int32_t value);
  void BringSources(std::int32_t value);
  void WalkSources(std::int32_t value);
  void BringBack(std::int32_t value);
  void Place(std::int32_t value);
  void CopyBack(std::int32_t value);
  void RunAgain(const GapTables::Writer& writer, std::int32_t value, bool first);
  OpWays::Way WayAgain(OpId op);
  const OpWays::Way* LeanerAgain(OpId op, const OpWays::Way& first, Bytes room);
  void DropPassing(std::size_t kept);
  bool TooMany() const { return walked_.runs > kRecomputeLimit * tables_.first_backward; }

  const GapTables& tables_;
  const Bytes capacity_;
  const bool layers_wait_;        // a backward unit waits for all its swap-ins at its begin
  const GapWay* gaps_ = nullptr;  // the argument of the present Run
  OpWays* ops_ = nullptr;
  GapWalked walked_;

  std::vector<const OpWays::Way*> leaner_;  // by op in parts: the way of its recomputations, if it is another
  std::vector<std::int32_t> open_;          // by value: its open gap; -1: none
  // By value: it is on the device for the present recomputation only; a copy of it lies on the host.
  std::vector<std::uint8_t> passing_there_, on_host_;
  std::vector<std::int32_t> stays_;    // by value: gaps with an open end for which it stays past its last use
  std::vector<std::uint32_t> seen_;    // by value: the round of BringSources that visited it last
  std::vector<std::int32_t> passing_;  // the values of passing_there_, in the order in which they came
  OpId op_ = 0;                        // the op that is being reached
  Bytes away_ = 0, peak_ = 0;          // Point::away and Point::peak of the point being walked
  Nanos again_ = 0, brought_ = 0;
  double again_slowdown_ = 1;
  std::uint32_t round_ = 0;
  int walking_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_WALK_H_
