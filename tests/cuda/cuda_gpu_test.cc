// The real libraries on a real GPU, where there is one: every op against the CPU device.
#include <catch2/catch.hpp>
#include <iostream>

#include "calibrate/devices/cuda/load.h"
#include "calibrate/devices/cuda/owned.h"
#include "hw/text/document.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/execute/device.h"
#include "tests/cuda/cuda_kernel_compare.h"
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

// The library says of some algorithms that they cannot do a launch, or fail at it, only when they run. That is the
// launch's own matter, to calibrate too, as long as the device goes on.
void CheckLaunchAlone(CudaCalls& calls, const DeviceError& error) {
  INFO(error.what());
  CHECK((error.fault() == Fault::kRefused || error.fault() == Fault::kFailed));
  CHECK_NOTHROW(calls.SynchronizeDevice());
}

}  // namespace

// True fp32; sums in another order, and transforms of FFT and Winograd, lose some digits.
TEST_CASE("the GPU computes every op of training steps as the CPU device does") {
  const std::shared_ptr<CudaCalls> calls = Gpu();
  if (calls == nullptr) return;
  for (Network (*build)() : {Everything, Volume, Uneven, ResNet, AlexNet}) {
    for (const StepOptions& options : StepOptionTable()) {
      if (options.inference) continue;  // nothing has been trained: by variances of 0 values grow without an end
      if (options.saved != &kSavedByArithmetic) continue;  // what PyTorch saves besides the plugin does not write
      const Network network = build();
      INFO(network.name << ' ' << options.name);
      StepCompare compare(*calls, network, options, 2e-4);
      compare.Run();
      compare.Run();
      for (const std::string& refused : compare.refused())
        std::cout << network.name << ": refused: " << refused << '\n';
    }
  }
}

TEST_CASE("pages of unified memory move by faults, both ways, and hold what was written") {
  const std::shared_ptr<CudaCalls> calls = Gpu();
  if (calls == nullptr || !calls->Properties().managed_memory) return;
  constexpr Bytes kBytes = kMiB;
  CudaStream* const stream = calls->MakeStream(false);
  auto* const managed = static_cast<float*>(calls->MallocManaged(kBytes));
  const DeviceBuffer result(*calls, kBytes);
  const std::size_t count = static_cast<std::size_t>(kBytes) / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) managed[i] = static_cast<float>(i) - 1000;
  Launch relu;
  relu.kind = OpKind::kRelu;
  relu.shape.in = relu.shape.out = {.n = 1, .c = static_cast<std::int64_t>(count)};
  const std::unique_ptr<CudaKernel> kernel = calls->Prepare(CallOf(relu));
  void* const reads[] = {managed};
  void* const writes[] = {result.data()};
  for (int times = 0; times < 2; ++times) {
    kernel->Run(stream, {.reads = reads, .writes = writes});
    const std::vector<float> values = result.Get<float>(stream);
    CHECK(values[999] == 0);
    CHECK(values[count - 1] == static_cast<float>(count - 1) - 1000);
    calls->TouchOnHost(managed, kBytes);
  }
  calls->Free(managed);
  calls->Destroy(stream);
}

TEST_CASE("two GPUs copy to each other, straight where they can and through the host") {
  const std::shared_ptr<CudaCalls> calls = Gpu();
  if (calls == nullptr || calls->DeviceCount() < 2) return;
  constexpr Bytes kBytes = kMiB;
  CudaStream* const stream = calls->MakeStream(false);
  const DeviceBuffer from(*calls, kBytes), back(*calls, kBytes);
  void* const there = calls->MallocOn(1, kBytes);
  const Values values = RandomValues(static_cast<std::size_t>(kBytes) / sizeof(float), 1);
  const auto copy_there_and_back = [&] {
    calls->Fill(back.data(), 0, kBytes, stream);
    calls->CopyPeer(there, 1, from.data(), 0, kBytes, stream);
    calls->CopyPeer(back.data(), 0, there, 1, kBytes, stream);
    return back.Get<float>(stream) == values;
  };
  calls->Copy(from.data(), values.data(), kBytes, Direction::kHostToDevice, stream);
  CHECK(copy_there_and_back());
  if (calls->CanAccessPeer(0, 1) && calls->CanAccessPeer(1, 0)) {
    const OwnedPeerAccess one(*calls, 0, 1), other(*calls, 1, 0);
    CHECK(!calls->EnablePeerAccess(0, 1));
    CHECK(copy_there_and_back());
  }
  calls->FreeOn(1, there);
  calls->Destroy(stream);
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
  int repeated = 0;
  for (const CudaAlgorithm& algorithm : calls->Algorithms(call)) {
    if (!algorithm.deterministic) continue;
    OpCall chosen = call;
    chosen.launch.algorithm = algorithm.algorithm;
    try {
      const std::unique_ptr<CudaKernel> kernel = calls->Prepare(chosen);
      INFO(kernel->implementation());
      const DeviceBuffer workspace(*calls, std::max<Bytes>(kernel->workspace(), 1));
      const auto run = [&] {
        kernel->Run(stream, {.reads = reads, .writes = writes, .workspace = workspace.data()});
        return weight.Get<float>(stream);
      };
      const Values first = run();
      for (int i = 0; i < 5; ++i) CHECK(run() == first);
      ++repeated;
    } catch (const DeviceError& error) {
      CheckLaunchAlone(*calls, error);
    }
  }
  CHECK(repeated > 0);
  calls->Destroy(stream);
}

}  // namespace spillway
