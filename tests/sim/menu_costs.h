// Costs of steps built by hand whose ops have menus: by op, the ways that a library could run it, in the order in which
// it believes in them, which need not be the order of their speed. Ops without a menu cost what they cost.
#ifndef SPILLWAY_TESTS_SIM_MENU_COSTS_H_
#define SPILLWAY_TESTS_SIM_MENU_COSTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/cost/menu.h"
#include "model/kernels/kernel_form.h"

namespace spillway {

class MenuCosts : public CostModel {
 public:
  struct Way {
    std::int32_t algorithm = 0;  // from 1
    Bytes workspace = 0;
    Nanos time = 0;
  };

  explicit MenuCosts(const Machine& machine, const CostOptions& options = {}) : CostModel(machine, options) {}

  // Makes a convolution of the op, which then has this menu; at least one way has to need no workspace beyond the usual.
  // REQUIRES: no two of the step's ops have one and the same size (HandStep: time).
  void SetMenu(Op& op, std::vector<Way> ways) {
    op.kind = OpKind::kConvolution;
    if (op.pass != Pass::kForward) op.pass = Pass::kBackwardData;
    ways_[{op.pass, op.shape.in.c}] = std::move(ways);
  }

  // Copies slow down some ways to run ops, by so much at most.
  void SlowBesideCopies(double most) { most_slowdown_ = most; }

  Cost Kernel(const Launch& launch, int device = 0) const override {
    const auto found = ways_.find({launch.pass, launch.shape.in.c});
    if (launch.kind != OpKind::kConvolution || found == ways_.end())
      return Slowed(launch, CostModel::Kernel(launch, device));
    const Bytes granted = launch.workspace == kUsualWorkspace ? options().workspace_limit : launch.workspace;
    const Way* least = nullptr;
    for (const Way& way : found->second) {
      if (launch.algorithm != 0 && launch.algorithm != way.algorithm) continue;
      if (way.workspace <= granted) return Slowed(launch, CostOf(way));
      if (least == nullptr || way.workspace < least->workspace) least = &way;
    }
    return Slowed(launch, least != nullptr ? CostOf(*least) : CostModel::Kernel(launch, device));
  }

  std::vector<MenuEntry> Menu(const Launch& launch, int /*device*/ = 0) const override {
    std::vector<std::int32_t> algorithms(AlgorithmNames(launch.kind, launch.pass).size());
    for (std::size_t i = 0; i < algorithms.size(); ++i) algorithms[i] = static_cast<std::int32_t>(i) + 1;
    return MenuOf(launch, algorithms, [this](const Launch& asked) { return Kernel(asked); });
  }
  double LeastTime(const Launch& /*launch*/, int /*device*/ = 0) const override { return 0; }

 private:
  Cost Slowed(const Launch& launch, Cost cost) const {
    const std::int64_t draw = (3 * launch.shape.in.c + 7 * cost.algorithm) % 5;
    cost.copy_slowdown = 1 + (most_slowdown_ - 1) * static_cast<double>(draw) / 4;
    return cost;
  }
  static Cost CostOf(const Way& way) {
    Cost cost;
    cost.time = way.time;
    cost.workspace = way.workspace;
    cost.algorithm = way.algorithm;
    cost.how = "model";
    return cost;
  }
  std::map<std::pair<Pass, std::int64_t>, std::vector<Way>> ways_;
  double most_slowdown_ = 1;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_MENU_COSTS_H_
