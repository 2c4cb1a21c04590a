#include "calibrate/cuda/bench_plan.h"

#include <algorithm>

#include "calibrate/cuda/bench_host.h"
#include "calibrate/cuda/bench_touch.h"
#include "model/network_builder.h"

namespace spillway {
namespace {

struct Batch {
  const char* network;
  std::int64_t batch;
};
// In the order in which each adds what is lacked most.
constexpr Batch kBatches[] = {{"vgg16", 32},    {"alexnet", 256}, {"resnet50", 128}, {"vgg16", 64},
                              {"alexnet", 128}, {"resnet50", 32}, {"alexnet", 512},  {"vgg16", 128}};

// One convolution between two others, as in calibrate/bench/grid.cc, with height and width of their own.
struct Chain {
  std::int64_t batch, height, width, in, out;
  std::int64_t window_h, window_w, stride, pad_h, pad_w;
  std::int64_t hidden;
};
constexpr Chain kChains[] = {
    // Spectrograms.
    {16, 350, 80, 32, 32, 5, 10, 2, 0, 0, 0},
    {32, 180, 40, 32, 64, 5, 10, 2, 2, 4, 0},
    // Lines of text.
    {16, 48, 480, 16, 32, 3, 3, 1, 1, 1, 0},
    {16, 24, 240, 32, 64, 3, 3, 1, 1, 1, 0},
    {16, 12, 120, 64, 128, 3, 3, 1, 1, 1, 512},
    // Faces, and images of other sizes than 224.
    {8, 108, 108, 32, 64, 3, 3, 2, 1, 1, 0},
    {8, 54, 54, 64, 96, 3, 3, 1, 1, 1, 1024},
    {64, 36, 36, 96, 160, 3, 3, 1, 1, 1, 0},
    {160, 18, 18, 160, 224, 3, 3, 1, 1, 1, 0},
    // Wide windows, and products in disguise.
    {16, 28, 28, 192, 32, 5, 5, 1, 2, 2, 0},
    {16, 14, 14, 512, 48, 5, 5, 1, 2, 2, 0},
    {96, 14, 14, 512, 192, 1, 1, 1, 0, 0, 0},
    {16, 7, 7, 832, 256, 1, 1, 1, 0, 0, 2560},
    {48, 112, 112, 48, 96, 7, 7, 2, 3, 3, 0},
};

Network BuildChain(const Chain& chain) {
  NetworkBuilder b("grid", {.n = chain.batch, .c = 3, .h = chain.height, .w = chain.width});
  // The convolution behind it wants a gradient for its input: a first layer would have none.
  const LayerId first = b.ConvolutionRelu("first", kNetworkInput, Square(chain.in, 3, 1, 1));
  LayerAttributes attributes = Square(chain.out, chain.window_h, chain.stride);
  attributes.window[2] = chain.window_w;
  attributes.pad = {0, chain.pad_h, chain.pad_w};
  LayerId x = b.Relu("relu", b.BatchNorm("norm", b.Convolution("wanted", first, attributes)));
  x = b.GlobalAveragePool("pool", x);
  if (chain.hidden > 0) x = b.Dropout("drop", b.Relu("hidden_relu", b.Linear("hidden", x, chain.hidden)), 0.5);
  return b.Loss(b.Linear("classes", x, 20 + chain.batch));
}

}  // namespace

BenchPlanOptions CudaPlanOptions(bool quick) {
  BenchPlanOptions options;
  options.quick = quick;
  const Bytes largest = quick ? 64 * kMiB : kGiB;
  options.copies = {{.memory = "pinned", .least = 256, .most = largest},
                    {.memory = "pageable", .least = 4 * kKiB, .most = largest, .both = false},
                    {.memory = "pitched",
                     .least = 256 * kKiB,
                     .most = 64 * kMiB,
                     .factor = 16,
                     .both = false,
                     .row_bytes = {224, 896, 3584}},
                    {.memory = "managed_prefetch", .least = 2 * kMiB, .most = largest, .both = false},
                    {.memory = "device", .least = 4 * kKiB, .most = largest, .both = false, .directions = {"d2d"}}};
  // Faults are slow: what they take is told by less than a GiB.
  options.copies.push_back(
      {.memory = kManagedTouch, .least = 512 * kKiB, .most = std::min(largest, 128 * kMiB), .both = false});
  options.host_calls = CudaHostCallNames();
  options.maths = {MathMode::kFp32, MathMode::kTf32};
  return options;
}

std::vector<std::string> CudaUsualNetworks() { return {"resnet50:64"}; }

std::vector<std::shared_ptr<const BenchNetwork>> CudaBenchGrid() {
  std::vector<std::shared_ptr<const BenchNetwork>> grid;
  for (const Batch& batch : kBatches) {
    grid.push_back(
        MakeBenchNetwork(batch.network, BuildZooNetwork(batch.network, {.batch = batch.batch}), StepOptions{}));
  }
  for (const Chain& chain : kChains) grid.push_back(MakeBenchNetwork("grid", BuildChain(chain), StepOptions{}));
  return grid;
}

}  // namespace spillway
