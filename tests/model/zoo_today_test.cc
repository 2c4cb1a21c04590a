// Networks of today: parameters as published, and what PyTorch saves for their backward passes, to 0.01 MB.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/saved_bytes.h"

namespace spillway {
namespace {

// Megabytes an image at batch 2, fp32, with the image, by hooks on saved tensors: PyTorch 1.13.1 with torchvision 0.14.1, and
// 2.15.0 with 0.29.2.
// Left out here: the loss's total weight, 4 bytes. PyTorch 2 was looked at on a processor, where dropout's mask is of numbers;
// `torch-2` has a GPU's, of type bool: less by up to 0.006 MB.
struct SavedRow {
  const char* network;
  std::int64_t image;
  double torch_1_13, torch_2;  // 0: not measured
};

double SavedMegabytes(const SavedRow& row, const char* options) {
  const Network network = BuildZooNetwork(row.network, {.batch = 2, .image = row.image});
  return static_cast<double>(SavedBytes(BuildTrainingStep(network, StepOptionsByName(options)))) / 2e6;
}

}  // namespace

TEST_CASE("parameters of today's networks are the published ones") {
  const std::vector<std::pair<const char*, std::int64_t>> counts{
      {"resnet50-v1.5", 25557032},     {"mobilenet-v2", 3504872},     {"mobilenet-v3-small", 2542856},
      {"mobilenet-v3-large", 5483032}, {"efficientnet-b0", 5288548},  {"efficientnet-b1", 7794184},
      {"efficientnet-b2", 9109994},    {"efficientnet-b3", 12233232}, {"efficientnet-b4", 19341616},
      {"efficientnet-b5", 30389784},   {"efficientnet-b6", 43040704}, {"efficientnet-b7", 66347960},
      {"regnety-400m", 4344144},       {"regnety-800m", 6432512},     {"regnety-1.6g", 11202430},
      {"regnety-3.2g", 19436338},      {"regnety-8g", 39381472},      {"regnety-16g", 83590140},
      {"regnety-32g", 145046770},      {"regnety-128g", 644812894},   {"convnext-t", 28589128},
      {"convnext-b", 88591464}};
  for (const auto& [name, count] : counts) {
    INFO(name);
    CHECK(CountParameters(BuildZooNetwork(name, {})) == count);
  }
}

TEST_CASE("saved bytes of today's networks are PyTorch's") {
  const std::vector<SavedRow> rows{{"resnet50-v1.5", 224, 86.02, 86.02},   {"convnext-t", 224, 109.31, 109.16},
                                   {"mobilenet-v2", 224, 78.53, 78.28},    {"mobilenet-v3-large", 224, 44.35, 44.17},
                                   {"efficientnet-b0", 224, 88.53, 88.28}, {"efficientnet-b4", 380, 654.79, 0},
                                   {"regnety-3.2g", 224, 99.87, 99.87},    {"densenet121", 224, 130.53, 130.53}};
  for (const SavedRow& row : rows) {
    INFO(row.network);
    CHECK(std::abs(SavedMegabytes(row, "torch-1.13") - row.torch_1_13) < 0.01);
    if (row.torch_2 > 0) CHECK(std::abs(SavedMegabytes(row, "torch-2") - row.torch_2) < 0.01);
  }
}

}  // namespace spillway
