// How the ops of a step run, as a search has chosen: a way each, and what follows of it by op, ready to be summed.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_OP_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_OP_WAYS_H_

#include <cstdint>
#include <vector>

#include "sim/strategies/best/gap_tables.h"

namespace spillway {

// Bytes and nanoseconds. Tables must outlive it.
class OpWays {
 public:
  // All as usual: the first of their ways.
  explicit OpWays(const GapTables& tables);

  struct Way {
    std::uint8_t row = 0;  // of the op's ways, counted from its first
    Nanos time = 0;
    Bytes workspace = 0;
    double slowdown = 1;
    bool divided = false;
  };

  // By op: a row of its ways, counted from its first. Costs as much as changed, and the ops behind the first change.
  void Set(const std::vector<std::uint8_t>& ways);

  Bytes need(OpId op) const { return need_[Index(op)]; }  // while it runs, with all kept
  Bytes workspace(OpId op) const { return workspace_[Index(op)]; }
  Nanos time(OpId op) const { return time_[Index(op)]; }           // alone
  double slowdown(OpId op) const { return slowdown_[Index(op)]; }  // factor on it while a copy runs
  Nanos all() const { return time_before_.back(); }                // ops, alone
  Nanos from(OpId op) const { return all() - time_before_[Index(op)]; }
  // Another way of one op, until Set; sums are as before until Sum, which takes the ops behind the first such one.
  void Lean(OpId op, std::uint8_t row) { SetOne(Index(op), row); }
  void Sum(OpId first) { SumFrom(Index(first)); }

  // The fastest way in so much workspace; nullptr: there is none. `whole`: of those that run the op whole.
  const Way* Within(OpId op, Bytes workspace, bool whole = false) const;
  // Of the ops from `begin` up to `end`: alone; beside copies throughout.
  Nanos Between(OpId begin, OpId end) const { return time_before_[Index(end)] - time_before_[Index(begin)]; }
  Nanos SlowedBetween(OpId begin, OpId end) const { return slowed_before_[Index(end)] - slowed_before_[Index(begin)]; }

 private:
  void SetOne(std::size_t op, std::uint8_t way);
  void SumFrom(std::size_t op);
  void AddByTime(const GapTables::Op& op);

  const GapTables& tables_;
  std::vector<Way> by_time_;  // of op after op, those that no other one beats in both, whole ones no other whole one
  std::vector<std::size_t> first_by_time_;
  std::vector<std::uint8_t> way_of_;
  std::vector<Bytes> need_, workspace_;
  std::vector<Nanos> time_;
  std::vector<double> slowdown_;
  std::vector<Nanos> time_before_, slowed_before_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_OP_WAYS_H_
