// What ops stream so that they fit into little memory, and in which parts: the divisions that FitByStreaming decides
// (streaming.h).
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_STREAM_DIVISIONS_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_STREAM_DIVISIONS_H_

#include <map>
#include <set>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/program/step_tables.h"

namespace spillway {

// The ops of a step that are divided so far, at first none. Bytes are of device memory, with parameters and all that stays.
// Problem and tables are read, and must outlive it.
class Divisions {
 public:
  Divisions(const Problem& problem, const StepTables& tables)
      : problem_(problem), tables_(tables), step_(*problem.step), alone_(tables.WorkingSets({})) {}

  // Lets the op stream what it must to fit into `target`, in the largest parts that do; one that streams already, all that it
  // may, and then in smaller parts. False, and as it was: nothing helps.
  bool Divide(OpId op, Bytes target);
  // In the largest parts that the library takes, streaming nothing: each op that it refuses whole.
  void DivideRefused();
  bool CanStream(OpId op) const { return !InOrderOfStreaming(op).empty(); }
  bool Has(OpId op) const { return tilings_.contains(op); }
  bool Streams(OpId op, TensorId t) const;  // kNoOp streams nothing
  const std::map<OpId, OpDecision>& decisions() const { return decisions_; }

  // What ops take beside nothing else, as they are divided so far.
  const std::vector<Bytes>& alone() const { return alone_; }
  Bytes Alone(OpId op) const { return alone_[static_cast<std::size_t>(op)]; }
  // With all that it may stream in the smallest parts, or in ones that cannot help it into `target`.
  Bytes InSmallestParts(OpId op, Bytes target) const;

 private:
  struct Tiling {
    std::int64_t samples = 0;  // of each part
    std::set<TensorId> streamed;
    TileCounts tiles{};  // of parts of one sample
  };

  bool MayStreamAt(OpId op, TensorId t) const;
  std::vector<TensorId> InOrderOfStreaming(OpId op) const;
  bool Refine(OpId op, Tiling& tiling, Bytes target) const;
  Bytes WithoutTiles(OpId op, const Tiling& tiling) const;
  Tiling WhatMust(OpId op, const std::vector<TensorId>& order, Bytes target) const;
  std::int64_t MostTaken(OpId op) const;  // samples in one call of the library
  std::int64_t LargestPart(OpId op, Tiling tiling, std::int64_t most, Bytes target) const;
  void StreamWhereWritten(OpId op, TensorId t);
  void Decide(OpId op);
  Bytes WorkingSet(OpId op, const Tiling& tiling) const { return WorkingSet(Decision(op, tiling)); }
  Bytes WorkingSet(const OpDecision& decision) const;
  OpDecision Decision(OpId op, const Tiling& tiling) const;

  const Problem& problem_;
  const StepTables& tables_;
  const TrainingStep& step_;
  std::vector<Bytes> alone_;              // by op
  std::map<OpId, Tiling> tilings_;        // of the ops that stream
  std::map<OpId, OpDecision> decisions_;  // what comes of them
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_STREAM_DIVISIONS_H_
