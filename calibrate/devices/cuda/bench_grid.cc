#include <array>

#include "calibrate/devices/cuda/bench_plan.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

using Networks = std::vector<std::shared_ptr<const BenchNetwork>>;

// Up to the first 0.
template <std::size_t kMost>
using Batches = std::array<std::int64_t, kMost>;

struct ZooBatches {
  const char* network;
  Batches<3> batches;  // the usual one first
};
// The deeper VGGs have no launch that VGG-16 lacks, and at a batch of ResNet-50's the deeper ResNets have none that it
// lacks.
constexpr ZooBatches kZoo[] = {
    // Validated (scenarios/validate-cuda-*.yaml).
    {"vgg16", {32, 64, 128}},
    {"alexnet", {256, 128, 512}},
    {"resnet50", {128, 32, 256}},
    // The rest, what takes longest and what is small last.
    {"overfeat", {128, 64, 256}},
    {"resnet18", {128, 64, 256}},
    {"resnet34", {128, 64, 256}},
    {"resnet101", {64, 32, 128}},
    {"resnet152", {32, 64, 128}},
    {"googlenet", {128, 64, 256}},
    {"googlenet-bn", {128, 64, 384}},
    {"inception-v4", {32, 64, 128}},
    {"resnext101-3d-usual", {16, 8, 32}},
    {"densenet121", {64, 32, 128}},
    {"cifar-resnet20", {128, 32, 1024}},
    {"cifar-vgg", {128, 32, 1024}},
    {"cifar-alexnet", {128, 32, 1024}},
    {"resnext101-3d", {1}},
};

struct ZooBatch {
  const char* network;
  std::int64_t batch;
};
// PoocH's ResNet-50 and AlexNet; VGG-16 as vDNN, ooc_cuDNN and tvDNN train it. At a batch of 1024 it has tensors of
// more than 2^31 elements, which the device refuses.
constexpr ZooBatch kPublished[] = {
    {"resnet50", 512}, {"vgg16", 256},    {"alexnet", 2432}, {"resnet50", 384},
    {"resnet50", 640}, {"alexnet", 2688}, {"vgg16", 512},
};

struct Convolution {
  std::int64_t channels, height, width, out;
  std::int64_t window_h, window_w, pad, stride;
  Batches<4> batches;
};

