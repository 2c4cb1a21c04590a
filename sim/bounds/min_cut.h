// A minimum cut of a directed graph with two fixed ends, found by Boost.Graph (Boykov and Kolmogorov, 2004). One graph, many
// capacities. The one place that includes Boost's flows.
#ifndef SPILLWAY_SIM_BOUNDS_MIN_CUT_H_
#define SPILLWAY_SIM_BOUNDS_MIN_CUT_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace spillway {

class MinCut {
 public:
  static constexpr int kSource = 0, kSink = 1;
  // More than all other capacities together: such an edge is never cut.
  static constexpr std::int64_t kNeverCut = std::int64_t{1} << 60;

  MinCut();
  ~MinCut();
  MinCut(const MinCut&) = delete;
  MinCut& operator=(const MinCut&) = delete;

  int AddNode();
  // Returns its index. The edge is cut where `from` is on the source's side and `to` is not.
  int AddEdge(int from, int to, std::int64_t capacity);
  // REQUIRES: 0 <= capacity, and all that are not kNeverCut add up to less than it.
  void SetCapacity(int edge, std::int64_t capacity);
  // The value of the least cut. REQUIRES: one exists without an edge of kNeverCut.
  std::int64_t Solve();
  bool OnSourceSide(int node) const;  // after Solve()

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_MIN_CUT_H_
