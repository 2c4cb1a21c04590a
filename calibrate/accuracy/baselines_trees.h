// Gradient boosting with regression trees (Friedman, Annals of Statistics 29, 2001), squared loss, splits found on
// histograms of the features' quantiles. Small, exact enough to be a serious rival, deterministic.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_BASELINES_TREES_H_
#define SPILLWAY_CALIBRATE_ACCURACY_BASELINES_TREES_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

struct BoostOptions {
  int rounds = 200;
  double learning_rate = 0.1;
  int least_rows = 4;  // on either side of a split
};

class BoostedTrees {
 public:
  // `features`: one row per target, all of one length. REQUIRES: at least one row.
  BoostedTrees(const std::vector<std::vector<double>>& features, std::span<const double> targets,
               const BoostOptions& options = {});
  double Predict(std::span<const double> features) const;

 private:
  static constexpr int kDepth = 3, kInner = (1 << kDepth) - 1, kLeaves = 1 << kDepth;
  // A full binary tree: children of node i are 2 i + 1 and 2 i + 2; a row goes right if its feature is above the cut.
  struct Tree {
    std::array<int, kInner> feature{};  // -1 = not split: everything goes left
    std::array<double, kInner> cut{};
    std::array<double, kLeaves> value{};
  };
  struct Training;
  struct Cut {
    int feature = -1, bin = 0;
    double gain = 0;
  };
  Tree Grow(Training& training) const;
  Cut BestCut(const Training& training, int node) const;

  BoostOptions options_;
  double base_ = 0;
  std::vector<std::vector<double>> cuts_;  // by feature: upper ends of its bins but the last
  std::vector<Tree> trees_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_BASELINES_TREES_H_
