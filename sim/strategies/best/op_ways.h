// The chosen way of each op of a step, with prefix sums of times, so that the time of any stretch of ops is one
// subtraction.
//
// A way is one row of GapTables::ways: an algorithm with its time and workspace, whole or in parts. Example: an op has
// the ways {10 us, 64 MiB}, {14 us, 8 MiB}, {20 us, 0}. Within(op, 16 MiB) is the second way.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_OP_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_OP_WAYS_H_

#include <cstdint>
#include <vector>

#include "sim/strategies/best/gap_tables.h"

namespace spillway {

// Sizes are bytes, times nanoseconds. Refers to `tables`, which must outlive it.
class OpWays {
 public:
  // Every op begins in its usual way, the first of its ways.
  explicit OpWays(const GapTables& tables);

  struct Way {
    std::uint8_t row = 0;  // index among the op's own ways
    Nanos time = 0;        // alone
    Bytes workspace = 0;
    double slowdown = 1;   // factor on `time` while a copy runs
    bool divided = false;  // in parts along the batch
  };

  // Sets the way of each op, as an index among its own ways. Takes time for the ops that change, and for all ops after
  // the first of them.
  void Set(const std::vector<std::uint8_t>& ways);

  Bytes need(OpId op) const { return need_[Index(op)]; }  // bytes live while the op runs, with all kept
  Way Chosen(OpId op) const;
  Bytes workspace(OpId op) const { return workspace_[Index(op)]; }
  Nanos time(OpId op) const { return time_[Index(op)]; }                 // alone
  double slowdown(OpId op) const { return slowdown_[Index(op)]; }        // factor on `time` while a copy runs
  Nanos all() const { return time_before_.back(); }                      // time of all ops, alone
  Nanos from(OpId op) const { return all() - time_before_[Index(op)]; }  // time of `op` and all ops after it, alone
  // Lean changes the way of one op until the next Set. The sums (all, from, Between) follow only after Sum(first),
  // where `first` is the first op that was changed.
  void Lean(OpId op, std::uint8_t row) { SetOne(Index(op), row); }
  void Sum(OpId first) { SumFrom(Index(first)); }

  // The fastest way within `workspace` bytes; nullptr: no way fits.
  const Way* Within(OpId op, Bytes workspace) const;
  // The same of its recomputations, whole, by rows of GapTables::Op::again.
  const Way* WithinAgain(OpId op, Bytes workspace) const;
  // Of those that with the least workspace. REQUIRES: its recomputations differ.
  const Way& LeanestAgain(OpId op) const { return by_time_[first_by_time_[differ_[Index(op)] + 1] - 1]; }
  // The time of the ops [begin, end): alone, and with copies running throughout.
  Nanos Between(OpId begin, OpId end) const { return time_before_[Index(end)] - time_before_[Index(begin)]; }
  Nanos SlowedBetween(OpId begin, OpId end) const { return slowed_before_[Index(end)] - slowed_before_[Index(begin)]; }

 private:
  const Way* FastestOf(std::size_t row, Bytes workspace, bool whole) const;
  void SetOne(std::size_t op, std::uint8_t way);
  void SumFrom(std::size_t op);
  void AddByTime(const GapTables::Rows& rows);

  const GapTables& tables_;
  // The ways of op after op that no other way beats in both time and workspace; a whole way stays if no whole way beats
  // it.
  std::vector<Way> by_time_;
  // By op, then by op whose recomputation differs: the first row of by_time_.
  std::vector<std::size_t> first_by_time_;
  std::vector<std::size_t> differ_;  // by op: the row of first_by_time_ of its recomputations; 0: they do not differ
  std::vector<std::uint8_t> way_of_;
  std::vector<Bytes> need_, workspace_;
  std::vector<Nanos> time_;
  std::vector<double> slowdown_;
  std::vector<Nanos> time_before_, slowed_before_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_OP_WAYS_H_
