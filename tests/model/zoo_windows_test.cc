// Swin transformers, SwinUNETR and a diffusion U-Net: parameters as published, and what PyTorch saves for their backward
// passes. By hooks on saved tensors of PyTorch 2.15.0, fp32.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/saved_bytes.h"

namespace spillway {
namespace {

// Without what the loss saves where `alone`.
double SavedMegabytes(const Network& network, bool alone) {
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  double sum = 0;
  for (const TensorId t : SavedTensorsOf(step)) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
    if (!alone || !tensor.name.starts_with("loss")) sum += static_cast<double>(tensor.bytes) / 1e6;
  }
  return sum;
}

std::int64_t ParametersOf(const Network& network, const std::string& prefix) {
  std::int64_t count = 0;
  for (const Layer& layer : network.layers) {
    if (!layer.name.starts_with(prefix)) continue;
    for (const ParameterShape& p : LayerParameters(network, layer)) count += p.shape.Elements();
  }
  return count;
}

}  // namespace

TEST_CASE("parameters of networks of windows are the published ones") {
  struct Row {
    const char* network;
    std::int64_t classes, parameters;
  };
  for (const Row& row : {Row{"swin-t", 0, 28288354}, Row{"swin-b", 0, 87768224}, Row{"swin-unetr-24", 0, 15703304},
                         Row{"swin-unetr-12", 0, 4078220}, Row{"swin-unetr", 0, 62187296}}) {
    INFO(row.network);
    CHECK(CountParameters(BuildZooNetwork(row.network, {.classes = row.classes})) == row.parameters);
  }
}

TEST_CASE("parameters of SwinUNETR of four channels and three classes are the published ones") {
  Network network = BuildZooNetwork("swin-unetr", {.classes = 3});
  network.input.c = 4;
  InferShapes(network);
  CHECK(CountParameters(network) == 62191941);
}

TEST_CASE("a window larger than the image is padded to by torchvision, clipped by MONAI") {
  CHECK(CountParameters(BuildZooNetwork("swin-t", {.image = 64})) == 28288354);
  CHECK(CountParameters(BuildZooNetwork("swin-unetr", {.image = 64})) == 62187296);
}

TEST_CASE("saved bytes of Swin-T are PyTorch's") {
  CHECK(SavedMegabytes(BuildZooNetwork("swin-t", {.batch = 2}), false) / 2 == Approx(106.64).margin(0.01));
}

// MONAI copies each block's table of places, int64, and that copy is kept. Where a volume is one window, its packed queries,
// keys and values are kept as they are, and the scaled queries beside them.
TEST_CASE("what SwinUNETR saves differs from PyTorch's by what is known of it") {
  struct Row {
    std::int64_t image;
    double megabytes;
    std::vector<std::int64_t> positions;  // of a window, by stage
    std::int64_t single;                  // positions of the last stage, if it is one window
  };
  for (const Row& row : {Row{64, 1651.54, {343, 343, 343, 64}, 64}, Row{96, 4839.08, {343, 343, 343, 216}, 216},
                         Row{128, 12231.92, {343, 343, 343, 343}, 0}}) {
    INFO(row.image);
    double more = 0;
    for (const std::int64_t n : row.positions) more += 2 * 8 * static_cast<double>(n * n) / 1e6;
    more += 2 * 4 * 384 * static_cast<double>(row.single) / 1e6;
    CHECK(SavedMegabytes(BuildZooNetwork("swin-unetr", {.image = row.image}), true) + more ==
          Approx(row.megabytes).margin(0.01));
  }
}

// Parts as CompVis's code counts them.
TEST_CASE("parameters of the diffusion U-Net are the published ones, part by part") {
  const Network network = BuildZooNetwork("stable-diffusion-unet", {});
  CHECK(CountParameters(network) == 859520964);
  for (const auto& [part, count] : std::vector<std::pair<const char*, std::int64_t>>{
           {"time", 2050560}, {"middle", 97038080}, {"up", 510795840}, {"head", 12164}, {"down", 249624320 - 11840}}) {
    INFO(part);
    CHECK(ParametersOf(network, part) == count);
  }
}

// Recorded with a noise of its own, and with the latents taken for the noise, which are kept as they are.
TEST_CASE("saved bytes of the diffusion U-Net are PyTorch's") {
  const double noise = 4 * 4 * 64 * 64 / 1e6;
  const Network network = BuildZooNetwork("stable-diffusion-unet", {});
  CHECK(SavedMegabytes(network, false) == Approx(1871.20).epsilon(0).margin(0.01));
  CHECK(SavedMegabytes(network, false) - noise == Approx(1871.14).epsilon(0).margin(0.01));
}

}  // namespace spillway
