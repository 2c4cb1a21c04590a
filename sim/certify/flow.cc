#include "sim/certify/flow.h"

#include <algorithm>
#include <limits>

namespace spillway {

bool Flow::FindLayers(double least) {
  layer_.assign(arcs_.size(), -1);
  layer_[kSource] = 0;
  std::vector<std::size_t> reached{kSource};
  for (std::size_t k = 0; k < reached.size(); ++k) {
    for (const Arc& arc : arcs_[reached[k]]) {
      if (arc.left < least || layer_[arc.to] >= 0) continue;
      layer_[arc.to] = layer_[reached[k]] + 1;
      reached.push_back(arc.to);
    }
  }
  return layer_[kSink] >= 0;
}

double Flow::Push(std::size_t node, double most, double least) {
  if (node == kSink) return most;
  for (std::size_t& k = next_[node]; k < arcs_[node].size(); ++k) {
    Arc& arc = arcs_[node][k];
    if (arc.left < least || layer_[arc.to] != layer_[node] + 1) continue;
    const double pushed = Push(arc.to, std::min(most, arc.left), least);
    if (pushed <= 0) continue;
    arc.left -= pushed;
    arcs_[arc.to][arc.back].left += pushed;
    return pushed;
  }
  return 0;
}

double Flow::Maximum(double least) {
  double sum = 0;
  while (FindLayers(least)) {
    next_.assign(arcs_.size(), 0);
    for (double pushed; (pushed = Push(kSource, std::numeric_limits<double>::max(), least)) > 0;) {
      sum += pushed;
      ++pushes_;
    }
  }
  return sum;
}

}  // namespace spillway
