// Minimum cuts of a directed graph between a source and a sink, by Boost.Graph (Boykov and Kolmogorov, 2004). The graph
// is built once, then solved for changing capacities. No other source includes Boost's flow algorithms.
#ifndef SPILLWAY_SIM_BOUNDS_MIN_CUT_H_
#define SPILLWAY_SIM_BOUNDS_MIN_CUT_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace spillway {

class MinCut {
 public:
  static constexpr int kSource = 0, kSink = 1;
  // The capacity of an edge that must not be cut: more than all other capacities together.
  static constexpr std::int64_t kNeverCut = std::int64_t{1} << 60;

  MinCut();
  ~MinCut();
  MinCut(const MinCut&) = delete;
  MinCut& operator=(const MinCut&) = delete;

  // Adds a node and returns its index. Source and sink exist from the start.
  int AddNode();
  // Adds a directed edge and returns its index. The edge is cut if `from` is on the source's side and `to` is not.
  int AddEdge(int from, int to, std::int64_t capacity);
  // REQUIRES: capacity >= 0. The capacities other than kNeverCut add up to less than kNeverCut.
  void SetCapacity(int edge, std::int64_t capacity);
  // Finds a minimum cut and returns its value. REQUIRES: some cut has no edge of capacity kNeverCut.
  std::int64_t Solve();
  bool OnSourceSide(int node) const;  // in the cut of the last Solve()

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_MIN_CUT_H_
