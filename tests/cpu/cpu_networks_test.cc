// Whole training steps on the CPU device: they learn, their gradients are those of the loss, and what is recomputed is
// what was computed.
#include <array>
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"
#include "tests/cpu_step_runner.h"
#include "tests/training_networks.h"
#include "tests/transformer_networks.h"
#include "tests/window_networks.h"

namespace spillway {
namespace {

struct Case {
  const char* name;
  Network (*build)();
  float learning_rate;  // less where dropout makes the gradients noisy
};
Network AlexNet() { return BuildZooNetwork("cifar-alexnet", {.batch = 2}); }
Network ResNet() { return BuildZooNetwork("cifar-resnet20", {.batch = 4, .image = 16}); }
const std::vector<Case> kCases = {{"everything", Everything, 0.001f},
                                  {"deep", Volume, 0.02f},
                                  {"unet", TinyUNet, 0.04f},
                                  {"unet-3d", TinyUNet3d, 0.02f},
                                  {"cifar-alexnet", AlexNet, 0.001f},
                                  {"cifar-resnet20", ResNet, 0.005f},
                                  {"gpt", TinyGpt, 0.02f},
                                  {"vit", TinyVit, 0.02f},
                                  {"llama", TinyLlama, 0.1f},
                                  {"bert", TinyBert, 0.02f},
                                  {"swin", TinySwin, 0.02f},
                                  {"swin-3d", TinySwin3d, 0.02f},
                                  {"shuffled", Shuffled, 0.02f},
                                  {"conditioned", Conditioned, 0.02f}};

StepOptions InPlaceGradients() {
  StepOptions options;
  options.name = "in-place gradients";
  options.inplace_gradient = options.inplace_relu = true;
  return options;
}

std::vector<StepOptions> AllOptions() {
  std::vector<StepOptions> all = StepOptionTable();
  std::erase_if(all, [](const StepOptions& options) { return options.inference; });  // compared are gradients
  all.push_back(InPlaceGradients());
  return all;
}

// All parameters' gradients by name.
std::vector<std::pair<std::string, Values>> Gradients(StepRunner& run) {
  run.Forward();
  run.Backward();
  std::vector<std::pair<std::string, Values>> gradients;
  for (std::size_t k = 0; k < run.step().tensors.size(); ++k) {
    const Tensor& tensor = run.step().tensors[k];
    const std::span<float> data = run.Data(static_cast<TensorId>(k));
    if (tensor.use == TensorClass::kParameterGradient) gradients.push_back({tensor.name, {data.begin(), data.end()}});
  }
  std::sort(gradients.begin(), gradients.end());
  return gradients;
}

double Norm(const Values& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("the network of everything has the ops that are easy to get wrong") {
  const Network network = Everything();
  const TrainingStep step = BuildTrainingStep(network);
  const auto call = [&](const std::string& name) {
    const auto found = std::find_if(step.ops.begin(), step.ops.end(), [&](const Op& op) { return op.name == name; });
    REQUIRE(found != step.ops.end());
    return CallOf(*found);
  };
  // Channels: right 8, raw 3, sum 8, left 8, left 8.
  const auto slices = [&](const std::string& name) {
    std::vector<std::array<std::int64_t, 3>> found;  // operand, first channel, channels
    for (const OpSlice& slice : call(name).details.slices) {
      found.push_back(
          {static_cast<std::int64_t>(slice.operand), slice.box.begin[kChannelAxis], slice.box.Size(kChannelAxis)});
    }
    return found;
  };
  using Slices = std::vector<std::array<std::int64_t, 3>>;
  CHECK(slices("all:forward") == Slices{{0, 0, 8}, {1, 8, 3}, {2, 11, 8}, {3, 19, 8}, {3, 27, 8}});
  CHECK(slices("all:backward") == Slices{{0, 11, 8}, {1, 19, 8}});  // sum, left
  CHECK(slices("all:backward0") == Slices{{0, 0, 8}});              // right: read by `late` too
  CHECK(slices("all:backward4") == Slices{{0, 27, 8}});             // left once more
  CHECK(call("all:backward").details.whole.c == 35);
  const Box sum = WholeOf(call("twice:forward").launch.shape.out);
  CHECK(call("twice:forward").details.slices == std::vector<OpSlice>{{0, sum}, {0, sum}});
  CHECK(call("drop:forward").details.dropout_rate == 0.3);
}

TEST_CASE("training lowers the loss") {
  const Case& test = GENERATE(from_range(kCases));
  for (const StepOptions& options : AllOptions()) {
    INFO(test.name << ' ' << options.name);
    StepRunner run(test.build(), options);
    run.learning_rate = test.learning_rate;
    const double before = run.LossOfForward();
    for (int i = 0; i < 10; ++i) {
      run.Forward();
      run.Backward();
      run.Update();
    }
    CHECK(run.iteration == 10);
    run.iteration = 0;  // the mask of the first loss
    const double after = run.LossOfForward();
    INFO("from " << before << " to " << after);
    CHECK(std::isfinite(before));
    CHECK(after < 0.9 * before);
    CHECK(run.BuffersIntact());
  }
}

TEST_CASE("gradients are slopes of the loss") {
  const Case& test = GENERATE(from_range(kCases));
  StepRunner run(test.build(), {});
  const auto gradients = Gradients(run);
  REQUIRE(!gradients.empty());
  std::size_t checked = 0;
  for (const auto& [name, gradient] : gradients) {
    const double length = Norm(gradient);
    const std::string parameter = name.substr(0, name.size() - std::string(":gradient").size());
    INFO(test.name << ' ' << parameter << ", gradient " << length);
    Values along = gradient, across(gradient.size(), 0.0f);
    for (float& value : along) value /= static_cast<float>(length);
    const auto steepest =
        std::max_element(gradient.begin(), gradient.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    const std::size_t element = static_cast<std::size_t>(steepest - gradient.begin());
    across[element] = 1;
    if (length < 1e-3) continue;  // lost in the loss's own rounding
    CHECK(Slope(run, parameter, along, 1e-3f) == Approx(length).epsilon(0.03).margin(1e-3));
    CHECK(Slope(run, parameter, across, 1e-3f) == Approx(gradient[element]).epsilon(0.05).margin(1e-3));
    ++checked;
  }
  CHECK(checked > gradients.size() / 2);
}

TEST_CASE("the frameworks' ways to order and share tensors give the same gradients") {
  const Case& test = GENERATE(from_range(kCases));
  StepRunner plain(test.build(), {});
  const auto expected = Gradients(plain);
  for (const StepOptions& options : AllOptions()) {
    StepRunner run(test.build(), options);
    const auto got = Gradients(run);
    CHECK(run.Loss() == Approx(plain.Loss()));
    REQUIRE(got.size() == expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      INFO(test.name << ' ' << options.name << ' ' << got[k].first);
      CHECK(got[k].first == expected[k].first);
      if (Norm(expected[k].second) > 1e-5) CHECK(Difference(got[k].second, expected[k].second) < 1e-3);
    }
  }
}

TEST_CASE("recomputing gives the same bits and repeats no side effect") {
  const Case& test = GENERATE(from_range(kCases));
  INFO(test.name);
  StepRunner run(test.build(), {});
  run.Forward();
  const std::vector<Values> statistics = run.running_statistics();
  std::vector<Values> maps;
  for (const TensorId id : run.step().maps) maps.emplace_back(run.Data(id).begin(), run.Data(id).end());
  for (const TensorId id : run.step().maps) {
    if (run.step().tensors[static_cast<std::size_t>(id)].use == TensorClass::kInput) continue;
    std::fill(run.Data(id).begin(), run.Data(id).end(), NAN);
  }
  run.Forward(true);
  for (std::size_t k = 0; k < maps.size(); ++k) {
    const std::span<float> again = run.Data(run.step().maps[k]);
    INFO(run.step().tensors[static_cast<std::size_t>(run.step().maps[k])].name);
    CHECK(std::memcmp(again.data(), maps[k].data(), again.size_bytes()) == 0);
  }
  CHECK(run.running_statistics() == statistics);
  const auto first = Gradients(run), second = Gradients(run);
  CHECK(first == second);
}

}  // namespace spillway
