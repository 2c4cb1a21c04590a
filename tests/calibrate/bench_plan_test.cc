// What a calibration measures, and in which order.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "calibrate/measure/plan.h"
#include "model/profile/launch_text.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

using Networks = std::vector<std::shared_ptr<const BenchNetwork>>;

std::shared_ptr<const BenchNetwork> Zoo(const std::string& name, std::int64_t batch) {
  return MakeBenchNetwork(name, BuildZooNetwork(name, {.batch = batch}), StepOptions{});
}

std::string LaunchText(const Launch& launch) {
  return std::string(OpKindName(launch.kind)) + " " + PassName(launch.pass) + " " + OpShapeText(launch.shape) +
         (launch.accumulate ? " accumulate" : "");
}

std::string KeyOf(const BenchItem& item) {
  std::string key = std::to_string(static_cast<int>(item.kind)) + " round " + std::to_string(item.round) + " " +
                    item.contention + " " + item.call + item.direction + std::to_string(item.bytes);
  if (item.kind == BenchItem::Kind::kKernel) key += LaunchText(item.launch);
  return key;
}

std::vector<std::string> KeysOf(const std::vector<BenchItem>& plan) {
  std::vector<std::string> keys;
  for (const BenchItem& item : plan) keys.push_back(KeyOf(item));
  return keys;
}

std::set<std::string> LaunchesOf(const TrainingStep& step) {
  std::set<std::string> launches;
  for (const Op& op : step.ops) launches.insert(LaunchText(LaunchOf(op)));
  return launches;
}

}  // namespace

TEST_CASE("plans are the same each time and hold nothing twice") {
  const Networks networks = {Zoo("cifar-resnet20", 16), Zoo("cifar-vgg", 16), Zoo("cifar-vgg", 16)};
  const std::vector<BenchItem> plan = MakeBenchPlan(networks, BenchGrid(), {});
  const std::vector<std::string> keys = KeysOf(plan);
  CHECK(keys == KeysOf(MakeBenchPlan(networks, BenchGrid(), {})));
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == keys.size());
  CHECK(MakeBenchPlan(networks, BenchGrid(), {.quick = true}).size() < plan.size());
}

TEST_CASE("groups come one after another, every launch of the networks first") {
  const Networks networks = {Zoo("cifar-resnet20", 16), Zoo("cifar-vgg", 32)};
  const std::vector<BenchItem> plan = MakeBenchPlan(networks, BenchGrid(), {});
  std::set<std::string> wanted = LaunchesOf(networks[0]->step), planned;
  wanted.merge(LaunchesOf(networks[1]->step));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (i > 0) CHECK(plan[i - 1].group <= plan[i].group);
    if (plan[i].group == BenchGroup::kNetworks) planned.insert(LaunchText(plan[i].launch));
  }
  CHECK(planned == wanted);
}

TEST_CASE("what makes most of a step comes first") {
  const std::vector<BenchItem> plan = MakeBenchPlan({Zoo("cifar-vgg", 32)}, {}, {});
  std::vector<std::string> launches;
  for (const BenchItem& item : plan) {
    if (item.group == BenchGroup::kNetworks) launches.push_back(LaunchText(item.launch));
  }
  // Six convolutions have equal work but for the first of each group, which has half of it; biases have next to none.
  for (int i = 0; i < 9; ++i) CHECK(launches[static_cast<std::size_t>(i)].starts_with("convolution"));
  CHECK(launches.back().starts_with("update"));
}

TEST_CASE("an item says where its operands are found") {
  for (const BenchItem& item : MakeBenchPlan({Zoo("cifar-resnet20", 8)}, BenchGrid(), {})) {
    if (item.kind != BenchItem::Kind::kKernel) continue;
    Launch launch = AsConvolution(LaunchOf(item.from->step.ops[static_cast<std::size_t>(item.op)]));
    launch.workspace = item.launch.workspace;
    launch.algorithm = 0;
    CHECK(launch == item.launch);
  }
}

