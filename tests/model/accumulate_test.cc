// Steps in batch parts: what each part reads and writes, and that nothing is done twice that should be done once.
#include "model/step/accumulate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/in_parts.h"
#include "tests/model/step_lines.h"
#include "tests/training_networks.h"

namespace spillway {

namespace {

double FlopsOf(const TrainingStep& step) {
  double flops = 0;
  for (const Op& op : step.ops) flops += op.work.flops;
  return flops;
}

template <typename Items>
std::size_t CountDistinct(const Items& items) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(item.name);
  return names.size();
}

TrainingStep ZooStep(const std::string& network, std::int64_t batch) {
  return BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}));
}

}  // namespace

TEST_CASE("a step in two parts, op by op") {
  const AccumulatedStep two = Accumulated(BuildTrainingStep(NormChainNetwork()), 2);
  const OpId behind_first = 13;
  CHECK(two.ops[1][0] == behind_first);
  CHECK(OpLines(two.step, behind_first) ==
        StepLines{"conv:forward:part2: input:part2 conv:weight -> conv:part2",
                  "bn_conv:forward:part2: conv:part2 bn_conv:scale bn_conv:shift -> bn_conv:part2 bn_conv:mean:part2 "
                  "bn_conv:inverse_deviation:part2",
                  "relu_conv:forward:part2: bn_conv:part2 -> relu_conv:part2",
                  "fc:forward:part2: relu_conv:part2 fc:weight -> fc:part2",
                  "fc:bias:part2: fc:part2 fc:bias -> fc:part2",
                  "loss:forward:part2: fc:part2 -> loss:part2",
                  "loss:backward:part2: loss:part2 -> fc:gradient:part2",
                  "fc:backward_bias:part2: fc:gradient:part2 fc:bias:gradient -> fc:bias:gradient +",
                  "fc:backward_filter:part2: relu_conv:part2 fc:gradient:part2 fc:weight:gradient -> "
                  "fc:weight:gradient +",
                  "fc:backward_data:part2: fc:weight fc:gradient:part2 -> relu_conv:gradient:part2",
                  "relu_conv:backward:part2: relu_conv:part2 relu_conv:gradient:part2 -> bn_conv:gradient:part2",
                  "bn_conv:backward:part2: conv:part2 bn_conv:gradient:part2 bn_conv:scale bn_conv:mean:part2 "
                  "bn_conv:inverse_deviation:part2 -> conv:gradient:part2 bn_conv:scale:gradient:part2 "
                  "bn_conv:shift:gradient:part2",
                  "bn_conv:scale:gradient:add:part2: bn_conv:scale:gradient:part2 bn_conv:scale:gradient -> "
                  "bn_conv:scale:gradient +",
                  "bn_conv:shift:gradient:add:part2: bn_conv:shift:gradient:part2 bn_conv:shift:gradient -> "
                  "bn_conv:shift:gradient +",
                  "conv:backward_filter:part2: input:part2 conv:gradient:part2 conv:weight:gradient -> "
                  "conv:weight:gradient +",
                  "conv:weight:update: conv:weight:gradient conv:weight conv:weight:momentum -> conv:weight "
                  "conv:weight:momentum",
                  "bn_conv:scale:update: bn_conv:scale:gradient bn_conv:scale bn_conv:scale:momentum -> bn_conv:scale "
                  "bn_conv:scale:momentum",
                  "bn_conv:shift:update: bn_conv:shift:gradient bn_conv:shift bn_conv:shift:momentum -> bn_conv:shift "
                  "bn_conv:shift:momentum",
                  "fc:weight:update: fc:weight:gradient fc:weight fc:weight:momentum -> fc:weight fc:weight:momentum",
                  "fc:bias:update: fc:bias:gradient fc:bias fc:bias:momentum -> fc:bias fc:bias:momentum"});
  const std::vector<std::string> first = OpLines(BuildTrainingStep(NormChainNetwork()), 0);
  const std::vector<std::string> all = OpLines(two.step, 0);
  CHECK(std::equal(all.begin(), all.begin() + behind_first, first.begin()));
}

TEST_CASE("one part is the step itself") {
  const TrainingStep step = BuildTrainingStep(Everything());
  CHECK(DumpStep(Accumulated(step, 1).step) == DumpStep(step));
  CHECK(NumbersOf(Accumulated(step, 1).step) == AccumulatedNumbers::kSame);
}

TEST_CASE("parts share parameters and what belongs to them, and nothing else") {
  const TrainingStep part = BuildTrainingStep(Everything(), StepOptionsByName("torch"));
  const AccumulatedStep all = Accumulated(part, 3);
  REQUIRE(all.tensors.size() == 3);
  for (std::size_t t = 0; t < part.tensors.size(); ++t) {
    const bool shared = part.tensors[t].Traits().of_parameters;
    INFO(part.tensors[t].name);
    CHECK((all.tensors[1][t] == all.tensors[0][t]) == shared);
    CHECK((all.tensors[2][t] == all.tensors[1][t]) == shared);
  }
  CHECK(CountDistinct(all.step.tensors) == all.step.tensors.size());
  CHECK(CountDistinct(all.step.ops) == all.step.ops.size());
  CHECK(all.step.maps.size() == 3 * part.maps.size());
  CHECK(all.step.MapBytes() == 3 * part.MapBytes());
  CHECK(all.step.batch == 3 * part.batch);
  CHECK(all.step.BytesOf(TensorClass::kParameter) == part.BytesOf(TensorClass::kParameter));
}

