// The second half of GapModel: when copies in are issued, and when everything runs, as streams run it.
//
//   prefetch   from which point on each copy in has room, in order of need
//   clock      compute and copies: kernels beside copies and copies in both directions are slower, as the engine has it
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_CLOCK_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/strategies/best/gap_walk.h"

namespace spillway {

// Tables must outlive it.
class GapClock {
 public:
  GapClock(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  // False: it takes longer than `enough`. No allocation but the first time.
  bool Run(const GapWay* gaps, const OpWays& ops, GapWalked& walked, double enough);

  Nanos time() const;  // of the step
  // The op before which the copy out of a gap was waited for; kNoOp: nothing waited.
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
  const GapWay* gaps_ = nullptr;  // what runs
  const OpWays* ops_ = nullptr;
  GapWalked* walked_ = nullptr;

  struct Leaving {
    Nanos end = 0;
    Bytes bytes = 0;
    std::int32_t gap = 0;
  };
  std::vector<std::pair<std::int32_t, Bytes>> caps_;  // points that leave ever more room
  std::vector<Nanos> out_end_;                        // by gap
  std::vector<OpId> left_;                            // by gap: the op before which its copy out was seen to have ended
  std::vector<Leaving> leaving_;
  std::size_t oldest_ = 0, issued_ = 0, arrived_ = 0;
  std::int32_t act_ = 0;
  OpId op_ = 0;  // that is being reached
  Bytes in_flight_ = 0, pending_ = 0;
  Nanos clock_ = 0, in_lane_ = 0, out_lane_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_CLOCK_H_
