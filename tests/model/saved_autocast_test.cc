// What backward keeps under autocast to bf16, against hooks on saved tensors of PyTorch 2.15 on a processor: copies of
// weights are in it. Every difference is accounted for, to 0.01 MB.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/network/precision.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/saved_bytes.h"

namespace spillway {
namespace {

// A processor's autocast leaves norms in the type that comes; a GPU's, which is ours, computes them wide.
void LeaveNormsAsTheyCome(Network& network) {
  static const LayerKind layer_norm = [] {
    LayerKind kind = kLayerNormLayer;
    kind.autocast = AutocastTo::kInput;
    return kind;
  }();
  static const LayerKind group_norm = [] {
    LayerKind kind = kGroupNormLayer;
    kind.autocast = AutocastTo::kInput;
    return kind;
  }();
  for (Layer& layer : network.layers) {
    if (layer.kind == &kLayerNormLayer) layer.kind = &layer_norm;
    if (layer.kind == &kGroupNormLayer) layer.kind = &group_norm;
  }
}

// PyTorch's convolutions keep their weight even where nobody wants the gradient of their input.
Bytes WeightsOfFirstConvolutions(const Network& network) {
  Bytes sum = 0;
  for (const Layer& layer : network.layers) {
    if (layer.kind != &kConvolutionLayer || layer.inputs[0] != kNetworkInput) continue;
    sum += LayerParameters(network, layer)[0].shape.Elements() * SizeOf(DataType::kBf16);
  }
  return sum;
}

// The hooks were on tensors without contents, whose statistics have the type of what a norm reads; those of real ones are
// single precision.
Bytes HalfOfStatistics(const TrainingStep& step) {
  Bytes sum = 0;
  for (const Op& op : step.ops) {
    const bool norm = op.kind == OpKind::kGroupNorm || op.kind == OpKind::kLayerNorm;
    if (!norm || op.pass != Pass::kForward || op.type == DataType::kFp32) continue;
    for (std::size_t k = 1; k < op.writes.size() && k < 3; ++k) {
      sum += step.tensors[static_cast<std::size_t>(op.writes[k])].bytes / 2;
    }
  }
  return sum;
}

struct Row {
  const char* network;
  std::int64_t batch, image;
  double megabytes;  // an image
  bool alone;        // without the loss
  Bytes more;        // that PyTorch keeps beside, for reasons of its own
};

// All of the last map is cast before its first position is taken; PyTorch casts that position alone.
constexpr Bytes kPositionsCast = Bytes{2} * 2 * 768 * 196;
// MONAI's copies of its tables of places, and scaled queries beside the packed ones where a volume is one window.
constexpr Bytes PlacesOf(Bytes positions, int blocks) { return 8 * positions * positions * blocks; }
constexpr Bytes SingleWindow(Bytes positions) { return Bytes{2} * 2 * 384 * positions; }

double KeptMegabytes(const Row& row) {
  Network network = BuildZooNetwork(row.network, {.batch = row.batch, .image = row.image});
  const Bytes weights = WeightsOfFirstConvolutions(network);
  LeaveNormsAsTheyCome(network);
  ApplyPrecision(network, PrecisionByName("amp-bf16"));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  Bytes sum = SavedBytes(step) + weights - HalfOfStatistics(step) + row.more;
  for (const TensorId t : SavedTensorsOf(step)) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
    if (row.alone && tensor.name.starts_with("loss")) sum -= tensor.bytes;
  }
  return static_cast<double>(sum) / 1e6 / static_cast<double>(row.batch);
}

}  // namespace

TEST_CASE("what is kept under autocast is what PyTorch keeps, but for known causes") {
  const std::vector<Row> rows{
      {"swin-t", 2, 224, 90.28, false, 0},
      {"vit-b16", 2, 224, 152.72, false, -kPositionsCast},
      {"nnunet-3d", 1, 128, 1852.62, true, 0},
      {"nnunet-3d-5", 1, 64, 256.61, true, 0},
      {"nnunet-3d-5", 1, 96, 787.45, true, 0},
      {"swin-unetr", 1, 64, 1550.15, true, PlacesOf(343, 6) + PlacesOf(64, 2) + SingleWindow(64)},
      {"swin-unetr", 1, 96, 3979.41, true, PlacesOf(343, 6) + PlacesOf(216, 2) + SingleWindow(216)},
      {"swin-unetr", 1, 128, 10267.16, true, PlacesOf(343, 8)},
      {"stable-diffusion-unet", 1, 64, 2619.19, false, 0}};
  for (const Row& row : rows) {
    INFO(row.network << ' ' << row.image);
    CHECK(KeptMegabytes(row) == Approx(row.megabytes).epsilon(0).margin(0.01));
  }
}

// The type of the scores: products narrow, the softmax wide, its result in both.
TEST_CASE("attention written out under autocast normalises wide and keeps both types") {
  Network network = BuildZooNetwork("swin-t", {.batch = 1});
  ApplyPrecision(network, PrecisionByName("amp-bf16"));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  std::vector<std::string> found;
  for (const Tensor& tensor : step.tensors) {
    const std::string prefix = "stage1_1_attention:";
    const std::string inner = tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size()) : "";
    if (inner == "scores" || inner == "biased" || inner == "probabilities" || inner == "narrow") {
      found.push_back(inner + " " + DataTypeName(tensor.type) + " " + TensorClassName(tensor.use));
    }
  }
  CHECK(found == std::vector<std::string>{"scores bf16 transient", "biased fp32 transient",
                                          "probabilities fp32 feature_map", "narrow bf16 feature_map"});
}

}  // namespace spillway
