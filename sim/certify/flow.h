// The value of a maximum flow, by Dinic's algorithm (1970): layers by breadth first, blocking flows by depth first.
#ifndef SPILLWAY_SIM_CERTIFY_FLOW_H_
#define SPILLWAY_SIM_CERTIFY_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

class Flow {
 public:
  static constexpr std::size_t kSource = 0, kSink = 1;

  std::size_t AddNode() {
    arcs_.emplace_back();
    return arcs_.size() - 1;
  }
  void AddArc(std::size_t from, std::size_t to, double capacity) {
    arcs_[from].push_back({to, arcs_[to].size(), capacity});
    arcs_[to].push_back({from, arcs_[from].size() - 1, 0});
  }
  // Arcs with less than `least` left count as full: the flow found is one, so that its value is never above the least cut.
  double Maximum(double least);
  std::int64_t pushes() const { return pushes_; }  // each rounded

 private:
  struct Arc {
    std::size_t to, back;  // the arc back: its place among those of `to`
    double left;
  };
  bool FindLayers(double least);
  double Push(std::size_t node, double most, double least);

  std::vector<std::vector<Arc>> arcs_ = std::vector<std::vector<Arc>>(2);
  std::vector<int> layer_;
  std::vector<std::size_t> next_;
  std::int64_t pushes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_CERTIFY_FLOW_H_
