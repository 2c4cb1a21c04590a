// The choices at one instant as a graph whose least cut is the cheapest one: which values are needed after an op's start,
// what it takes to have them. Internal to the cut bound.
//
//   op u runs again         source side of its node, at the price of its time (edge to the sink), or of what it takes beside
//                           copies, whichever is less
//   value v is needed       source side of n_v: always where an op after the instant needs it, else where an op that reads
//                           it runs again (edge u -> n_v, never cut)
//   v is recomputed         source side of y_v, which takes all its writers along (edges y_v -> u, never cut); needed and
//                           not recomputed it is kept or copied, whichever is cheaper (edge n_v -> y_v)
#ifndef SPILLWAY_SIM_BOUNDS_CUT_GRAPH_H_
#define SPILLWAY_SIM_BOUNDS_CUT_GRAPH_H_

#include <algorithm>
#include <vector>

#include "sim/bounds/memory_gaps.h"
#include "sim/bounds/min_cut.h"

namespace spillway {

// Prices of a choice: per nanosecond of copies, per byte kept; and of ops that run again per nanosecond beside copies, those
// that cost less than 1 each without.
struct CutPrices {
  double out = 0, in = 0, rerun = 0, kept = 0;
};

struct CutChoice {
  double least = 0;  // of all choices: never above the true least sum of prices
  // Of the choice found: nanoseconds, and bytes. Of ops that run again: by how much more they cost at a higher price.
  double out = 0, in = 0, rerun = 0, kept = 0;
  std::vector<TensorId> copied{}, recomputed{};
};

class CutGraph {
 public:
  // At the start of `op`, which has an excess in `need`.
  CutGraph(const BoundProblem& problem, const MemoryNeed& need, const Uses& uses, OpId op);
  Bytes needed_bytes() const { return needed_bytes_; }  // of all that ops after the instant need
  OpId first_made() const { return first_made_; }       // the first op that makes what may be copied out; kNoOp: none
  OpId last_awaited() const { return last_awaited_; }   // the last op that needs a value
  // Nanoseconds per byte kept, beyond which no price gives a higher bound where so many bytes are too much.
  double HighestPrice(Bytes excess) const;
  // `sets`: which values are copied and recomputed is wanted too.
  CutChoice Cheapest(const CutPrices& prices, bool sets);

 private:
  struct Value {
    TensorId tensor = kNoTensor;
    Bytes bytes = 0;
    double out = 0, in = 0;  // nanoseconds
    bool always = false;     // needed
    bool recomputable = false;
    bool may_be_copied = true;
    int needed = 0, again = 0, edge = 0;  // its nodes, and the edge from the one to the other
  };
  struct Rerun {
    OpId op = kNoOp;
    double time = 0, beside_copies = 0;  // nanoseconds
    int node = 0, edge = 0;
    double CostAt(double price) const { return std::min(time, price * beside_copies); }
  };
  // Index. `bytes`: that are needed of it, where it is new.
  int ValueOf(TensorId tensor, Bytes bytes);
  int RerunOf(OpId op);
  bool IsThere(TensorId tensor) const;
  double rerun_time() const;  // of all ops that recomputation could take, once
  std::vector<OpId> WritersOf(TensorId tensor) const;
  void AddNeeded();
  void AddSources();

  const BoundProblem& problem_;
  const MemoryNeed& need_;
  const Uses& uses_;
  const OpId op_;
  MinCut cut_;
  std::vector<Value> values_;
  std::vector<Rerun> reruns_;
  std::vector<int> value_of_, rerun_of_;  // by tensor, by op: -1 none
  Bytes needed_bytes_ = 0;
  OpId first_made_ = kNoOp, last_awaited_ = kNoOp;
  double scale_ = 1;  // capacities are whole numbers
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_CUT_GRAPH_H_
