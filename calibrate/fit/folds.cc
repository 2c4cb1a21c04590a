#include "calibrate/fit/folds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>

#include "model/util/hash.h"

namespace spillway {
namespace {

constexpr double kBatchFactor = 8;
constexpr int kMostValues = 40;  // left out one by one; each costs a fit

Split MakeSplit(const std::string& kind, const std::string& left_out, std::size_t items,
                const std::function<bool(std::size_t)>& tested, const std::function<bool(std::size_t)>& trained) {
  Split split{kind, left_out, {}, {}};
  for (std::size_t i = 0; i < items; ++i) {
    if (tested(i)) {
      split.test.push_back(static_cast<int>(i));
    } else if (trained(i)) {
      split.train.push_back(static_cast<int>(i));
    }
  }
  return split;
}

// Enough on either side, and not nearly everything left out: what is left then teaches nothing about it.
bool HasBothSides(const Split& split, int least) {
  return split.test.size() >= static_cast<std::size_t>(least) &&
         split.train.size() >= static_cast<std::size_t>(least) && split.train.size() * 4 >= split.test.size();
}

Split BatchSplit(std::span<const FoldItem> items, double largest) {
  const auto tested = [&](std::size_t i) { return items[i].batch >= kBatchFactor * largest; };
  const auto trained = [&](std::size_t i) { return items[i].batch <= largest; };
  return MakeSplit("batch", fmt::format("batch >= {:g} from <= {:g}", kBatchFactor * largest, largest), items.size(),
                   tested, trained);
}

void AddBatchSplit(std::span<const FoldItem> items, int least, std::vector<Split>* splits) {
  std::set<double> batches;
  for (const FoldItem& item : items) batches.insert(item.batch);
  Split best;
  std::size_t best_size = 0;
  for (const double largest : batches) {
    Split split = BatchSplit(items, largest);
    const std::size_t size = std::min(split.train.size() / 2, split.test.size());
    if (size > best_size && HasBothSides(split, least)) {
      best = std::move(split);
      best_size = size;
    }
  }
  if (best_size > 0) splits->push_back(std::move(best));
}

void AddWindowSplits(std::span<const FoldItem> items, int least, std::vector<Split>* splits) {
  std::set<std::string> windows;
  for (const FoldItem& item : items) windows.insert(item.window);
  for (const std::string& window : windows) {
    if (window.empty()) continue;
    Split split = MakeSplit(
        "window", "window " + window, items.size(), [&](std::size_t i) { return items[i].window == window; },
        [](std::size_t) { return true; });
    if (HasBothSides(split, least)) splits->push_back(std::move(split));
  }
}

// What is left out together with an item: its value of `field`, or of many values a bundle by their hash. "": nothing.
std::vector<std::string> BundlesBy(std::string FoldItem::*field, std::span<const FoldItem> items) {
  std::set<std::string> values;
  for (const FoldItem& item : items) values.insert(item.*field);
  std::vector<std::string> bundles;
  for (const FoldItem& item : items) {
    const std::string& value = item.*field;
    const bool alone = value.empty() || values.size() <= std::size_t{kMostValues};
    bundles.push_back(alone ? value : fmt::format("bundle {}", FoldOf(value, kMostValues)));
  }
  return bundles;
}

// One per value of `field` that is not empty: its items predicted from all others but those of its layers.
void AddSplitsBy(std::string FoldItem::*field, const std::string& kind, std::span<const FoldItem> items, int least,
                 std::vector<Split>* splits) {
  const std::vector<std::string> values = BundlesBy(field, items);
  for (const std::string& value : std::set<std::string>(values.begin(), values.end())) {
    if (value.empty()) continue;
    std::set<std::string> layers;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (values[i] == value) layers.insert(items[i].key);
    }
    Split split = MakeSplit(
        kind, kind + " " + value, items.size(), [&](std::size_t i) { return values[i] == value; },
        [&](std::size_t i) { return layers.count(items[i].key) == 0; });
    if (HasBothSides(split, least)) splits->push_back(std::move(split));
  }
}

}  // namespace

int FoldOf(const std::string& key, int folds) {
  const std::uint64_t hash = Fnv1a(key);
  return static_cast<int>((hash ^ (hash >> 32)) % static_cast<std::uint64_t>(folds));
}

FoldItem FoldItemOf(const Sample& sample) {
  const Launch& launch = sample.launch;
  const auto& w = launch.shape.window;
  std::string window;
  if (HasWindow(launch.kind)) {
    window = w[0] == 1 ? fmt::format("{}x{}", w[1], w[2]) : fmt::format("{}x{}x{}", w[0], w[1], w[2]);
  }
  return {LayerKey(sample), static_cast<double>(launch.shape.in.n), window, sample.network, sample.harness};
}

std::vector<Split> LayerFolds(std::span<const FoldItem> items, int folds) {
  std::vector<Split> splits;
  for (int fold = 0; fold < folds; ++fold) {
    Split split = MakeSplit(
        "layer", fmt::format("fold {}", fold), items.size(),
        [&](std::size_t i) { return FoldOf(items[i].key, folds) == fold; }, [](std::size_t) { return true; });
    if (!split.test.empty() && !split.train.empty()) splits.push_back(std::move(split));
  }
  return splits;
}

std::vector<Split> ExtrapolationSplits(std::span<const FoldItem> items, int least) {
  std::vector<Split> splits;
  AddBatchSplit(items, least, &splits);
  AddWindowSplits(items, least, &splits);
  AddSplitsBy(&FoldItem::network, "network", items, least, &splits);
  return splits;
}

std::vector<Split> OutsideSplits(std::span<const FoldItem> items, int least) {
  std::vector<Split> splits, sources;
  AddSplitsBy(&FoldItem::network, "network", items, least, &splits);
  AddSplitsBy(&FoldItem::source, "source", items, least, &sources);
  for (Split& split : sources) {
    if (split.train.size() >= split.test.size()) splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace spillway
