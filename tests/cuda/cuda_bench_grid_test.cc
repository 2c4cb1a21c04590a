// What the grid of a GPU's calibration covers: the zoo, DeepBench's lists for training, nothing that is too large.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "calibrate/devices/cuda/bench_plan.h"
#include "model/profile/launch_text.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

std::string TextOf(const Launch& launch) {
  return std::string(OpKindName(launch.kind)) + " " + PassName(launch.pass) + " " + OpShapeText(launch.shape) +
         (launch.accumulate ? " accumulate" : "");
}

std::shared_ptr<const BenchNetwork> Usual() {
  return MakeBenchNetwork("resnet50", BuildZooNetwork("resnet50", {.batch = 64}), StepOptions{});
}

// Each launch's first round by itself.
std::vector<BenchItem> Launches(const std::vector<BenchItem>& plan) {
  std::vector<BenchItem> launches;
  std::copy_if(plan.begin(), plan.end(), std::back_inserter(launches), [](const BenchItem& item) {
    return item.group == BenchGroup::kNetworks || item.group == BenchGroup::kGrid;
  });
  return launches;
}

const std::vector<BenchItem>& Plan() {
  static const std::vector<BenchItem> plan = MakeBenchPlan({Usual()}, CudaBenchGrid(), CudaPlanOptions(false));
  return plan;
}

// In fp32.
const std::set<std::string>& Planned() {
  static const std::set<std::string> planned = [] {
    std::set<std::string> texts;
    for (const BenchItem& item : Launches(Plan())) {
      if (item.launch.math == MathMode::kFp32) texts.insert(TextOf(item.launch));
    }
    return texts;
  }();
  return planned;
}

bool IsPlanned(const std::string& text) { return Planned().count(text) == 1; }

// Of the zoo's network at that batch, which may be too large for any device, nothing is missing.
bool Covers(const std::string& network, std::int64_t batch) {
  try {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}));
    return std::all_of(step.ops.begin(), step.ops.end(), [](const Op& op) { return IsPlanned(TextOf(LaunchOf(op))); });
  } catch (const UserError&) {
    return false;
  }
}

std::vector<std::shared_ptr<const BenchNetwork>> DeepBenchConvolutions() {
  auto found = CudaBenchGrid();
  std::erase_if(found, [](const auto& network) {
    return network->name != "deepbench" || network->step.ops.front().kind == OpKind::kLinear;
  });
  return found;
}

// A product of DeepBench's list, by columns: C (m x n) = op(A) (m x k) op(B) (k x n).
struct Product {
  std::int64_t m, n, k;
  const char* operations;  // "TN", "NN", "NT"
};

std::string TextOf(const Product& p) {
  Launch launch;
  launch.kind = OpKind::kLinear;
  std::int64_t in = p.k, out = p.m, batch = p.n;
  const std::string operations = p.operations;
  if (operations == "NN") {
    launch.pass = Pass::kBackwardData;
    std::swap(in, out);
  } else if (operations == "NT") {
    launch.pass = Pass::kBackwardFilter;
    in = p.m, out = p.n, batch = p.k;
  }
  launch.shape.in = {.n = batch, .c = in};
  launch.shape.out = {.n = batch, .c = out};
  return TextOf(launch);
}

// Products of all these m, k and n; without k square ones. N,N of each, T,N too where `both`.
struct Family {
  std::vector<std::int64_t> m, k, n;
  bool both = true;
};
const Family kFamilies[] = {
    {{1760, 2048, 2560, 4096}, {}, {16, 32, 64, 128, 7000}},
    {{35}, {1760, 2048, 2560, 4096}, {8457}},
    {{512}, {}, {16, 32}, false},
    {{512, 1024}, {1536, 2048, 2560, 2816}, {24000, 48000}},
    {{512, 1024}, {500000}, {8, 16}},
    {{1024}, {512}, {16, 32}, false},
    {{1024}, {512}, {700}},
    {{3072}, {1024}, {16, 32, 64, 128, 24000, 48000}},
    {{4608}, {1536}, {16, 32, 24000, 48000}},
    {{5124}, {1760, 2048, 2560, 4096}, {9124}},
    {{6144}, {2048}, {16, 32, 24000, 48000}},
    {{7680}, {2560}, {16, 32, 64, 128, 24000, 48000}},
    {{8448}, {2816}, {16, 32, 24000, 48000}},
};

std::vector<Product> ListedProducts() {
  std::vector<Product> products = {{3072, 7435, 1024, "NT"}, {7680, 5481, 2560, "NT"}};
  for (const std::int64_t m : {1760, 2048, 2560, 4096}) products.push_back({m, 7133, m, "NT"});
  for (const std::int64_t m : {512, 1024}) {
    for (const std::int64_t n : {16, 32}) products.push_back({m, n, 512, "NT"});
  }
  for (const Family& family : kFamilies) {
    for (const std::int64_t m : family.m) {
      for (const std::int64_t k : family.k.empty() ? std::vector<std::int64_t>{m} : family.k) {
        for (const std::int64_t n : family.n) {
          products.push_back({m, n, k, "NN"});
          if (family.both) products.push_back({m, n, k, "TN"});
        }
      }
    }
  }
  return products;
}

}  // namespace

