#include "sim/bounds/min_cut.h"

// g++ 12 sees an iterator used that boost::optional has made; inlined, the warning is told of these headers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/property_map/property_map.hpp>
#pragma GCC diagnostic pop

namespace spillway {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using EdgeIndex = boost::property<boost::edge_index_t, std::size_t>;
using List = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, EdgeIndex>;

}  // namespace

struct MinCut::Graph {
  List list{2};
  std::vector<std::int64_t> capacity, residual;        // by edge, each of them followed by its reverse
  std::vector<Traits::edge_descriptor> edge, reverse;  // the same
  std::vector<boost::default_color_type> color;        // by node
};

MinCut::MinCut() : graph_(std::make_unique<Graph>()) {}
MinCut::~MinCut() = default;

int MinCut::AddNode() { return static_cast<int>(boost::add_vertex(graph_->list)); }

int MinCut::AddEdge(int from, int to, std::int64_t capacity) {
  Graph& g = *graph_;
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  const std::size_t index = g.capacity.size();
  const auto there = boost::add_edge(a, b, EdgeIndex(index), g.list).first;
  const auto back = boost::add_edge(b, a, EdgeIndex(index + 1), g.list).first;
  g.edge.insert(g.edge.end(), {there, back});
  g.reverse.insert(g.reverse.end(), {back, there});
  g.capacity.insert(g.capacity.end(), {capacity, 0});
  return static_cast<int>(index);
}

void MinCut::SetCapacity(int edge, std::int64_t capacity) {
  graph_->capacity[static_cast<std::size_t>(edge)] = capacity;
}

std::int64_t MinCut::Solve() {
  Graph& g = *graph_;
  const std::size_t nodes = boost::num_vertices(g.list);
  const auto index = boost::get(boost::edge_index, g.list);
  const auto node = boost::get(boost::vertex_index, g.list);
  std::vector<Traits::edge_descriptor> before(nodes);
  std::vector<std::int64_t> distance(nodes);
  g.color.assign(nodes, {});
  g.residual.assign(g.capacity.size(), 0);
  const auto by_edge = [&index](auto& values) { return boost::make_iterator_property_map(values.begin(), index); };
  const auto by_node = [&node](auto& values) { return boost::make_iterator_property_map(values.begin(), node); };
  return boost::boykov_kolmogorov_max_flow(g.list, by_edge(g.capacity), by_edge(g.residual), by_edge(g.reverse),
                                           by_node(before), by_node(g.color), by_node(distance), node, kSource, kSink);
}

bool MinCut::OnSourceSide(int node) const {
  return graph_->color[static_cast<std::size_t>(node)] == boost::black_color;
}

}  // namespace spillway
