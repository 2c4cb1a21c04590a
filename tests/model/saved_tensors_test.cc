// What backward saves, by framework and version: the rows of model/unroll/saved_tensors.h, layer by layer.
#include "model/unroll/saved_tensors.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "model/network/precision.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "tests/saved_bytes.h"

namespace spillway {
namespace {

constexpr Shape kImage{.n = 2, .c = 4, .h = 8, .w = 8};

// before (convolution) -> layer -> fc -> loss: bytes of what is saved, by tensor.
std::map<std::string, Bytes> SavedAround(const char* kind, const LayerAttributes& attributes, const char* options,
                                         const char* precision = "fp32") {
  NetworkBuilder b("around", kImage);
  const LayerId layer = b.Add("layer", kind, {b.Convolution("before", kNetworkInput, Square(4, 1))}, attributes);
  const LayerId mean = b.AveragePool("mean", b.Add("behind", "add", {layer, layer}), Square(0, 1, 1));
  Network network = b.Loss(b.Linear("fc", mean, 3));
  ApplyPrecision(network, PrecisionByName(precision));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName(options));
  std::map<std::string, Bytes> saved;
  for (const TensorId t : SavedTensorsOf(step)) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
    saved[tensor.name] = tensor.bytes;
  }
  return saved;
}

}  // namespace

TEST_CASE("rows of saved tensors have names of their own, and the options that name them") {
  for (const SavedTensors& row : kSavedTensors) {
    const auto same = [&](const SavedTensors& other) { return std::string(other.name) == row.name; };
    CHECK(std::count_if(kSavedTensors.begin(), kSavedTensors.end(), same) == 1);
  }
  CHECK(std::string(StepOptionsByName("torch-1.13").saved->name) == "torch-1.13");
  CHECK(std::string(StepOptionsByName("torch-2").saved->name) == "torch-2");
  CHECK(StepOptionsByName("torch").saved == &kSavedByArithmetic);
}

TEST_CASE("max pooling keeps int64 places in PyTorch, the result elsewhere") {
  const auto plain = SavedAround("max_pool", Square(0, 2, 2), "torch");
  CHECK(plain.at("before") == 2 * 4 * 64 * 4);
  CHECK(plain.at("layer") == 2 * 4 * 16 * 4);
  CHECK(plain.count("layer:indices") == 0);
  for (const char* options : {"torch-1.13", "torch-2"}) {
    const auto saved = SavedAround("max_pool", Square(0, 2, 2), options);
    CHECK(saved.at("before") == 2 * 4 * 64 * 4);
    CHECK(saved.count("layer") == 0);
    CHECK(saved.at("layer:indices") == 2 * 4 * 16 * 8);
  }
}

TEST_CASE("average pooling keeps its input in PyTorch, over the whole image in 1.13 alone") {
  LayerAttributes global;
  global.global = true;
  CHECK(SavedAround("average_pool", Square(0, 2, 2), "torch").count("before") == 0);
  CHECK(SavedAround("average_pool", Square(0, 2, 2), "torch-1.13").count("before") == 1);
  CHECK(SavedAround("average_pool", Square(0, 2, 2), "torch-2").count("before") == 1);
  CHECK(SavedAround("average_pool", global, "torch-1.13").count("before") == 1);
  CHECK(SavedAround("average_pool", global, "torch-2").count("before") == 0);
}

