// The first half of GapModel: which gaps open and close, what runs again, and what is live, in the order of the step.
//
// The step falls into points, stretches of ops at whose ends alone anything comes or goes, with the bytes live in each when
// every copy in comes as it is needed.
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

// What the walk found, and the times that GapClock adds.
struct GapWalked {
  struct Point {
    OpId begin = 0, end = 0;    // ops
    Bytes load = 0;             // most bytes live while they run, or while what they need is made
    Bytes away = 0, peak = 0;   // bytes less than with all kept while they run; most while what they need is made
    Nanos again = 0;            // of what runs again before them
    double again_slowdown = 1;  // beside copies
    Nanos brought = 0;          // of copies in, part by part, beside its ops
    std::int32_t acts_end = 0;  // behind its last row of `acts`
    Nanos start = 0;            // GapClock's
  };
  struct CopyIn {
    std::int32_t gap = 0;
    std::int32_t need = 0, issue = 0;  // points; from which one on it has room is GapClock's, as are the times
    Nanos start = 0, end = 0;
  };
  std::vector<Point> points;
  std::vector<std::int32_t> acts;    // events that come to pass, those of a point at its end
  std::vector<CopyIn> copies_in;     // in order of need
  std::vector<std::uint8_t> copied;  // by gap: it copies its tensor out
  std::vector<std::int32_t> opened;  // by gap: the first point in it
  std::int64_t runs = 0;             // of ops once more
  // Ops that find no room for their workspace and run in the fastest way that does, in order.
  std::vector<std::pair<OpId, std::uint8_t>> leaner;
  // The same of ops that run again, in the order in which they do. A plan has one way for all runs of an op, the last one
  // here: those before it are counted faster than they are.
  std::vector<std::pair<OpId, std::uint8_t>> leaner_again;
};

// Tables must outlive it.
class GapWalk {
 public:
  GapWalk(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  // By gap and by op; `ops` get the ways of those that run in leaner ones. False: more runs again than kRecomputeLimit times
  // all forward ops. No allocation but the first time.
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
  void DropPassing(std::size_t kept);
  bool TooMany() const { return walked_.runs > kRecomputeLimit * tables_.first_backward; }

  const GapTables& tables_;
  const Bytes capacity_;
  const bool layers_wait_;        // a layer of backward waits for all copies in at its begin
  const GapWay* gaps_ = nullptr;  // in the ways that are walked
  OpWays* ops_ = nullptr;
  GapWalked walked_;

  std::vector<const OpWays::Way*> again_way_;          // by op: that of `leaner_again`
  std::vector<std::int32_t> open_;                     // by value: its gap that is open, -1: none
  std::vector<std::uint8_t> passing_there_, on_host_;  // by value
  std::vector<std::uint32_t> seen_;                    // by value: the round of BringSources that looked at it last
  std::vector<std::int32_t> passing_;
  OpId op_ = 0;                // that is being reached
  Bytes away_ = 0, peak_ = 0;  // bytes less than with all kept; most in the recomputation of the point
  Nanos again_ = 0, brought_ = 0;
  double again_slowdown_ = 1;
  std::uint32_t round_ = 0;
  int walking_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_WALK_H_
