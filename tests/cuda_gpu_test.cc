// The real libraries on a real GPU, where there is one: every op against the CPU device.
#include <catch2/catch.hpp>
#include <iostream>

#include "calibrate/cuda/load.h"
#include "hw/document.h"
#include "tests/cuda_kernel_compare.h"
#include "tests/training_networks.h"

namespace spillway {
namespace {

// nullptr without a GPU; CTest takes the message for a skipped test.
std::shared_ptr<CudaCalls> Gpu() {
  try {
    return MakeCudaCalls(0);
  } catch (const UserError& error) {
    std::cout << "gpu test skipped: " << error.what() << '\n';
    return nullptr;
  }
}

Network ResNet() { return BuildZooNetwork("cifar-resnet20", {.batch = 8}); }
Network AlexNet() { return BuildZooNetwork("cifar-alexnet", {.batch = 4}); }

}  // namespace

// True fp32; sums in another order, and transforms of FFT and Winograd, lose some digits.
TEST_CASE("the GPU computes every op of training steps as the CPU device does") {
  const std::shared_ptr<CudaCalls> calls = Gpu();
  if (calls == nullptr) return;
  for (Network (*build)() : {Everything, Deep, Uneven, ResNet, AlexNet}) {
    for (const StepOptions& options : StepOptionTable()) {
      const Network network = build();
      INFO(network.name << ' ' << options.name);
      StepCompare compare(*calls, network, options, 2e-4);
      compare.Run();
      compare.Run();
    }
  }
}

TEST_CASE("the GPU spins for as long as it is told, and holds until the flag is set") {
  const std::shared_ptr<CudaCalls> calls = Gpu();
  if (calls == nullptr) return;
  CudaStream* const stream = calls->MakeStream(false);
  CudaEvent *const from = calls->MakeEvent(true), *const to = calls->MakeEvent(true);
  calls->Spin(1e5, stream);  // loads the kernel
  int* const flag = static_cast<int*>(calls->MallocHost(sizeof(int)));
  *flag = 0;
  calls->HoldUntil(flag, stream);
  calls->Record(from, stream);
  calls->Spin(2e6, stream);
  calls->Record(to, stream);
  CHECK(!calls->IsDone(from));
  *static_cast<volatile int*>(flag) = 1;
  calls->Synchronize(stream);
  CHECK(calls->IsDone(to));
  CHECK(calls->Elapsed(from, to) == Approx(2e6).epsilon(0.05));
  // Nobody lets go: the hold ends by itself, and says so.
  *static_cast<volatile int*>(flag) = 0;
  calls->Record(from, stream);
  calls->HoldUntil(flag, stream);
  calls->Record(to, stream);
  calls->Synchronize(stream);
  CHECK(calls->Elapsed(from, to) == Approx(static_cast<double>(kCudaLongestHold)).epsilon(0.05));
  CHECK(*static_cast<volatile int*>(flag) == kCudaHoldRanOut);
  calls->FreeHost(flag);
  calls->Destroy(from);
  calls->Destroy(to);
  calls->Destroy(stream);
}

TEST_CASE("the GPU repeats a convolution's bits where the library calls it deterministic") {
  const std::shared_ptr<CudaCalls> calls = Gpu();
  if (calls == nullptr) return;
  CudaStream* const stream = calls->MakeStream(false);
  const OpShape shape{.in = {.n = 8, .c = 32, .h = 14, .w = 14},
                      .out = {.n = 8, .c = 48, .h = 14, .w = 14},
                      .window = {1, 3, 3},
                      .pad = {0, 1, 1}};
  const OpCall call = Call(OpKind::kConvolution, Pass::kBackwardFilter, shape);
  DeviceBuffer in(*calls, shape.in.Elements() * 4), gradient(*calls, shape.out.Elements() * 4);
  DeviceBuffer weight(*calls, 48 * 32 * 9 * 4);
  in.Put(RandomValues(shape.in, 1).data(), stream);
  gradient.Put(RandomValues(shape.out, 2).data(), stream);
  void* const reads[] = {in.data(), gradient.data()};
  void* const writes[] = {weight.data()};
  for (const CudaAlgorithm& algorithm : calls->Algorithms(call)) {
    if (!algorithm.deterministic) continue;
    OpCall chosen = call;
    chosen.launch.algorithm = algorithm.algorithm;
    const std::unique_ptr<CudaKernel> kernel = calls->Prepare(chosen);
    INFO(kernel->implementation());
    const DeviceBuffer workspace(*calls, std::max<Bytes>(kernel->workspace(), 1));
    kernel->Run(stream, {.reads = reads, .writes = writes, .workspace = workspace.data()});
    const Values first = weight.Get<float>(stream);
    for (int i = 0; i < 5; ++i) {
      kernel->Run(stream, {.reads = reads, .writes = writes, .workspace = workspace.data()});
      CHECK(weight.Get<float>(stream) == first);
    }
  }
  calls->Destroy(stream);
}

}  // namespace spillway
