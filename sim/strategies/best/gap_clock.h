// The second half of GapModel: gives times to the points and copies that GapWalk found.
//
//   prefetch   the first point from which each swap-in has room, in the order in which swap-ins are needed
//   clock      the times of compute and of both copy streams. Kernels slow down while copies run, and copies while the
//              other direction runs, by the engine's factors.
//
// Prefetch by example: the capacity is 10 GiB, points 0 to 3 load 6, 9, 7 and 8 GiB, and a swap-in of 2 GiB is needed
// at point 3. The load of point 3 counts the tensor already. Point 1 has no room for 2 GiB more, so the copy is issued
// at point 2.
//
// Times are nanoseconds from the begin of the step, sizes bytes.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_CLOCK_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/strategies/best/gap_walk.h"

namespace spillway {

// Refers to `tables`, which must outlive it. One per thread.
class GapClock {
 public:
  GapClock(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  // Writes CopyIn::issue, start, end and Point::start of `walked`. Returns false, and stops, as soon as the step is
  // sure to take longer than `enough` nanoseconds. Allocates memory in the first call only. `gaps` (by row of
  // GapTables::gaps), `ops` and `walked` must stay as they are until the next Run.
  bool Run(const GapWay* gaps, const OpWays& ops, GapWalked& walked, double enough);

  Nanos time() const;  // when the last kernel or copy of the step ends
  // The op that waited for the swap-out of `gap` to free its memory; kNoOp: no op waited.
  OpId left(std::int32_t gap) const { return left_[Index(gap)]; }

 private:
  using Point = GapWalked::Point;
  using CopyIn = GapWalked::CopyIn;
  void Prefetch();
  void Begin();
  void RunPoint(std::int32_t number);
  Nanos Beside(Nanos time, double slowdown) const;
  Nanos InBoth(Direction direction, Nanos time, Nanos start) const;
  void RunOps(const Point& point);
  void IssueAt(std::int32_t point);
  Nanos WhenThereIsRoom(Bytes load) const;
  void AwaitMemory(Bytes load);
  void AwaitCopies(std::int32_t point);
  void Act(const GapTables::Event& event);
  Nanos& OutLane() { return runtime_.copy_streams == 1 ? in_lane_ : out_lane_; }

  const GapTables& tables_;
  const Runtime runtime_;
  const Bytes capacity_;
  const GapWay* gaps_ = nullptr;  // these three: the arguments of the present Run
  const OpWays* ops_ = nullptr;
  GapWalked* walked_ = nullptr;

  struct Leaving {  // a swap-out that still runs when its gap begins
    Nanos end = 0;
    Bytes bytes = 0;
    std::int32_t gap = 0;
  };
  // Points with the bytes that may be copied in by then; only points that no later point undercuts, so caps rise.
  std::vector<std::pair<std::int32_t, Bytes>> caps_;
  std::vector<Nanos> out_end_;  // by gap: when its swap-out ends
  std::vector<OpId> left_;      // by gap: see left()
  std::vector<Leaving> leaving_;
  // Indices: the first of leaving_ that still holds its memory; the next of GapWalked::copies_in to issue, and to
  // await.
  std::size_t oldest_ = 0, issued_ = 0, arrived_ = 0;
  std::int32_t act_ = 0;               // index into GapWalked::acts
  OpId op_ = 0;                        // the op that is being reached
  Bytes in_flight_ = 0, pending_ = 0;  // bytes of swap-ins issued before their need, and of swap-outs in leaving_
  Nanos clock_ = 0, in_lane_ = 0, out_lane_ = 0;  // when compute, the last swap-in and the last swap-out end
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_CLOCK_H_
