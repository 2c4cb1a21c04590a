// A step as decisions on its gaps and ops see it: how long it takes and how far beyond the memory it is, some 200,000 times
// a second. What a search asks before it asks the full path.
//
// It carries out what `lower` would: what an op finds away is copied in or computed again with all that this takes; copies
// in are issued as early as there is room, and not before the way out has ended; a copy out holds its memory until it ends.
// Kernels beside copies and copies in both directions are slower, as the engine has it. Left out are addresses, what the
// host takes, and which of two copies under way ends first.
//
//   walk       which gaps open and close, what runs again; the step falls into points, stretches of ops at whose ends alone
//              anything comes or goes, with the bytes live in each when every copy in comes as it is needed
//   prefetch   from which point on each copy in has room, in order of need
//   clock      compute and copies, as streams run them
//
// Memory that does not suffice is no end: the excess is told, so that a search may pass through what does not fit.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_MODEL_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/strategies/best/gap_tables.h"

namespace spillway {

// By row of GapTables::gaps, and by op: a row of its ways, counted from its first.
struct GapChoices {
  std::vector<GapWay> gaps;
  std::vector<std::uint8_t> ops;
  bool operator==(const GapChoices&) const = default;
};

constexpr Nanos kEndless = std::numeric_limits<Nanos>::max() / 4;

struct GapJudgement {
  Nanos time = 0;    // of the step; kEndless: more runs again than kRecomputeLimit times all forward ops
  Bytes excess = 0;  // most bytes beyond the capacity; 0: it fits
  bool Fits() const { return excess == 0 && time < kEndless; }
};

// What a judgement is asked for: where more than `cost` is sure, a byte beyond the capacity counted at `price`, and either it
// does not fit or at least `time` is sure as well, the clock stops, and the time that is told is what was sure then.
struct WorthTiming {
  double cost = std::numeric_limits<double>::infinity();
  double price = 0;
  Nanos time = 0;
};

// One for each thread. Tables must outlive it.
class GapModel {
 public:
  GapModel(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  const GapTables& tables() const { return tables_; }
  Bytes capacity() const { return capacity_; }
  std::int64_t judgements() const { return judgements_; }

  // REQUIRES: choices of the tables, no way that a gap does not have. No allocation but the first time.
  GapJudgement Judge(const GapChoices& choices, const WorthTiming& worth = {});

  // Of what was judged last.
  struct CopyIn {
    std::int32_t gap = 0;
    std::int32_t need = 0, issue = 0;  // points
    Nanos start = 0, end = 0;
  };
  const std::vector<CopyIn>& copies_in() const { return copies_in_; }
  // The last op before which the copy could be issued without starting later.
  OpId LatestIssue(const CopyIn& copy) const;
  // Of a gap that is swapped: the op before which the copy out has ended, or is waited for.
  OpId LeavesBefore(std::int32_t gap) const;

 private:
  struct Point {
    OpId begin = 0, end = 0;    // ops
    Bytes load = 0;             // most bytes live while they run, or while what they need is made
    Bytes away = 0, peak = 0;   // bytes less than with all kept while they run; most while what they need is made
    Nanos again = 0;            // of what runs again before them
    double again_slowdown = 1;  // beside copies
    std::int32_t acts_end = 0;  // behind its last row of acts_
    Nanos start = 0;            // by the clock
  };
  void SetWays(const GapChoices& choices);
  void SetWay(std::size_t op, std::uint8_t way);
  void SumFrom(std::size_t op);
  void Walk();
  void BeginPoint(OpId op);
  void EndPoint(OpId end);
  void Meet(const GapTables::Event& event);
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
  void DropPassing(std::size_t kept);
  void Prefetch();
  bool Clock(double enough);
  Nanos Beside(Nanos time, double slowdown) const;
  Nanos InBoth(Nanos time, Nanos start, Nanos other) const;
  void RunOps(const Point& point);
  static Nanos Sum(const std::vector<Nanos>& before, const Point& point);
  void IssueAt(std::int32_t point);
  Nanos WhenThereIsRoom(Bytes load) const;
  void AwaitMemory(Bytes load);
  void AwaitCopies(std::int32_t point);
  void Act(const GapTables::Event& event);
  Nanos& OutLane() { return runtime_.copy_streams == 1 ? in_lane_ : out_lane_; }

  const GapTables& tables_;
  const Runtime runtime_;
  const Bytes capacity_;
  const GapWay* ways_ = nullptr;  // of the gaps that are judged
  std::int64_t judgements_ = 0;

  // By op, in the ways that are judged.
  std::vector<std::uint8_t> way_of_;
  std::vector<Bytes> need_, workspace_;
  std::vector<Nanos> time_;  // alone
  std::vector<double> slowdown_;
  std::vector<Nanos> time_before_, slowed_before_;  // of all ops before it: alone; beside copies throughout

  // The walk's.
  std::vector<std::int32_t> open_;                     // by value: its gap that is open, -1: none
  std::vector<std::uint8_t> passing_there_, on_host_;  // by value
  std::vector<std::uint32_t> seen_;                    // by value: the round of BringSources that looked at it last
  std::vector<std::int32_t> passing_;
  std::vector<Point> points_;
  std::vector<std::int32_t> acts_;    // events that come to pass, those of a point at its end
  std::vector<CopyIn> copies_in_;     // in order of need
  std::vector<std::uint8_t> copied_;  // by gap: it copies its tensor out
  std::vector<std::int32_t> opened_;  // by gap: the first point in it
  OpId op_ = 0;                       // that is being reached
  Bytes away_ = 0, peak_ = 0;         // bytes less than with all kept; most in the recomputation of the point
  Nanos again_ = 0;
  double again_slowdown_ = 1;
  std::uint32_t round_ = 0;
  int walking_ = 0;
  std::int64_t runs_ = 0;

  // The clock's.
  struct Leaving {
    Nanos end = 0;
    Bytes bytes = 0;
    std::int32_t gap = 0;
  };
  std::vector<std::pair<std::int32_t, Bytes>> caps_;  // Prefetch: points that leave ever more room
  std::vector<Nanos> out_end_;                        // by gap
  std::vector<OpId> left_;                            // by gap: the op before which its copy out was seen to have ended
  std::vector<Leaving> leaving_;
  std::size_t oldest_ = 0, issued_ = 0, arrived_ = 0;
  Bytes in_flight_ = 0, pending_ = 0;
  Nanos clock_ = 0, in_lane_ = 0, out_lane_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_MODEL_H_
