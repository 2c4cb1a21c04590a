#include <fmt/format.h>

#include <stdexcept>

#include "calibrate/devices/cuda/bench_plan.h"
#include "model/unroll/step_options.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

// ---- convolutions

struct Chosen {
  const char* network;
  std::int64_t batch;
  std::vector<const char*> layers;  // convolutions
};

// Windows of 3, then of 1, then the first layers, whose channels are few.
const std::vector<Chosen>& FusedConvolutions() {
  static const std::vector<Chosen> convolutions = {
      {"resnet50", 64, {"res2b_branch2b", "res4b_branch2b", "res2b_branch2c", "res4b_branch2a", "conv1"}},
      {"vgg16", 32, {"conv3_2", "conv5_1", "conv1_2"}}};
  return convolutions;
}

// Likewise, with one that halves the image. None adds to what its result holds: repeated, halves would run over.
const std::vector<Chosen>& HalfConvolutions() {
  static const std::vector<Chosen> convolutions = {{"resnet50",
                                                    64,
                                                    {"res2b_branch2b", "res3b_branch2b", "res4b_branch2b",
                                                     "res2b_branch2c", "res4b_branch2c", "res3a_branch1", "conv1"}},
                                                   {"vgg16", 32, {"conv3_2", "conv5_1", "conv1_2"}}};
  return convolutions;
}

BenchItem ItemOf(const std::shared_ptr<const BenchNetwork>& network, OpId op) {
  BenchItem item;
  item.from = network;
  item.op = op;
  item.launch = LaunchOf(network->step.ops[static_cast<std::size_t>(op)]);
  item.launch.algorithm = 0;
  item.launch.workspace = kUsualWorkspace;
  return item;
}

// The layer's convolution, all passes in the order of the step.
std::vector<BenchItem> ItemsOf(const std::shared_ptr<const BenchNetwork>& network, const std::string& layer) {
  std::vector<BenchItem> items;
  for (OpId id = 0; id < static_cast<OpId>(network->step.ops.size()); ++id) {
    const Op& op = network->step.ops[static_cast<std::size_t>(id)];
    const bool chosen =
        op.kind == OpKind::kConvolution && network->network.layers[static_cast<std::size_t>(op.layer)].name == layer;
    if (chosen) items.push_back(ItemOf(network, id));
  }
  if (items.empty()) throw std::logic_error("no convolution " + layer + " in " + network->name);
  return items;
}

std::shared_ptr<const BenchNetwork> HalfNetwork(const Chosen& chosen, Layout layout) {
  Network network = BuildZooNetwork(chosen.network, {.batch = chosen.batch});
  network.type = DataType::kFp16;
  network.math = MathMode::kFp16;
  network.layout = layout;
  return MakeBenchNetwork(chosen.network, std::move(network), StepOptions{});
}

// ---- copies

constexpr Bytes kPeerLeast = 64 * kKiB, kPeerMost = kGiB, kFactor = 4, kQuickMost = 64 * kMiB, kQuickFactor = 16;

void AddPeerCopies(int from, int to, const char* kind, bool quick, std::vector<BenchItem>* items) {
  for (Bytes bytes = kPeerLeast; bytes <= (quick ? kQuickMost : kPeerMost); bytes *= quick ? kQuickFactor : kFactor) {
    BenchItem item;
    item.kind = BenchItem::Kind::kCopy;
    item.bytes = bytes;
    item.direction = "d2d";
    item.memory = kind;
    item.link = fmt::format("cuda{}-cuda{}", from, to);
    item.from_device = from;
    item.to_device = to;
    items->push_back(item);
  }
}

}  // namespace

std::vector<BenchItem> CudaHalfItems() {
  std::vector<BenchItem> all;
  for (const Chosen& chosen : HalfConvolutions()) {
    const auto nchw = HalfNetwork(chosen, Layout::kNchw), nhwc = HalfNetwork(chosen, Layout::kNhwc);
    for (const char* layer : chosen.layers) {
      const std::vector<BenchItem> items = ItemsOf(nchw, layer), last = ItemsOf(nhwc, layer);
      for (std::size_t k = 0; k < items.size(); ++k) all.insert(all.end(), {items[k], last[k]});
    }
  }
  return all;
}

std::vector<BenchItem> CudaFusedItems() {
  std::vector<BenchItem> items;
  for (const Chosen& chosen : FusedConvolutions()) {
    const auto network =
        MakeBenchNetwork(chosen.network, BuildZooNetwork(chosen.network, {.batch = chosen.batch}), StepOptions{});
    for (const char* layer : chosen.layers) items.push_back(ItemsOf(network, layer).front());  // forward
  }
  std::vector<BenchItem> all;
  for (const MathMode math : {MathMode::kFp32, MathMode::kTf32}) {
    for (BenchItem item : items) {
      item.launch.math = math;
      for (const char* fused : {kConvolutionBiasRelu, kConvolutionBias}) {
        item.fused = fused;
        all.push_back(item);
      }
    }
  }
  return all;
}

CudaBeyond CudaPeerItems(CudaCalls& calls, bool quick) {
  CudaBeyond beyond;
  const int own = calls.DeviceNumber(), devices = calls.DeviceCount();
  if (devices < 2) beyond.not_measured.emplace_back("copies between GPUs: this machine has one");
  for (int other = 0; other < devices; ++other) {
    if (other == own) continue;
    const bool straight = calls.CanAccessPeer(own, other) && calls.CanAccessPeer(other, own);
    if (!straight) {
      beyond.not_measured.push_back(
          fmt::format("straight copies between cuda{} and cuda{}: they cannot reach each other's memory", own, other));
    }
    for (const auto& [from, to] : {std::pair(own, other), std::pair(other, own)}) {
      if (straight) AddPeerCopies(from, to, kPeerCopies, quick, &beyond.items);
      AddPeerCopies(from, to, kStagedCopies, quick, &beyond.items);
    }
  }
  return beyond;
}

CudaBeyond MakeCudaBeyond(CudaCalls& calls, bool quick) {
  CudaBeyond beyond = CudaPeerItems(calls, quick);
  for (const std::vector<BenchItem>& more : {CudaHalfItems(), CudaFusedItems()}) {
    beyond.items.insert(beyond.items.end(), more.begin(), more.end());
  }
  return beyond;
}

}  // namespace spillway
