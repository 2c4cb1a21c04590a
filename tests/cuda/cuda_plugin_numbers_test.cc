// What the CUDA plugin's kernels compute, over a fake of the C libraries (cuda_fake_c/) that computes as they do: wrong
// arguments, descriptors and factors show here without a GPU.
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/cuda/cuda_kernel_compare.h"
#include "tests/cuda/cuda_plugin_fake.h"
#include "tests/training_networks.h"

namespace spillway {
namespace {

using Catch::Contains;
using cuda_fake::TheState;

struct Case {
  const char* name;
  Network (*build)();
};
Network ResNet() { return BuildZooNetwork("cifar-resnet20", {.batch = 2, .image = 8}); }
const std::vector<Case> kCases = {{"everything", Everything},
                                  {"deep", Volume},
                                  {"uneven", Uneven},
                                  {"up-and-down", UpAndDown},
                                  {"cifar-resnet20", ResNet}};

}  // namespace

TEST_CASE("the plugin computes every op of training steps as the CPU device does") {
  const Case& test = GENERATE(from_range(kCases));
  const PluginOverFake fake;
  std::vector<StepOptions> all = StepOptionTable();
  all.push_back(all[0]);
  all.back().inplace_gradient = all.back().inplace_relu = true;
  for (const StepOptions& options : all) {
    if (options.inference) continue;  // nothing has been trained: by variances of 0 values grow without an end
    if (options.saved != &kSavedByArithmetic) continue;  // what PyTorch saves besides the plugin does not write
    INFO(test.name << ' ' << options.name);
    StepCompare compare(*fake.calls, test.build(), options, 2e-5);
    compare.Run();
    compare.Run();  // momenta and running statistics are not 0 now
    CHECK(compare.compared() > 20);
  }
}

// cuDNN lists algorithms that it then cannot run.
TEST_CASE("one algorithm that is refused is told, and the comparison goes on") {
  for (const int status : {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_EXECUTION_FAILED}) {
    const PluginOverFake fake;
    StepCompare compare(*fake.calls, Everything(), {}, 2e-5);
    FailNext("convolution", status);
    compare.Run();
    REQUIRE(compare.refused().size() == 1);
    CHECK_THAT(compare.refused()[0], Contains(" algorithm 0: ") && Contains("cudnnConvolutionForward("));
    CHECK(compare.compared() > 20);
  }
}

TEST_CASE("what ends the device ends the comparison") {
  const PluginOverFake fake;
  StepCompare compare(*fake.calls, Everything(), {}, 2e-5);
  FailNext("cudaMalloc", cudaErrorMemoryAllocation);
  CHECK_THROWS_AS(compare.Run(), DeviceError);
}

TEST_CASE("maxima that a window has twice are left out of comparisons") {
  // Windows 2x2 by 2 on {n 1, c 2, 2x4}: {0 0 0 0}, {1 3 3 2} and {5 1 2 3}, {-1 -1 -4 -2}.
  const OpShape shape{
      .in = {.c = 2, .h = 2, .w = 4}, .out = {.c = 2, .h = 1, .w = 2}, .window = {1, 2, 2}, .stride = {1, 2, 2}};
  const Values x{0, 0, 1, 3, 0, 0, 3, 2, 5, 1, -1, -1, 2, 3, -4, -2};
  const std::vector<bool> tied = TiedMaxima(shape, x);
  CHECK(tied == std::vector<bool>{true, true, false, true, true, true, true, false, false, false, true, true, false,
                                  false, false, false});
  // One window over the edge: what is padded has no maximum.
  const OpShape padded{.in = {.h = 1, .w = 2}, .out = {.h = 1, .w = 2}, .window = {1, 1, 2}, .pad = {0, 0, 1}};
  CHECK(TiedMaxima(padded, Values{-1, -1}) == std::vector<bool>{true, true});
  CHECK(TiedMaxima(padded, Values{-2, -1}) == std::vector<bool>{false, false});
}

TEST_CASE("the networks compared have every kind of op and every pass") {
  std::set<std::pair<OpKind, Pass>> seen, accumulated;
  for (const Case& test : kCases) {
    for (const StepOptions& options : StepOptionTable()) {
      for (const Op& op : BuildTrainingStep(test.build(), options).ops) {
        seen.insert({op.kind, op.pass});
        if (op.accumulate) accumulated.insert({op.kind, op.pass});
      }
    }
  }
  for (const OpKind kind : {OpKind::kBatchNorm, OpKind::kRelu, OpKind::kMaxPool, OpKind::kAveragePool, OpKind::kLrn,
                            OpKind::kDropout, OpKind::kConcat, OpKind::kSoftmaxLoss}) {
    INFO(OpKindName(kind));
    CHECK(seen.count({kind, Pass::kForward}) == 1);
    CHECK(seen.count({kind, Pass::kBackward}) == 1);
  }
  for (const OpKind kind : {OpKind::kConvolution, OpKind::kTransposedConvolution, OpKind::kLinear}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
      CHECK(seen.count({kind, pass}) == 1);
    }
  }
  CHECK(seen.count({OpKind::kAdd, Pass::kForward}) == 1);
  CHECK(seen.count({OpKind::kBias, Pass::kForward}) == 1);
  CHECK(seen.count({OpKind::kBias, Pass::kBackwardBias}) == 1);
  CHECK(accumulated.count({OpKind::kConvolution, Pass::kBackwardData}) == 1);
  CHECK(accumulated.count({OpKind::kTransposedConvolution, Pass::kBackwardData}) == 1);
  CHECK(accumulated.count({OpKind::kConcat, Pass::kBackward}) == 1);
  CHECK(accumulated.size() >= 4);
}