// DeepBench (Baidu Research, github.com/baidu-research/DeepBench): what it trains with, each problem once.
constexpr Convolution kConvolutions[] = {
    // Speech.
    {1, 161, 700, 32, 5, 20, 0, 2, {4, 8, 16, 32}},
    {32, 79, 341, 32, 5, 10, 0, 2, {4, 8, 16, 32}},
    // Lines of text.
    {1, 48, 480, 16, 3, 3, 1, 1, {16}},
    {16, 24, 240, 32, 3, 3, 1, 1, {16}},
    {32, 12, 120, 64, 3, 3, 1, 1, {16}},
    {64, 6, 60, 128, 3, 3, 1, 1, {16}},
    // Faces.
    {3, 108, 108, 64, 3, 3, 1, 2, {8}},
    {64, 54, 54, 64, 3, 3, 1, 1, {8}},
    {128, 27, 27, 128, 3, 3, 1, 1, {8}},
    {128, 14, 14, 256, 3, 3, 1, 1, {8}},
    {256, 7, 7, 512, 3, 3, 1, 1, {8}},
    // Images, as VGG has them.
    {3, 224, 224, 64, 3, 3, 1, 1, {8, 16}},
    {64, 112, 112, 128, 3, 3, 1, 1, {8, 16}},
    {128, 56, 56, 256, 3, 3, 1, 1, {8, 16}},
    {256, 28, 28, 512, 3, 3, 1, 1, {8, 16}},
    {512, 14, 14, 512, 3, 3, 1, 1, {8, 16}},
    {512, 7, 7, 512, 3, 3, 1, 1, {8, 16}},
    // As GoogLeNet has them.
    {3, 224, 224, 64, 7, 7, 3, 2, {16}},
    {192, 28, 28, 32, 5, 5, 2, 1, {16}},
    {192, 28, 28, 64, 1, 1, 0, 1, {16}},
    {512, 14, 14, 48, 5, 5, 2, 1, {16}},
    {512, 14, 14, 192, 1, 1, 0, 1, {16}},
    {832, 7, 7, 256, 1, 1, 0, 1, {16}},
    {832, 7, 7, 128, 5, 5, 2, 1, {16}},
    // Faces, by a residual network.
    {64, 56, 56, 64, 3, 3, 1, 1, {8, 16}},
    {64, 56, 56, 256, 1, 1, 0, 2, {8, 16}},
    {128, 28, 28, 128, 3, 3, 1, 1, {8, 16}},
    {128, 28, 28, 512, 1, 1, 0, 2, {8, 16}},
    {256, 14, 14, 256, 1, 1, 0, 1, {8, 16}},
    {256, 14, 14, 256, 3, 3, 1, 1, {8, 16}},
    {256, 14, 14, 1024, 1, 1, 0, 2, {8, 16}},
    {512, 7, 7, 512, 1, 1, 0, 1, {8, 16}},
    {2048, 7, 7, 512, 1, 1, 3, 2, {8, 16}},
    // Speakers.
    {1, 161, 700, 64, 5, 5, 1, 2, {16}},
    {64, 80, 350, 64, 3, 3, 1, 1, {16}},
    {64, 80, 350, 128, 5, 5, 1, 2, {16}},
    {128, 40, 175, 128, 3, 3, 1, 1, {16}},
    {128, 40, 175, 256, 5, 5, 1, 2, {16}},
    {256, 20, 84, 256, 3, 3, 1, 1, {16}},
    {256, 20, 84, 512, 5, 5, 1, 2, {16}},
    {512, 10, 42, 512, 3, 3, 1, 1, {16}},
    // ResNet-50.
    {64, 112, 112, 64, 1, 1, 0, 1, {8, 16}},
    {64, 56, 56, 256, 1, 1, 0, 1, {8, 16}},
    {256, 56, 56, 64, 1, 1, 0, 1, {8, 16}},
    {256, 56, 56, 128, 1, 1, 0, 2, {8, 16}},
    {128, 28, 28, 512, 1, 1, 0, 1, {8, 16}},
    {512, 28, 28, 128, 1, 1, 0, 1, {8, 16}},
    {512, 28, 28, 256, 1, 1, 0, 2, {8, 16}},
    {512, 28, 28, 1024, 1, 1, 0, 2, {8, 16}},
    {256, 14, 14, 1024, 1, 1, 0, 1, {8, 16}},
    {1024, 14, 14, 256, 1, 1, 0, 1, {8, 16}},
    {1024, 14, 14, 512, 1, 1, 0, 2, {8, 16}},
    {1024, 14, 14, 2048, 1, 1, 0, 2, {8, 16}},
    {512, 7, 7, 2048, 1, 1, 0, 1, {8, 16}},
    {2048, 7, 7, 512, 1, 1, 0, 1, {8, 16}},
};

// Elsewhere windows of 7x7 come first in their networks, where nobody wants the data gradient.
constexpr Convolution kWideWindow = {48, 112, 112, 96, 7, 7, 3, 2, {48}};

// A linear layer there and one back: `in` features become `out`, and `in` again.
struct Product {
  std::int64_t in, out;
  Batches<7> batches;
};

// DeepBench's products by columns, C (m x n) = op(A) (m x k) op(B) (k x n): T,N is the forward pass of a layer from k
// to m features at a batch of n, N,N the data gradient of one from m to k: there and back. N,T is the filter gradient
// of one from m to n at a batch of k.
constexpr Product kProducts[] = {
    // T,N and N,N; of 512 at batches of 16 and 32 N,N alone.
    {1760, 1760, {16, 32, 64, 128, 7000}},
    {2048, 2048, {16, 32, 64, 128, 7000}},
    {2560, 2560, {16, 32, 64, 128, 7000}},
    {4096, 4096, {16, 32, 64, 128, 7000}},
    {1760, 5124, {9124}},
    {2048, 5124, {9124}},
    {2560, 5124, {9124}},
    {4096, 5124, {9124}},
    {1760, 35, {8457}},
    {2048, 35, {8457}},
    {2560, 35, {8457}},
    {4096, 35, {8457}},
    {1024, 3072, {16, 32, 64, 128, 24000, 48000}},
    {1536, 4608, {16, 32, 24000, 48000}},
    {2048, 6144, {16, 32, 24000, 48000}},
    {2560, 7680, {16, 32, 64, 128, 24000, 48000}},
    {2816, 8448, {16, 32, 24000, 48000}},
    {500000, 512, {8, 16}},
    {500000, 1024, {8, 16}},
    {512, 512, {16, 32}},
    {512, 1024, {16, 32, 700}},
    {1536, 512, {24000, 48000}},
    {2048, 512, {24000, 48000}},
    {2560, 512, {24000, 48000}},
    {2816, 512, {24000, 48000}},
    {1536, 1024, {24000, 48000}},
    {2048, 1024, {24000, 48000}},
    {2560, 1024, {24000, 48000}},
    {2816, 1024, {24000, 48000}},
    // N,T.
    {1760, 7133, {1760}},
    {2048, 7133, {2048}},
    {2560, 7133, {2560}},
    {4096, 7133, {4096}},
    {3072, 7435, {1024}},
    {7680, 5481, {2560}},
    {512, 16, {512}},
    {512, 32, {512}},
    {1024, 16, {512}},
    {1024, 32, {512}},
};

