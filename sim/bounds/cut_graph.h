// The cheapest choice at one instant, as a minimum cut: which values are needed after the start of an op, and whether
// each of them is kept, copied or recomputed. Internal to the cut bound (cut_bound.h, which states the bound).
//
//   op u runs again      node u is on the source side. The edge u -> sink costs the op's time alone, or its time while
//                        copies run at the price `rerun`, whichever is less.
//   value v is needed    node n_v is on the source side. The edge source -> n_v is never cut if an op after the instant
//                        needs v. The edge u -> n_v is never cut for each op u that may run again and reads v.
//   v is recomputed      node y_v is on the source side. The edges y_v -> u to its writers u are never cut.
//   v is kept or copied  n_v is on the source side and y_v is not: the edge n_v -> y_v is cut, at the cheaper price.
//
// Example: op 5 needs X after the instant; op 2 writes X and reads the input I. Edges: source -> n_X, n_X -> y_X (copy
// or keep X), y_X -> 2, 2 -> sink (run op 2 again), 2 -> n_I, n_I -> y_I (copy or keep I), y_I -> sink (I cannot be
// recomputed). The cut is either {n_X -> y_X} or {2 -> sink, n_I -> y_I}.
#ifndef SPILLWAY_SIM_BOUNDS_CUT_GRAPH_H_
#define SPILLWAY_SIM_BOUNDS_CUT_GRAPH_H_

#include <algorithm>
#include <vector>

#include "sim/bounds/memory_gaps.h"
#include "sim/bounds/min_cut.h"

namespace spillway {

// The prices of a choice, all at least 0. `out` and `in` are per nanosecond of copies to and from the host, `kept` is
// per byte kept. An op that runs again costs `rerun` per nanosecond of its time while copies run, but at most 1 per
// nanosecond alone.
struct CutPrices {
  double out = 0, in = 0, rerun = 0, kept = 0;
};

struct CutChoice {
  double least = 0;  // the least sum of prices over all choices; rounding makes it lower, never higher
  // The choice found: nanoseconds of copies out and in, bytes kept. `rerun`: nanoseconds, while copies run, of those
  // ops that run again at the price CutPrices::rerun. These four are the slopes of `least` in the four prices.
  double out = 0, in = 0, rerun = 0, kept = 0;
  std::vector<TensorId> copied{}, recomputed{};
};

class CutGraph {
 public:
  // The instant is the start of `op`. REQUIRES: need.excess is positive there. Refers to the first three arguments,
  // which must outlive the graph.
  CutGraph(const BoundProblem& problem, const MemoryNeed& need, const Uses& uses, OpId op);
  Bytes needed_bytes() const { return needed_bytes_; }  // bytes of all values that ops after the instant need
  OpId first_made() const { return first_made_; }  // the first op that makes a value that may be copied out, or kNoOp
  OpId last_awaited() const { return last_awaited_; }  // the last op that needs a value
  // A price (nanoseconds per byte kept) above which the bound cannot rise, if `excess` bytes are too much at the
  // instant.
  double HighestPrice(Bytes excess) const;
  // Solves the minimum cut at these prices. `sets`: true fills `copied` and `recomputed` as well.
  CutChoice Cheapest(const CutPrices& prices, bool sets);

 private:
  struct Value {
    TensorId tensor = kNoTensor;
    Bytes bytes = 0;
    double out = 0, in = 0;  // nanoseconds of its copies
    bool always = false;     // an op after the instant needs it
    bool recomputable = false;
    bool may_be_copied = true;
    int needed = 0, again = 0, edge = 0;  // the nodes n_v and y_v, and the edge n_v -> y_v
  };
  struct Rerun {
    OpId op = kNoOp;
    double time = 0, beside_copies = 0;  // nanoseconds alone, and while copies run
    int node = 0, edge = 0;
    double CostAt(double price) const { return std::min(time, price * beside_copies); }
  };
  // The index of the tensor's Value, or the op's Rerun; makes it if it is new. `bytes`: how much of a new value is
  // needed.
  int ValueOf(TensorId tensor, Bytes bytes);
  int RerunOf(OpId op);
  bool IsThere(TensorId tensor) const;
  double rerun_time() const;  // nanoseconds of all ops that could run again, each once
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
  std::vector<int> value_of_, rerun_of_;  // index by tensor, and by op; -1: none
  Bytes needed_bytes_ = 0;
  OpId first_made_ = kNoOp, last_awaited_ = kNoOp;
  double scale_ = 1;  // units per nanosecond: MinCut's capacities are whole numbers
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_CUT_GRAPH_H_