// Adding to a gradient is rare in networks: every backward op that may do it, on numbers of its own.
TEST_CASE("results are added to where the call says so") {
  const PluginOverFake fake;
  CpuKernels cpu;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const Shape plain{.n = 2, .c = 5, .h = 4, .w = 6}, half{.n = 2, .c = 5, .h = 2, .w = 3};
  const OpShape same{.in = plain, .out = plain, .window = {3, 1, 1}};
  const OpShape pool{.in = plain, .out = half, .window = {1, 2, 2}, .stride = {1, 2, 2}};
  struct Sum {
    OpKind kind;
    Pass pass;
    OpShape shape;
    std::vector<std::int64_t> reads;
    std::int64_t result;
  };
  const OpShape linear{.in = plain, .out = {.n = 2, .c = 7}};
  const std::int64_t whole = plain.Elements(), part = half.Elements(), weight = 5 * 4 * 6 * 7;
  const std::vector<Sum> sums = {{OpKind::kRelu, Pass::kBackward, same, {whole, whole}, whole},
                                 {OpKind::kLrn, Pass::kBackward, same, {whole, whole, whole}, whole},
                                 {OpKind::kMaxPool, Pass::kBackward, pool, {whole, part, part}, whole},
                                 {OpKind::kAveragePool, Pass::kBackward, pool, {part}, whole},
                                 {OpKind::kAdd, Pass::kBackward, same, {whole}, whole},
                                 {OpKind::kBias, Pass::kBackwardBias, same, {whole}, 5},
                                 {OpKind::kLinear, Pass::kBackwardData, linear, {weight, 14}, whole},
                                 {OpKind::kLinear, Pass::kBackwardFilter, linear, {whole, 14}, weight}};
  for (const Sum& sum : sums) {
    INFO(OpKindName(sum.kind) << ' ' << PassName(sum.pass));
    const OpCall call = Call(sum.kind, sum.pass, sum.shape, true);
    std::vector<Values> reads;
    for (const std::int64_t count : sum.reads) reads.push_back(RandomValues(static_cast<std::size_t>(count), 7));
    const Values before = RandomValues(static_cast<std::size_t>(sum.result), 8);
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<void*> places;
    for (const Values& values : reads) {
      buffers.push_back(std::make_unique<DeviceBuffer>(*fake.calls, static_cast<Bytes>(values.size() * sizeof(float))));
      buffers.back()->Put(values.data(), stream);
      places.push_back(buffers.back()->data());
    }
    DeviceBuffer result(*fake.calls, static_cast<Bytes>(before.size() * sizeof(float)));
    result.Put(before.data(), stream);
    void* const write = result.data();
    fake.calls->Prepare(call)->Run(stream, {.reads = places, .writes = {&write, 1}});
    const Values expected = Result(cpu, call, reads, before);
    CHECK(Difference(result.Get<float>(stream), expected) < 2e-5);
    CHECK(Difference(before, expected) > 1e-3);
  }
  fake.calls->Destroy(stream);
}