void AddZoo(const char* network, std::int64_t batch, Networks* grid) {
  grid->push_back(MakeBenchNetwork(network, BuildZooNetwork(network, {.batch = batch}), StepOptions{}));
}

LayerAttributes AttributesOf(const Convolution& c) {
  LayerAttributes attributes = Square(c.out, c.window_h, c.stride, c.pad);
  attributes.window[2] = c.window_w;
  return attributes;
}

// A network has it first where it reads an image or a spectrogram. Elsewhere something must want its data gradient, and
// batch norm with ReLU costs little and leaves it the zeros that it is used to.
Network BuildAround(const Convolution& convolution, const char* name, std::int64_t batch) {
  constexpr std::int64_t kMostOfInput = 3, kOutputs = 1000;
  const Convolution& c = convolution;
  NetworkBuilder b(name, {.n = batch, .c = c.channels, .h = c.height, .w = c.width});
  LayerId x = kNetworkInput;
  if (c.channels > kMostOfInput) x = b.Relu("relu_before", b.BatchNorm("norm", x));
  // DeepBench pads a window of 1x1 by 3, at stride 2, which is a mistake in a network of a user's and refused. The
  // image keeps its size, as by the window alone: shapes are inferred from that, and the call is as listed.
  const bool beyond = c.pad >= c.window_h;
  const LayerId wanted = b.Convolution("wanted", x, beyond ? Square(c.out, c.window_h) : AttributesOf(c));
  x = b.GlobalAveragePool("pool", b.Relu("relu", wanted));
  Network network = b.Loss(b.Linear("classes", x, kOutputs));
  network.layers[static_cast<std::size_t>(wanted)].attributes = AttributesOf(c);
  return network;
}

Network BuildThereAndBack(const Product& product, std::int64_t batch) {
  NetworkBuilder b("deepbench", {.n = batch, .c = product.in});
  const LayerId there = b.Add("there", "linear", {kNetworkInput}, {.out_channels = product.out});
  return b.Loss(b.Add("back", "linear", {b.Relu("relu", there)}, {.out_channels = product.in}));
}

void AddConvolution(const Convolution& convolution, const char* name, Networks* grid) {
  for (const std::int64_t batch : convolution.batches) {
    if (batch == 0) break;
    grid->push_back(MakeBenchNetwork(name, BuildAround(convolution, name, batch), StepOptions{}));
  }
}

void AddProduct(const Product& product, Networks* grid) {
  for (const std::int64_t batch : product.batches) {
    if (batch == 0) break;
    grid->push_back(MakeBenchNetwork("deepbench", BuildThereAndBack(product, batch), StepOptions{}));
  }
}

}  // namespace

Networks CudaBenchGrid() {
  Networks grid;
  for (std::size_t k = 0; k < kZoo[0].batches.size(); ++k) {
    for (const ZooBatches& entry : kZoo) {
      if (entry.batches[k] > 0) AddZoo(entry.network, entry.batches[k], &grid);
    }
  }
  for (const Convolution& convolution : kConvolutions) AddConvolution(convolution, "deepbench", &grid);
  for (const Product& product : kProducts) AddProduct(product, &grid);
  AddConvolution(kWideWindow, "grid", &grid);
  for (const ZooBatch& entry : kPublished) AddZoo(entry.network, entry.batch, &grid);
  return grid;
}

}  // namespace spillway