TEST_CASE("copies alone in both directions, then together") {
  std::map<std::string, int> copies;
  for (const BenchItem& item : MakeBenchPlan({}, {}, {})) {
    if (item.kind == BenchItem::Kind::kCopy) ++copies[item.direction + " beside " + item.contention];
  }
  // 4 KiB x 4^k up to 64 MiB; together from 1 MiB on.
  CHECK(copies == std::map<std::string, int>{
                      {"h2d beside none", 8}, {"d2h beside none", 8}, {"h2d beside d2h", 4}, {"d2h beside h2d", 4}});
}

TEST_CASE("each op and pass is measured beside copies, and alone right before") {
  const std::vector<BenchItem> plan = MakeBenchPlan({Zoo("cifar-resnet20", 8)}, {}, {});
  std::set<std::pair<OpKind, Pass>> ops, beside;
  const auto network = Zoo("cifar-resnet20", 8);
  for (const Op& op : network->step.ops) ops.emplace(op.kind, op.pass);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].group != BenchGroup::kBeside || plan[i].contention != "h2d") continue;
    beside.emplace(plan[i].launch.kind, plan[i].launch.pass);
    CHECK(plan[i - 1].launch == plan[i].launch);
    CHECK(plan[i - 1].contention == "none");
  }
  CHECK(beside == ops);
}

TEST_CASE("the grid covers windows, strides and every kind of op, and no network of the zoo at its usual size") {
  std::set<std::int64_t> windows, strides;
  std::set<std::pair<OpKind, Pass>> ops;
  std::set<std::string> launches;
  double most = 0, most_bytes = 0;
  for (const auto& network : BenchGrid()) {
    launches.merge(LaunchesOf(network->step));
    for (const Op& op : network->step.ops) {
      ops.emplace(op.kind, op.pass);
      most = std::max(most, op.work.flops);
      if (op.kind == OpKind::kUpdate) most_bytes = std::max(most_bytes, op.work.bytes);
      if (op.kind != OpKind::kConvolution) continue;
      windows.insert(op.shape.window[1]);
      strides.insert(op.shape.stride[1]);
    }
  }
  CHECK(windows == std::set<std::int64_t>{1, 3, 4, 5, 7, 11});
  CHECK(strides == std::set<std::int64_t>{1, 2, 4});
  CHECK(most < 2.5e9);        // none takes long
  CHECK(most_bytes > 100e6);  // and no cache holds the largest: it tells the memory bandwidth
  for (const OpTraits& traits : kOpTraits) {
    const OpKind kind = traits.kind;
    if (kind == OpKind::kCast || kind == OpKind::kCopy || kind == OpKind::kRecorded) continue;  // of no layer in fp32
    for (int pass = 0; pass <= static_cast<int>(Pass::kUpdate); ++pass) {
      INFO(traits.name << " " << PassName(static_cast<Pass>(pass)));
      if (HasPass(kind, static_cast<Pass>(pass))) CHECK(ops.count({kind, static_cast<Pass>(pass)}) == 1);
    }
  }
  const std::string folder = SPILLWAY_SOURCE_DIR "/model/networks/";
  for (const std::int64_t batch : {16, 32, 64, 100, 128, 256}) {
    for (const Network& network :
         {BuildZooNetwork("cifar-alexnet", {.batch = batch}), BuildZooNetwork("cifar-vgg", {.batch = batch}),
          BuildZooNetwork("cifar-resnet20", {.batch = batch}), LoadNetwork(folder + "cifar-caffenet.yaml", batch)}) {
      for (const Op& op : BuildTrainingStep(network).ops) {
        if (op.kind == OpKind::kConvolution) CHECK(launches.count(LaunchText(LaunchOf(op))) == 0);
      }
    }
  }
}

TEST_CASE("every group gets its share of the budget, later ones what is left") {
  double before = 0;
  for (const BenchGroup group :
       {BenchGroup::kCopies, BenchGroup::kNetworks, BenchGroup::kBeside, BenchGroup::kGrid, BenchGroup::kAgain}) {
    CHECK(BudgetShare(group) > before);
    before = BudgetShare(group);
  }
  CHECK(before == 1.0);
}

}  // namespace spillway