TEST_CASE("each part begins where the one before ended, and the loss is the mean over all") {
  const TrainingStep part = BuildTrainingStep(NormChainNetwork());
  const TrainingStep step = Accumulated(part, 3).step;
  std::vector<std::int64_t> inputs;
  for (const Tensor& tensor : step.tensors) {
    if (tensor.use == TensorClass::kInput) inputs.push_back(tensor.first_sample);
  }
  CHECK(inputs == std::vector<std::int64_t>{0, part.batch, 2 * part.batch});
  CHECK(OpCalled(step, "loss:backward:part3").first_sample == 2 * part.batch);
  CHECK(OpCalled(step, "loss:backward:part3").details.mean_over == 3 * part.batch);
  CHECK(OpCalled(step, "conv:forward:part3").details.mean_over == 0);
}

TEST_CASE("unequal parts begin where the one before ended, too, and their samples count alike") {
  Network network = NormChainNetwork();
  const std::int64_t batch = network.input.n = 7;
  StepsInParts steps(batch, [&](std::int64_t samples) { return BuildTrainingStep(WithBatch(network, samples)); });
  const StepsInParts::InParts& in = steps.In(3);  // 3 + 2 + 2
  CHECK(in.part.batch == 3);
  CHECK(in.small.batch == 2);
  CHECK_FALSE(in.Equal());
  CHECK(steps.In(7).Equal());
  const TrainingStep& step = in.all.step;
  CHECK(step.batch == batch);
  std::vector<std::int64_t> inputs, samples;
  for (const Tensor& tensor : step.tensors) {
    if (tensor.use == TensorClass::kInput) inputs.push_back(tensor.first_sample), samples.push_back(tensor.shape.n);
  }
  CHECK(inputs == std::vector<std::int64_t>{0, 3, 5});
  CHECK(samples == std::vector<std::int64_t>{3, 2, 2});
  for (const char* loss : {"loss:backward", "loss:backward:part2", "loss:backward:part3"}) {
    CHECK(OpCalled(step, loss).details.mean_over == batch);
  }
  CHECK(OpCalled(step, "loss:backward:part3").first_sample == 5);
  CHECK(step.ops[static_cast<std::size_t>(step.first_update)].pass == Pass::kUpdate);
  CHECK(SizesOfParts(61, 2).samples == 31);
  CHECK(SizesOfParts(61, 2).larger == 1);
  CHECK(SizesOfParts(60, 4).larger == 4);
}

TEST_CASE("gradients are written by the first part and added to by the others; updates run once, at the end") {
  for (const char* options : {"plain", "chainer", "torch"}) {
    const TrainingStep part = BuildTrainingStep(Everything(), StepOptionsByName(options));
    const AccumulatedStep all = Accumulated(part, 4);
    const TrainingStep& step = all.step;
    std::map<TensorId, int> writes, adds;
    for (std::size_t i = 0; i < step.ops.size(); ++i) {
      const Op& op = step.ops[i];
      INFO(op.name);
      CHECK((op.pass == Pass::kUpdate) == (static_cast<OpId>(i) >= step.first_update));
      for (const TensorId t : op.writes) {
        if (step.tensors[static_cast<std::size_t>(t)].use != TensorClass::kParameterGradient) continue;
        ++writes[t];
        adds[t] += op.accumulate && std::count(op.reads.begin(), op.reads.end(), t) != 0 ? 1 : 0;
      }
    }
    for (TensorId t = 0; t < static_cast<TensorId>(part.tensors.size()); ++t) {
      if (part.tensors[static_cast<std::size_t>(t)].use != TensorClass::kParameterGradient) continue;
      INFO(part.tensors[static_cast<std::size_t>(t)].name);
      CHECK(writes[t] == 4);
      CHECK(adds[t] == 3);
    }
  }
}

TEST_CASE("updates that do not wait for the end run in the last part") {
  const TrainingStep part = BuildTrainingStep(NormChainNetwork(), OptionsWith(&StepOptions::update_at_once));
  const AccumulatedStep all = Accumulated(part, 2);
  CHECK(OpLines(all.step, 0, ":update") == OpLines(part, 0, ":update"));
  CHECK(all.step.first_update == static_cast<OpId>(all.step.ops.size()));
  for (std::size_t i = 0; i < part.ops.size(); ++i) {
    CHECK((all.ops[0][i] == kNoOp) == (part.ops[i].pass == Pass::kUpdate));
    CHECK(all.ops[1][i] != kNoOp);
  }
}

TEST_CASE("parts compute as much as the whole batch") {
  for (const char* network : {"vgg16", "alexnet", "googlenet"}) {  // without batch norm
    INFO(network);
    const double whole = FlopsOf(ZooStep(network, 32));
    for (const std::int64_t parts : {2, 4, 8}) {
      const TrainingStep part = ZooStep(network, 32 / parts);
      const TrainingStep step = Accumulated(part, parts).step;
      // The update is once for all; so much more is added up.
      CHECK(FlopsOf(step) == Approx(whole).epsilon(1e-12));
    }
  }
}

TEST_CASE("what parts compute other than the whole batch") {
  CHECK(NumbersOf(Accumulated(ZooStep("resnet50", 2), 2).step) == AccumulatedNumbers::kChanged);
  CHECK(NumbersOf(Accumulated(ZooStep("vgg16", 2), 2).step) == AccumulatedNumbers::kRedrawn);
  NetworkBuilder b("plain", kSmallImage);
  const TrainingStep same = BuildTrainingStep(WithLoss(b, b.ConvolutionRelu("conv", kNetworkInput, Square(4, 1))));
  CHECK(NumbersOf(Accumulated(same, 2).step) == AccumulatedNumbers::kSame);
  CHECK(AccumulatedNumbersName(AccumulatedNumbers::kChanged) == std::string("changed"));
}

}  // namespace spillway
