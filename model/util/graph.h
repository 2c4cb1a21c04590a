// Questions about directed graphs given as index lists. graph.cc is the one place that uses Boost.Graph.
#ifndef SPILLWAY_MODEL_UTIL_GRAPH_H_
#define SPILLWAY_MODEL_UTIL_GRAPH_H_

#include <cstddef>
#include <vector>

namespace spillway {

// By node: the nodes it reads from. A node may be listed twice (two uses).
using InputLists = std::vector<std::vector<std::size_t>>;

struct TopologicalOrder {
  // All nodes, each after its inputs. An order that is already right is kept; otherwise inputs listed too late are
  // moved to just before their first reader. Empty if there is a cycle.
  std::vector<std::size_t> order;
  // The nodes of one cycle, each reading the next, the last one reading the first; empty if there is none.
  std::vector<std::size_t> cycle;
};

TopologicalOrder OrderByInputs(const InputLists& inputs);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_GRAPH_H_