TEST_CASE("dropout's mask, instance norm's vectors, the loss's labels") {
  CHECK(SavedAround("dropout", {}, "torch").at("layer:mask") == 2 * 4 * 64);
  CHECK(SavedAround("dropout", {}, "torch-2").at("layer:mask") == 2 * 4 * 64);
  CHECK(SavedAround("dropout", {}, "torch-1.13").at("layer:mask") == 2 * 4 * 64 * 4);
  // 1.13 multiplies by a mask of the input's type: two bytes for each bfloat16 (hooks on saved tensors, a processor).
  CHECK(SavedAround("dropout", {}, "torch-1.13", "bf16").at("layer:mask") == 2 * 4 * 64 * 2);
  CHECK(SavedAround("dropout", {}, "torch-2", "bf16").at("layer:mask") == 2 * 4 * 64);
  for (const char* vector : {"layer:mean", "layer:inverse_deviation"}) {
    CHECK(SavedAround("instance_norm", {}, "torch").at(vector) == 2 * 4 * 4);
    CHECK(SavedAround("group_norm", {.norm_groups = 2}, "torch-2").at(vector) == 2 * 2 * 4);
    CHECK(SavedAround("layer_norm", {}, "torch-2").at(vector) == 2 * 64 * 4);
  }
  CHECK(SavedAround("instance_norm", {}, "torch-2").at("layer:repeated_scale") == 2 * 4 * 4);
  CHECK(SavedAround("instance_norm", {}, "torch").count("layer:repeated_scale") == 0);
  CHECK(SavedAround("group_norm", {.norm_groups = 2}, "torch-2").count("layer:repeated_scale") == 0);
  CHECK(SavedAround("rms_norm", {}, "torch-2").count("layer:mean") == 0);
  CHECK(SavedAround("relu", {}, "torch-2").at("loss:labels") == 2 * 8);
  CHECK(SavedAround("relu", {}, "torch").count("loss:labels") == 0);
}

// Dispatch of F.cross_entropy in 1.13 and 2.15: nll_loss_backward makes a tensor that _log_softmax_backward_data reads, in the
// type of the log-probabilities: fp32 under autocast, bf16 of a network in bf16.
TEST_CASE("backward of PyTorch's cross-entropy makes the gradient of the log-probabilities beside the scores'") {
  const auto written = [](const char* options, const char* precision, double smoothing) {
    NetworkBuilder b("scores", kImage);
    LayerAttributes loss;
    loss.smoothing = smoothing;
    b.Add("loss", "softmax_loss", {b.Linear("fc", kNetworkInput, 3)}, loss);
    Network network = b.Finish();
    ApplyPrecision(network, PrecisionByName(precision));
    const TrainingStep step = BuildTrainingStep(network, StepOptionsByName(options));
    const Op& backward = step.ops[static_cast<std::size_t>(step.first_backward)];
    REQUIRE(backward.name == "loss:backward");
    std::vector<Bytes> bytes;
    for (const TensorId t : backward.writes) bytes.push_back(step.tensors[static_cast<std::size_t>(t)].bytes);
    for (std::size_t k = 1; k < backward.writes.size(); ++k) {
      for (const Op& op : step.ops) CHECK(std::count(op.reads.begin(), op.reads.end(), backward.writes[k]) == 0);
    }
    return bytes;
  };
  for (const double smoothing : {0.0, 0.1}) {
    for (const char* options : {"plain", "chainer", "torch", "mxnet"}) {
      CHECK(written(options, "fp32", smoothing) == std::vector<Bytes>{2 * 3 * 4});
    }
    for (const char* options : {"torch-1.13", "torch-2"}) {
      CHECK(written(options, "fp32", smoothing) == std::vector<Bytes>{2 * 3 * 4, 2 * 3 * 4});
      CHECK(written(options, "amp-bf16", smoothing) == std::vector<Bytes>{2 * 3 * 4, 2 * 3 * 4});
      CHECK(written(options, "bf16", smoothing) == std::vector<Bytes>{2 * 3 * 2, 2 * 3 * 2});
    }
  }
}

TEST_CASE("leaky ReLU keeps its input, or its result where it works in place") {
  CHECK(SavedAround("leaky_relu", {}, "plain").count("before") == 1);
  CHECK(SavedAround("leaky_relu", {}, "plain").count("layer") == 0);
  // In place both are the tensor that the convolution made.
  const auto in_place = SavedAround("leaky_relu", {}, "torch");
  CHECK(in_place.count("before") == 1);
  CHECK(in_place.count("layer") == 0);
  NetworkBuilder b("twice", kImage);
  const LayerId x = b.Convolution("conv", kNetworkInput, Square(4, 1));
  const LayerId y = b.Add("leaky", "leaky_relu", {x});
  const TrainingStep step =
      BuildTrainingStep(b.Loss(b.Linear("fc", b.AddUp("sum", {x, y}), 3)), StepOptionsByName("torch"));
  for (const Op& op : step.ops) {
    if (op.kind == OpKind::kActivation) CHECK_FALSE(op.details.from_result);  // `conv` has another reader
  }
}

}  // namespace spillway
