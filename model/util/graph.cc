#include "model/util/graph.h"

#define BOOST_ALLOW_DEPRECATED_HEADERS
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>

namespace spillway {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

Graph MakeGraph(const InputLists& inputs) {
  Graph graph(inputs.size());
  for (std::size_t node = 0; node < inputs.size(); ++node) {
    for (const std::size_t input : inputs[node]) boost::add_edge(node, input, graph);
  }
  return graph;
}

// Along edges from readers to inputs, a node is finished after all it reads: the finishing order is the answer. The
// search starts at the nodes in the given order, which is why a right order comes out unchanged.
class Visitor : public boost::default_dfs_visitor {
 public:
  Visitor(TopologicalOrder& result, std::size_t nodes) : result_(&result), reader_(nodes) {}
  void tree_edge(Graph::edge_descriptor e, const Graph& g) { reader_[target(e, g)] = source(e, g); }
  void finish_vertex(std::size_t node, const Graph&) { result_->order.push_back(node); }
  void back_edge(Graph::edge_descriptor e, const Graph& g) {
    if (!result_->cycle.empty()) return;
    const std::size_t first = target(e, g);
    std::vector<std::size_t>& cycle = result_->cycle;
    for (std::size_t node = source(e, g); node != first; node = reader_[node]) cycle.insert(cycle.begin(), node);
    cycle.insert(cycle.begin(), first);
  }

 private:
  TopologicalOrder* result_;
  std::vector<std::size_t> reader_;  // by node on the search path: who led to it
};

}  // namespace

TopologicalOrder OrderByInputs(const InputLists& inputs) {
  TopologicalOrder result;
  result.order.reserve(inputs.size());
  const Graph graph = MakeGraph(inputs);
  boost::depth_first_search(graph, boost::visitor(Visitor(result, inputs.size())));
  if (!result.cycle.empty()) result.order.clear();
  return result;
}

}  // namespace spillway