// Its plan was made for the networks of 2012 to 2019; for today's layers the plugin has no kernels yet.
TEST_CASE("the GPU's plan has every launch of the older networks of the zoo, at three batches and more") {
  int networks = 0;
  for (const ZooEntry& entry : Zoo()) {
    INFO(entry.name);
    int covered = 0;
    for (const std::int64_t batch : {1, 8, 16, 32, 64, 128, 256, 384, 512, 640, 1024, 2432, 2688}) {
      if (Covers(entry.name, batch)) ++covered;
    }
    if (covered == 0) continue;
    ++networks;
    // As published it takes one sample, and 10 GB for it.
    if (std::string(entry.name) == "resnext101-3d") {
      CHECK(covered == 1);
    } else {
      CHECK(covered >= 3);
    }
  }
  CHECK(networks == 21);
}

TEST_CASE("the GPU's plan has networks at the batches that published results are for") {
  const std::map<std::string, std::vector<std::int64_t>> published = {{"resnet50", {128, 256, 384, 512, 640}},
                                                                      {"alexnet", {128, 256, 2432, 2688}},
                                                                      {"googlenet-bn", {384}},
                                                                      {"vgg16", {64, 128, 256, 512}},
                                                                      {"overfeat", {128}},
                                                                      {"googlenet", {128}}};
  for (const auto& [name, batches] : published) {
    INFO(name);
    for (const std::int64_t batch : batches) CHECK(Covers(name, batch));
  }
}

TEST_CASE("the GPU's plan has every convolution of DeepBench's training list in all passes that it has there") {
  // `training_set` in code/kernels/conv_problems.h of baidu-research/DeepBench lists 94; four of them twice. Counted
  // from there: multiply-adds of the distinct ones, forward.
  constexpr int kListed = 90;
  constexpr double kMultiplyAdds = 277'244'523'008;
  double flops = 0;
  std::set<std::string> forward;
  for (const auto& network : DeepBenchConvolutions()) {
    int convolutions = 0, passes = 0;
    for (const Op& op : network->step.ops) {
      if (op.kind != OpKind::kConvolution) continue;
      CHECK(IsPlanned(TextOf(LaunchOf(op))));
      ++passes;
      if (op.pass != Pass::kForward) continue;
      ++convolutions;
      flops += op.work.flops;
      forward.insert(TextOf(LaunchOf(op)));
    }
    CHECK(convolutions == 1);
    CHECK(passes == (network->network.input.c > 3 ? 3 : 2));
  }
  CHECK(forward.size() == kListed);
  CHECK(flops == 2 * kMultiplyAdds);
}

TEST_CASE("convolutions of DeepBench's training list, written out") {
  const auto is_planned = [](const std::string& shape, bool data) {
    INFO(shape);
    CHECK(IsPlanned("convolution forward " + shape));
    CHECK(IsPlanned("convolution backward_filter " + shape));
    CHECK(IsPlanned("convolution backward_data " + shape) == data);
  };
  for (const std::string n : {"4", "8", "16", "32"}) {
    is_planned(n + "x1x161x700 -> " + n + "x32x79x341 window 5x20 stride 2x2", false);
    is_planned(n + "x32x79x341 -> " + n + "x32x38x166 window 5x10 stride 2x2", true);
  }
  is_planned("16x64x6x60 -> 16x128x6x60 window 3x3 pad 1x1", true);
  is_planned("8x3x108x108 -> 8x64x54x54 window 3x3 stride 2x2 pad 1x1", false);
  is_planned("16x832x7x7 -> 16x128x7x7 window 5x5 pad 2x2", true);
  is_planned("16x256x20x84 -> 16x512x9x41 window 5x5 stride 2x2 pad 1x1", true);
  for (const std::string n : {"8", "16"}) {
    is_planned(n + "x3x224x224 -> " + n + "x64x224x224 window 3x3 pad 1x1", false);
    is_planned(n + "x2048x7x7 -> " + n + "x512x7x7 stride 2x2 pad 3x3", true);
    is_planned(n + "x1024x14x14 -> " + n + "x2048x7x7 stride 2x2", true);
  }
}