TEST_CASE("batch norm normalises by the statistics given in inference") {
  const PluginOverFake fake;
  CpuKernels cpu;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const Shape shape{.n = 3, .c = 4, .h = 2, .w = 5};
  const OpCall call = Call(OpKind::kBatchNorm, Pass::kForward, {.in = shape, .out = shape, .operands = 0});
  const std::vector<Values> values{RandomValues(shape, 1), RandomValues(4, 2), RandomValues(4, 3)};
  Values running = RandomValues(8, 4);
  for (float& value : running) value = std::abs(value) + 0.5f;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<void*> reads;
  for (const Values& v : values) {
    buffers.push_back(std::make_unique<DeviceBuffer>(*fake.calls, static_cast<Bytes>(v.size() * sizeof(float))));
    buffers.back()->Put(v.data(), stream);
    reads.push_back(buffers.back()->data());
  }
  DeviceBuffer statistics(*fake.calls, 32), result(*fake.calls, shape.Elements() * 4);
  statistics.Put(running.data(), stream);
  void* const write = result.data();
  const std::unique_ptr<CudaKernel> kernel = fake.calls->Prepare(call);
  kernel->Run(stream, {.reads = reads, .writes = {&write, 1}, .running_statistics = statistics.data()});
  const Values expected = Result(cpu, call, values, Values(Count(shape)), {.running_statistics = running});
  CHECK(Difference(result.Get<float>(stream), expected) < 2e-5);
  CHECK_THROWS_WITH(kernel->Run(stream, {.reads = reads, .writes = {&write, 1}}), Contains("running statistics"));
  fake.calls->Destroy(stream);
}

// Two samples, half the loss each: half of the probabilities, less half at the label.
TEST_CASE("backward of the loss writes the gradient of the log-probabilities where the call has a place for it") {
  const PluginOverFake fake;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const Shape shape{.n = 2, .c = 2};
  DeviceBuffer probabilities(*fake.calls, 16), labels(*fake.calls, 16), scores(*fake.calls, 16), logs(*fake.calls, 16);
  probabilities.Put(Values{0.25f, 0.75f, 0.5f, 0.5f}.data(), stream);
  labels.Put(Values{0, 1, 1, 0}.data(), stream);
  for (DeviceBuffer* written : {&scores, &logs}) written->Put(Values(4, 7).data(), stream);
  void* const reads[] = {probabilities.data()};
  void* const writes[] = {scores.data(), logs.data()};
  const OpCall call = Call(OpKind::kSoftmaxLoss, Pass::kBackward, {.in = shape, .out = shape, .operands = 2});
  fake.calls->Prepare(call)->Run(stream, {.reads = reads, .writes = writes, .labels = labels.data()});
  CHECK(scores.Get<float>(stream) == Values{0.125f, -0.125f, -0.25f, 0.25f});
  CHECK(logs.Get<float>(stream) == Values{0, -0.5f, -0.5f, 0});
  fake.calls->Destroy(stream);
}

TEST_CASE("an update, with momentum and without") {
  const PluginOverFake fake;
  CudaStream* const stream = fake.calls->MakeStream(false);
  OpShape shape{.in = {.n = 1, .c = 3}, .out = {.n = 1, .c = 3}, .operands = 3};
  DeviceBuffer gradient(*fake.calls, 12), parameter(*fake.calls, 12), velocity(*fake.calls, 12);
  gradient.Put(Values{1, 2, 3}.data(), stream);
  parameter.Put(Values{10, 20, 30}.data(), stream);
  velocity.Put(Values{4, 0, -4}.data(), stream);
  void* const reads[] = {gradient.data(), parameter.data(), velocity.data()};
  void* const writes[] = {parameter.data(), velocity.data()};
  const std::unique_ptr<CudaKernel> kernel = fake.calls->Prepare(Call(OpKind::kUpdate, Pass::kUpdate, shape));
  CHECK(kernel->implementation() == "own");
  kernel->Run(stream, {.reads = reads, .writes = writes, .learning_rate = 2, .momentum = 0.5f});
  CHECK(velocity.Get<float>(stream) == Values{3, 2, 1});     // 4/2 + 1, 0/2 + 2, -4/2 + 3
  CHECK(parameter.Get<float>(stream) == Values{4, 16, 28});  // less twice that
  shape.operands = 2;
  fake.calls->Prepare(Call(OpKind::kUpdate, Pass::kUpdate, shape))
      ->Run(stream, {.reads = std::span(reads).first(2), .writes = std::span(writes).first(1), .learning_rate = 2});
  CHECK(parameter.Get<float>(stream) == Values{2, 12, 22});  // less twice the gradient
  CHECK(velocity.Get<float>(stream) == Values{3, 2, 1});
  fake.calls->Destroy(stream);
}

}  // namespace spillway
