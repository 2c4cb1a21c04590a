// What is measured of a GPU, and in which order.
#include <catch2/catch.hpp>
#include <set>

#include "calibrate/devices/cuda/bench_plan.h"
#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"

namespace spillway {

TEST_CASE("a GPU's plan: pinned copies, host calls, the network in fp32, then in TF32") {
  const auto resnet = MakeBenchNetwork("resnet50", BuildZooNetwork("resnet50", {.batch = 2}), {});
  const std::vector<BenchItem> plan = MakeBenchPlan({resnet}, {}, CudaPlanOptions(false));
  std::set<Bytes> pinned;
  std::set<std::string> kinds;
  std::size_t first_tf32 = 0, last_fp32 = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    const BenchItem& item = plan[k];
    if (k > 0) CHECK(plan[k - 1].group <= item.group);
    if (item.kind == BenchItem::Kind::kCopy) kinds.insert(item.memory + " " + item.direction + " " + item.contention);
    if (item.memory == "pinned" && item.contention == "none") pinned.insert(item.bytes);
    if (item.group != BenchGroup::kNetworks) continue;
    const bool tf32 = item.launch.math == MathMode::kTf32;
    if (tf32) CHECK((item.launch.kind == OpKind::kConvolution || item.launch.kind == OpKind::kLinear));
    if (tf32 && first_tf32 == 0) first_tf32 = k;
    if (!tf32) last_fp32 = k;
  }
  CHECK(plan.front().memory == "pinned");
  CHECK(*pinned.begin() == 256);
  CHECK(*pinned.rbegin() == kGiB);
  CHECK(kinds.count("pinned h2d d2h") == 1);
  CHECK(kinds.count("pageable d2h none") == 1);
  CHECK(kinds.count("pitched h2d none") == 1);
  CHECK(kinds.count("device d2d none") == 1);
  CHECK(first_tf32 > last_fp32);
}

TEST_CASE("what a GPU's steps need comes before what they do not, and managed memory only where it is named") {
  const auto resnet = MakeBenchNetwork("resnet50", BuildZooNetwork("resnet50", {.batch = 2}), {});
  std::vector<std::string> order;
  const auto plan_of = [&](std::vector<BenchGroup> groups) {
    BenchPlanOptions options = CudaPlanOptions(true);
    options.groups = std::move(groups);
    return MakeBenchPlan({resnet}, {}, options);
  };
  for (const BenchItem& item : plan_of({})) {
    if (order.empty() || order.back() != BenchGroupName(item.group)) order.emplace_back(BenchGroupName(item.group));
    CHECK_FALSE(item.memory.starts_with("managed"));
    if (item.group == BenchGroup::kCopies) CHECK(item.memory == "pinned");
  }
  CHECK(order == std::vector<std::string>{"copies", "host", "networks", "beside", "memory", "again"});
  std::set<std::string> managed;
  for (const BenchItem& item : plan_of({BenchGroup::kManaged})) managed.insert(item.memory);
  CHECK(managed == std::set<std::string>{"managed_prefetch", "managed_touch"});
  const auto both = plan_of({BenchGroup::kManaged, BenchGroup::kHost});
  CHECK(both.front().group == BenchGroup::kHost);
  CHECK(both.back().group == BenchGroup::kManaged);
}

TEST_CASE("a plan without later groups gives their time to those that it has") {
  BenchPlanOptions options = CudaPlanOptions(true);
  CHECK(LargestShare(MakeBenchPlan({}, {}, options)) == BudgetShare(BenchGroup::kMemory));
  options.groups = {BenchGroup::kCopies, BenchGroup::kHost};
  CHECK(LargestShare(MakeBenchPlan({}, {}, options)) == BudgetShare(BenchGroup::kCopies));
  options.groups = {BenchGroup::kHost};
  CHECK(LargestShare(MakeBenchPlan({}, {}, options)) == 1);
}

TEST_CASE("a GPU's grid goes network by network, each in fp32, then in TF32") {
  const auto zoo = [](const char* name) {
    return MakeBenchNetwork(name, BuildZooNetwork(name, {.batch = 2}), StepOptions{});
  };
  const std::vector<BenchItem> plan =
      MakeBenchPlan({zoo("cifar-vgg")}, {zoo("resnet18"), zoo("cifar-alexnet")}, CudaPlanOptions(false));
  std::vector<std::string> parts;
  for (const BenchItem& item : plan) {
    if (item.group != BenchGroup::kGrid) continue;
    const std::string part = item.from->name + " " + MathModeName(item.launch.math);
    if (parts.empty() || parts.back() != part) parts.push_back(part);
  }
  CHECK(parts ==
        std::vector<std::string>{"resnet18 fp32", "resnet18 tf32", "cifar-alexnet fp32", "cifar-alexnet tf32"});
}

}  // namespace spillway
