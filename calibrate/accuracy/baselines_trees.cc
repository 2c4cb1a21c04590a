#include "calibrate/accuracy/baselines_trees.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace spillway {
namespace {

constexpr std::size_t kBins = 64;

// Ends of at most kBins bins that hold about equally many values.
std::vector<double> QuantileCuts(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> cuts;
  for (std::size_t b = 1; b < kBins; ++b) {
    const double cut = values[b * values.size() / kBins];
    if (cut < values.back() && (cuts.empty() || cut > cuts.back())) cuts.push_back(cut);
  }
  return cuts;
}

struct Sum {
  double count = 0, total = 0;
  double Score() const { return count > 0 ? total * total / count : 0; }
};

}  // namespace

// What one round works on.
struct BoostedTrees::Training {
  std::vector<std::vector<std::uint8_t>> bins;  // by feature, by row
  std::vector<double> rest;                     // what the trees so far leave
  std::vector<int> node;                        // of the tree being grown
};

BoostedTrees::BoostedTrees(const std::vector<std::vector<double>>& features, std::span<const double> targets,
                           const BoostOptions& options)
    : options_(options) {
  Training training;
  for (std::size_t f = 0; f < features[0].size(); ++f) {
    std::vector<double> values;
    for (const std::vector<double>& row : features) values.push_back(row[f]);
    cuts_.push_back(QuantileCuts(values));
    training.bins.emplace_back();
    for (const double v : values) {
      const auto bin = std::lower_bound(cuts_[f].begin(), cuts_[f].end(), v) - cuts_[f].begin();
      training.bins[f].push_back(static_cast<std::uint8_t>(bin));
    }
  }
  base_ = std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
  for (const double t : targets) training.rest.push_back(t - base_);
  for (int round = 0; round < options_.rounds; ++round) trees_.push_back(Grow(training));
}

// The cut of one node's rows that lowers their squared error most.
BoostedTrees::Cut BoostedTrees::BestCut(const Training& training, int node) const {
  Cut best;
  for (std::size_t f = 0; f < cuts_.size(); ++f) {
    std::array<Sum, kBins> histogram{};
    Sum all;
    for (std::size_t r = 0; r < training.rest.size(); ++r) {
      if (training.node[r] != node) continue;
      Sum& bin = histogram[training.bins[f][r]];
      ++bin.count, bin.total += training.rest[r];
      ++all.count, all.total += training.rest[r];
    }
    Sum left;
    for (std::size_t b = 0; b < cuts_[f].size(); ++b) {
      left.count += histogram[b].count, left.total += histogram[b].total;
      const Sum right{all.count - left.count, all.total - left.total};
      if (std::min(left.count, right.count) < options_.least_rows) continue;
      const double gain = left.Score() + right.Score() - all.Score();
      if (gain > best.gain + 1e-12) best = {static_cast<int>(f), static_cast<int>(b), gain};
    }
  }
  return best;
}

// One tree on the rest; its predictions are taken off the rest.
BoostedTrees::Tree BoostedTrees::Grow(Training& training) const {
  Tree tree;
  training.node.assign(training.rest.size(), 0);
  for (int node = 0; node < kInner; ++node) {
    const Cut cut = BestCut(training, node);
    const auto at = static_cast<std::size_t>(node);
    tree.feature[at] = cut.feature;
    if (cut.feature >= 0)
      tree.cut[at] = cuts_[static_cast<std::size_t>(cut.feature)][static_cast<std::size_t>(cut.bin)];
    for (std::size_t r = 0; r < training.rest.size(); ++r) {
      if (training.node[r] != node) continue;
      const bool right = cut.feature >= 0 && training.bins[static_cast<std::size_t>(cut.feature)][r] > cut.bin;
      training.node[r] = 2 * node + (right ? 2 : 1);
    }
  }
  std::array<Sum, kLeaves> leaves{};
  for (std::size_t r = 0; r < training.rest.size(); ++r) {
    Sum& leaf = leaves[static_cast<std::size_t>(training.node[r] - kInner)];
    ++leaf.count, leaf.total += training.rest[r];
  }
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    if (leaves[l].count > 0) tree.value[l] = options_.learning_rate * leaves[l].total / leaves[l].count;
  }
  for (std::size_t r = 0; r < training.rest.size(); ++r) {
    training.rest[r] -= tree.value[static_cast<std::size_t>(training.node[r] - kInner)];
  }
  return tree;
}

double BoostedTrees::Predict(std::span<const double> features) const {
  double sum = base_;
  for (const Tree& tree : trees_) {
    std::size_t node = 0;
    while (node < static_cast<std::size_t>(kInner)) {
      const int f = tree.feature[node];
      const bool right = f >= 0 && features[static_cast<std::size_t>(f)] > tree.cut[node];
      node = 2 * node + (right ? 2 : 1);
    }
    sum += tree.value[node - static_cast<std::size_t>(kInner)];
  }
  return sum;
}

}  // namespace spillway
