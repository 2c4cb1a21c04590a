#include "calibrate/cuda/bench_beyond.h"

#include <fmt/format.h>

#include <stdexcept>

namespace spillway {
namespace {

// ---- convolutions

struct Chosen {
  const char* network;
  std::int64_t batch;
  std::vector<const char*> layers;  // convolutions
};

// Windows of 3, then of 1, then the first layers, whose channels are few.
const std::vector<Chosen>& Convolutions() {
  static const std::vector<Chosen> convolutions = {
      {"resnet50", 64, {"res2b_branch2b", "res4b_branch2b", "res2b_branch2c", "res4b_branch2a", "conv1"}},
      {"vgg16", 32, {"conv3_2", "conv5_1", "conv1_2"}}};
  return convolutions;
}

OpId ForwardOf(const BenchNetwork& network, const std::string& layer) {
  for (OpId id = 0; id < static_cast<OpId>(network.step.ops.size()); ++id) {
    const Op& op = network.step.ops[static_cast<std::size_t>(id)];
    if (op.kind != OpKind::kConvolution || op.pass != Pass::kForward) continue;
    if (network.network.layers[static_cast<std::size_t>(op.layer)].name == layer) return id;
  }
  throw std::logic_error("no convolution " + layer + " in " + network.name);
}

BenchItem FusedItem(const std::shared_ptr<const BenchNetwork>& network, const char* layer) {
  BenchItem item;
  item.from = network;
  item.op = ForwardOf(*network, layer);
  item.launch = LaunchOf(network->step.ops[static_cast<std::size_t>(item.op)]);
  item.launch.algorithm = 0;
  item.launch.workspace = kUsualWorkspace;
  return item;
}

// ---- copies

constexpr Bytes kLeast = 64 * kKiB, kMost = kGiB, kFactor = 4, kQuickMost = 64 * kMiB, kQuickFactor = 16;

void AddPeerCopies(int from, int to, const char* kind, bool quick, std::vector<BenchItem>* items) {
  for (Bytes bytes = kLeast; bytes <= (quick ? kQuickMost : kMost); bytes *= quick ? kQuickFactor : kFactor) {
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

std::vector<BenchItem> CudaFusedItems() {
  std::vector<BenchItem> items;
  for (const Chosen& chosen : Convolutions()) {
    const auto network =
        MakeBenchNetwork(chosen.network, BuildZooNetwork(chosen.network, {.batch = chosen.batch}), StepOptions{});
    for (const char* layer : chosen.layers) items.push_back(FusedItem(network, layer));
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
  const std::vector<BenchItem> fused = CudaFusedItems();
  beyond.items.insert(beyond.items.end(), fused.begin(), fused.end());
  return beyond;
}

}  // namespace spillway
