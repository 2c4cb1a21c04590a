#include "calibrate/fit/folds.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace spillway;

namespace {

Sample Convolution(std::int64_t batch, std::int64_t channels, std::int64_t window, Pass pass = Pass::kForward) {
  Sample s;
  s.what = SampleKind::kKernel;
  s.launch.kind = OpKind::kConvolution;
  s.launch.pass = pass;
  s.launch.shape.in = {.n = batch, .c = channels, .h = 14, .w = 14};
  s.launch.shape.out = {.n = batch, .c = 8, .h = 14, .w = 14};
  s.launch.shape.window = {1, window, window};
  s.network = channels % 2 == 0 ? "even" : "odd";
  return s;
}

// Channels 1 .. 40, window 1, 3 or 5 in turn, batches 1 and 16.
std::vector<FoldItem> Items() {
  std::vector<FoldItem> items;
  for (std::int64_t c = 1; c <= 40; ++c) {
    for (const std::int64_t batch : {1, 16}) items.push_back(FoldItemOf(Convolution(batch, c, 1 + 2 * (c % 3))));
  }
  return items;
}

}  // namespace

TEST_CASE("a layer has one key, whatever batch and pass") {
  const FoldItem item = FoldItemOf(Convolution(4, 64, 3));
  CHECK(item.key == FoldItemOf(Convolution(32, 64, 3, Pass::kBackwardData)).key);
  CHECK(item.key != FoldItemOf(Convolution(4, 64, 5)).key);
  CHECK(item.batch == 4);
  CHECK(item.window == "3x3");
  CHECK(item.network == "even");
}

TEST_CASE("folds depend on the key alone") {
  // FNV-1a of "a" is 0xaf63dc4c8601ec8c; its halves xored are 0x2962 30c0 = 694,300,864, which leaves 4 modulo 5.
  CHECK(FoldOf("a", 5) == static_cast<int>((0xaf63dc4c8601ec8cULL ^ 0xaf63dc4cULL) % 5));
  CHECK(FoldOf("a", 1) == 0);
}

TEST_CASE("layer folds test every item once and keep layers together") {
  const std::vector<FoldItem> items = Items();
  const std::vector<Split> splits = LayerFolds(items, 5);
  REQUIRE(splits.size() == 5);
  std::vector<int> tested(items.size());
  for (const Split& split : splits) {
    CHECK(split.train.size() + split.test.size() == items.size());
    std::set<std::string> trained;
    for (const int i : split.train) trained.insert(items[static_cast<std::size_t>(i)].key);
    for (const int i : split.test) {
      ++tested[static_cast<std::size_t>(i)];
      CHECK(trained.count(items[static_cast<std::size_t>(i)].key) == 0);
    }
  }
  CHECK(tested == std::vector<int>(items.size(), 1));
}

TEST_CASE("one layer alone cannot be cross-validated") {
  const std::vector<FoldItem> items = {FoldItemOf(Convolution(1, 3, 3)), FoldItemOf(Convolution(2, 3, 3))};
  CHECK(LayerFolds(items, 5).empty());
}

TEST_CASE("extrapolations leave out large batches, windows and networks") {
  const std::vector<FoldItem> items = Items();
  const std::vector<Split> splits = ExtrapolationSplits(items);
  REQUIRE(splits.size() == 6);  // batch, three windows, two networks
  CHECK(splits[0].left_out == "batch >= 8 from <= 1");
  CHECK(splits[0].train.size() == 40);
  CHECK(splits[0].test.size() == 40);
  CHECK(splits[1].left_out == "window 1x1");
  CHECK(splits[1].test.size() == 26);  // c = 3, 6, .. 39: 13 layers of two batches
  CHECK(splits[4].left_out == "network even");
  CHECK(splits[4].test.size() == 40);
  CHECK(splits[4].train.size() == 40);
}

TEST_CASE("a layer that two networks share is not trained on when one is left out") {
  std::vector<FoldItem> items = Items();
  for (FoldItem& item : items) item.network = item.batch > 1 ? "large" : "small";  // every layer is in both
  for (const Split& split : ExtrapolationSplits(items)) CHECK(split.kind != "network");
}

TEST_CASE("whole networks and sources are left out, sources only where the others have as much") {
  std::vector<FoldItem> items = Items();
  for (FoldItem& item : items) {
    item.source = item.key < items[30].key ? "small" : "large";
    item.network.clear();
  }
  std::size_t small = 0;
  for (const FoldItem& item : items) small += item.source == "small" ? 1 : 0;
  REQUIRE(small >= 12);
  REQUIRE(small < 40);
  const std::vector<Split> splits = OutsideSplits(items);
  REQUIRE(splits.size() == 1);
  CHECK(splits[0].left_out == "source small");
  CHECK(splits[0].test.size() == small);
  CHECK(splits[0].train.size() == 80 - small);
  for (const int i : splits[0].train) CHECK(items[static_cast<std::size_t>(i)].source == "large");
}

TEST_CASE("too few items give no extrapolation") {
  const std::vector<FoldItem> items = Items();
  CHECK(ExtrapolationSplits(std::span(items).first(10)).empty());
}

TEST_CASE("of many networks bundles are left out, so that the number of fits has an end") {
  std::vector<FoldItem> items;
  for (std::int64_t c = 1; c <= 4000; ++c) {
    items.push_back(FoldItemOf(Convolution(4, c, 3)));
    items.back().network = "network " + std::to_string(c / 20);
  }
  const std::vector<Split> splits = OutsideSplits(items);
  CHECK(splits.size() <= 40);
  CHECK(splits.size() > 20);
  std::set<int> tested;
  for (const Split& split : splits) {
    for (const int i : split.test) CHECK(tested.insert(i).second);
    const std::string& network = items[static_cast<std::size_t>(split.test.front())].network;
    CHECK(std::none_of(split.train.begin(), split.train.end(),  // left out whole
                       [&](int i) { return items[static_cast<std::size_t>(i)].network == network; }));
  }
  CHECK(tested.size() == items.size());
}