TEST_CASE("the GPU's plan has every product of DeepBench's training list") {
  // `training_set` in code/kernels/gemm_problems.h has 160, all distinct; multiply-adds counted from there.
  constexpr std::int64_t kMultiplyAdds = 13'353'199'093'568;
  const std::vector<Product> products = ListedProducts();
  CHECK(products.size() == 160);
  std::int64_t multiply_adds = 0;
  for (const Product& product : products) {
    INFO(product.m << " " << product.n << " " << product.k << " " << product.operations);
    CHECK(IsPlanned(TextOf(product)));
    multiply_adds += product.m * product.n * product.k;
  }
  CHECK(multiply_adds == kMultiplyAdds);
  CHECK(IsPlanned("linear forward 16x500000x1x1 -> 16x512x1x1"));
  CHECK(IsPlanned("linear backward_data 48000x8448x1x1 -> 48000x2816x1x1"));
  CHECK(IsPlanned("linear backward_filter 2560x7680x1x1 -> 2560x5481x1x1"));
}

TEST_CASE("a window of 7x7 has its data gradient in the GPU's plan") {
  const std::set<std::string>& planned = Planned();
  CHECK(std::any_of(planned.begin(), planned.end(), [](const std::string& text) {
    return text.starts_with("convolution backward_data") && text.find("window 7x7") != std::string::npos;
  }));
}

TEST_CASE("the GPU's plan holds nothing twice, and every product in TF32 too") {
  std::map<std::string, std::vector<MathMode>> maths;
  std::set<std::string> products;
  for (const BenchItem& item : Launches(Plan())) {
    CHECK(item.round == 1);
    maths[TextOf(item.launch)].push_back(item.launch.math);
    if (IsProduct(item.launch.kind)) products.insert(TextOf(item.launch));
  }
  const std::vector<MathMode> plain = {MathMode::kFp32}, both = {MathMode::kFp32, MathMode::kTf32};
  for (const auto& [text, found] : maths) CHECK(found == (products.count(text) == 1 ? both : plain));
}

TEST_CASE("what is validated comes first in the GPU's grid, then the zoo batch by batch, then DeepBench") {
  std::vector<std::string> order;
  for (const auto& network : CudaBenchGrid())
    order.push_back(network->name + ":" + std::to_string(network->step.batch));
  const auto place = [&order](const std::string& name) {
    INFO(name);
    const auto found = std::find(order.begin(), order.end(), name);
    CHECK(found != order.end());
    return found - order.begin();
  };
  CHECK(std::vector<std::string>(order.begin(), order.begin() + 3) ==
        std::vector<std::string>{"vgg16:32", "alexnet:256", "resnet50:128"});
  CHECK(place("densenet121:64") < place("vgg16:64"));
  CHECK(place("resnext101-3d:1") < place("vgg16:64"));
  CHECK(place("cifar-alexnet:32") < place("vgg16:128"));
  CHECK(place("cifar-alexnet:1024") < place("deepbench:4"));
  CHECK(place("deepbench:32") < place("deepbench:7000"));
  CHECK(place("deepbench:512") < place("grid:48"));
  CHECK(place("grid:48") < place("resnet50:512"));
  CHECK(order.back() == "vgg16:512");
}

TEST_CASE("the GPU's grid changes nothing that comes before it") {
  const std::vector<BenchItem> without = MakeBenchPlan({Usual()}, {}, CudaPlanOptions(false));
  std::size_t before = 0;
  while (without[before].group < BenchGroup::kGrid) ++before;
  REQUIRE(Plan().size() > before);
  CHECK(Plan()[before].group == BenchGroup::kGrid);
  for (std::size_t k = 0; k < before; ++k) {
    CHECK(Plan()[k].group == without[k].group);
    CHECK(Plan()[k].launch == without[k].launch);
    CHECK(Plan()[k].contention == without[k].contention);
    CHECK(Plan()[k].bytes == without[k].bytes);
  }
}

TEST_CASE("no launch of the GPU's grid is too large for one, and none takes long") {
  constexpr double kMostBytes = 20e9, kMostFlops = 2.5e12;
  constexpr std::int64_t kMostElements = std::int64_t{1} << 31;  // the device's sizes have 32 bits
  double most = 0;
  for (const BenchItem& item : Launches(Plan())) {
    const TrainingStep& step = item.from->step;
    const Op& op = step.ops[static_cast<std::size_t>(item.op)];
    std::set<TensorId> tensors(op.reads.begin(), op.reads.end());
    tensors.insert(op.writes.begin(), op.writes.end());
    double bytes = 0;
    for (const TensorId id : tensors) {
      const Tensor& tensor = step.tensors[static_cast<std::size_t>(id)];
      bytes += static_cast<double>(tensor.bytes);
      CHECK(tensor.shape.Elements() < kMostElements);
    }
    CHECK(bytes < kMostBytes);
    CHECK(op.work.flops < kMostFlops);
    most = std::max(most, bytes);
  }
  CHECK(most > 19e9);  // VGG-16 at 512: the bound is no idle one
}

}  // namespace spillway
