// The CUDA plugin's calls against a fake of the C libraries (cuda_fake_c/): algorithms, refusals, failures, memory and
// streams. What its kernels compute is in cuda_plugin_numbers_test.
#include <catch2/catch.hpp>

#include "calibrate/devices/cuda/plugin/nvml.h"
#include "calibrate/devices/cuda/plugin/runtime_calls.h"
#include "tests/cuda/cuda_kernel_compare.h"
#include "tests/cuda/cuda_plugin_fake.h"

namespace spillway {
namespace {

using Catch::Contains;
using cuda_fake::TheState;

OpShape ConvolutionShape() {
  return {.in = {.n = 2, .c = 4, .h = 6, .w = 5},
          .out = {.n = 2, .c = 3, .h = 6, .w = 5},
          .window = {1, 3, 3},
          .pad = {0, 1, 1}};
}

}  // namespace

TEST_CASE("convolutions: algorithms by the numbers of AlgorithmNames, ranked, the impossible left out") {
  const PluginOverFake fake;
  const OpShape shape = ConvolutionShape();
  const Bytes output = shape.out.Elements() * 4;
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    INFO(PassName(pass));
    const std::vector<CudaAlgorithm> algorithms = fake.calls->Algorithms(Call(OpKind::kConvolution, pass, shape));
    REQUIRE(algorithms.size() == 3);
    CHECK(algorithms[0].algorithm == 1);
    CHECK(algorithms[0].rank == 1);
    CHECK(algorithms[0].workspace == 0);
    CHECK(algorithms[0].deterministic == (pass == Pass::kForward));
    CHECK(algorithms[1].algorithm == 2);
    CHECK(algorithms[1].rank == 0);
    CHECK(algorithms[1].workspace == output);
    const std::string special = pass == Pass::kForward ? "winograd" : "winograd_nonfused";
    CHECK(algorithms[2].algorithm == AlgorithmByName(OpKind::kConvolution, pass, special));
    CHECK(algorithms[2].rank == 2);
  }
  CHECK(fake.calls->Algorithms(Call(OpKind::kRelu, Pass::kForward, {.in = shape.in, .out = shape.in})).empty());
}

TEST_CASE("convolutions: algorithm 0 is the library's first choice within the workspace") {
  const PluginOverFake fake;
  OpCall call = Call(OpKind::kConvolution, Pass::kForward, ConvolutionShape());
  CHECK(fake.calls->Prepare(call)->implementation() == "implicit_precomp_gemm");
  CHECK(fake.calls->Prepare(call)->workspace() == call.launch.shape.out.Elements() * 4);
  call.launch.workspace = call.launch.shape.out.Elements() * 4 - 1;
  CHECK(fake.calls->Prepare(call)->implementation() == "implicit_gemm");
  CHECK(fake.calls->Prepare(call)->workspace() == 0);
  call.launch.algorithm = 2;
  const DeviceError small = ErrorOf([&] { fake.calls->Prepare(call); });
  CHECK(small.fault() == Fault::kRefused);
  CHECK_THAT(small.what(), Contains("<convolution>: no convolution by implicit_precomp_gemm in 719 bytes") &&
                               Contains("cuDNN offers implicit_gemm (0 bytes), implicit_precomp_gemm (720 bytes)"));
  call.launch.algorithm = 3;  // has a workspace size, and is ranked as impossible
  call.launch.workspace = kUsualWorkspace;
  CHECK(ErrorOf([&] { fake.calls->Prepare(call); }).fault() == Fault::kRefused);
  call.launch.algorithm = AlgorithmByName(OpKind::kConvolution, Pass::kForward, "reference");  // the CPU device's
  CHECK_THAT(ErrorOf([&] { fake.calls->Prepare(call); }).what(), Contains("by reference"));
  call.launch.algorithm = 0;
  call.launch.shape.out.h = 4;  // not what the window makes of it
  CHECK(ErrorOf([&] { fake.calls->Prepare(call); }).fault() == Fault::kRefused);
}

TEST_CASE("convolutions: the library is asked for its algorithms once for each problem") {
  const PluginOverFake fake;
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    INFO(PassName(pass));
    TheState().rankings = TheState().workspace_sizes = 0;
    OpCall call = Call(OpKind::kConvolution, pass, ConvolutionShape());
    const std::vector<CudaAlgorithm> told = fake.calls->Algorithms(call);
    CHECK(TheState().rankings == 1);
    const int sizes = TheState().workspace_sizes;
    CHECK(sizes > 0);
    // Whatever is wanted of it.
    call.launch.workspace = 0;
    CHECK(fake.calls->Algorithms(call).size() == told.size());
    for (const bool accumulate : {false, true}) {
      for (std::int32_t algorithm : {0, 1, 2}) {
        call.launch.accumulate = accumulate;
        call.launch.algorithm = algorithm;
        call.launch.workspace = kUsualWorkspace;
        CHECK(fake.calls->Prepare(call)->workspace() == (algorithm == 1 ? 0 : call.launch.shape.out.Elements() * 4));
      }
    }
    CHECK(TheState().rankings == 1);
    CHECK(TheState().workspace_sizes == sizes);
    // Another arithmetic or size is another problem.
    call = Call(OpKind::kConvolution, pass, ConvolutionShape());
    call.launch.math = MathMode::kTf32;
    fake.calls->Prepare(call);
    CHECK(TheState().rankings == 2);
    call.launch.shape.in.n = call.launch.shape.out.n = 3;
    fake.calls->Prepare(call);
    fake.calls->Algorithms(call);
    CHECK(TheState().rankings == 3);
  }
}

TEST_CASE("convolutions: what the library could not rank is asked again") {
  const PluginOverFake fake;
  const OpCall call = Call(OpKind::kConvolution, Pass::kForward, ConvolutionShape());
  FailNext("ranking", CUDNN_STATUS_INTERNAL_ERROR);
  for (const CudaAlgorithm& algorithm : fake.calls->Algorithms(call)) CHECK(algorithm.rank == -1);
  CHECK(fake.calls->Algorithms(call).at(0).rank == 1);
  fake.calls->Algorithms(call);
  CHECK(TheState().rankings == 2);
}

TEST_CASE("true fp32 and TF32 are told to the libraries apart") {
  const PluginOverFake fake;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const OpShape shape = ConvolutionShape();
  DeviceBuffer in(*fake.calls, shape.in.Elements() * 4), weight(*fake.calls, 3 * 4 * 9 * 4);
  DeviceBuffer out(*fake.calls, shape.out.Elements() * 4);
  void* const reads[] = {in.data(), weight.data()};
  void* const writes[] = {out.data()};
  for (const MathMode math : {MathMode::kFp32, MathMode::kTf32}) {
    OpCall call = Call(OpKind::kConvolution, Pass::kForward, shape);
    call.launch.math = math;
    call.launch.algorithm = 1;
    const std::unique_ptr<CudaKernel> kernel = fake.calls->Prepare(call);
    kernel->Run(stream, {.reads = reads, .writes = writes});
    CHECK(TheState().calls.back() == std::string("forward 0 ") + MathModeName(math));
    CHECK(kernel->implementation() == (math == MathMode::kTf32 ? "implicit_gemm, tf32" : "implicit_gemm"));
    call = Call(OpKind::kLinear, Pass::kForward, {.in = {.n = 2, .c = 3}, .out = {.n = 2, .c = 4}});
    call.launch.math = math;
    fake.calls->Prepare(call)->Run(stream, {.reads = reads, .writes = writes});
    CHECK(TheState().calls.back() == std::string("sgemm ") + MathModeName(math));
  }
  fake.calls->Destroy(stream);
}

TEST_CASE("what the device does not compute is refused by name") {
  const PluginOverFake fake;
  OpCall call = Call(OpKind::kConvolution, Pass::kForward, ConvolutionShape());
  call.launch.type = DataType::kFp16;
  CHECK_THAT(ErrorOf([&] { fake.calls->Prepare(call); }).what(), Contains("<convolution>") && Contains("fp32 NCHW"));
  call = Call(OpKind::kRelu, Pass::kForward, {.in = {.n = 4, .c = 1024, .h = 1024, .w = 1024}, .out = {}});
  const DeviceError error = ErrorOf([&] { fake.calls->Prepare(call); });  // 2^32 elements
  CHECK(error.fault() == Fault::kRefused);
  CHECK_THAT(error.what(), Contains("<relu>") && Contains("more than cuDNN"));
  CHECK_THAT(
      ErrorOf([&] {
        fake.calls->Prepare(Call(OpKind::kLrn, Pass::kForward, {.in = {.c = 8}, .out = {.c = 8}, .window = {4, 1, 1}}));
      }).what(),
      Contains("even number"));
  call = Call(OpKind::kUpdate, Pass::kUpdate, {.in = {.n = 3}, .out = {.n = 3}, .operands = 4});  // Adam
  CHECK_THAT(ErrorOf([&] { fake.calls->Prepare(call); }).what(),
             Contains("<update>") && Contains("no kernel for optimizers but sgd and sgd-momentum"));
  call = Call(OpKind::kResize, Pass::kForward, {.in = {.w = 2}, .out = {.w = 4}});
  CHECK_THAT(ErrorOf([&] { fake.calls->Prepare(call); }).what(),
             Contains("<resize>") && Contains("no kernel for ops of kind resize yet") && Contains("--device cpu"));
}

TEST_CASE("failed calls name expression, status, file and line") {
  const PluginOverFake fake;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const DeviceError memory = ErrorOf([&] { fake.calls->Malloc(Bytes{2} << 30); });
  CHECK(memory.fault() == Fault::kNoMemory);
  CHECK(memory.instruction() == kNoInstruction);
  CHECK_THAT(memory.what(), Contains("cudaMalloc(&memory, SizeOf(bytes)): out of memory (cudaErrorMemoryAllocation)") &&
                                Contains("calibrate/devices/cuda/plugin/runtime_calls.cc:"));
  int number = 0;
  FailNext("cudaMemcpyAsync", cudaErrorLaunchFailure);
  CHECK(ErrorOf([&] { fake.calls->CopyOnDevice(&number, &number, 4, stream); }).fault() == Fault::kFailed);

  const OpCall call = Call(OpKind::kConvolution, Pass::kForward, ConvolutionShape());
  const std::unique_ptr<CudaKernel> kernel = fake.calls->Prepare(call);
  DeviceBuffer in(*fake.calls, call.launch.shape.in.Elements() * 4), weight(*fake.calls, 3 * 4 * 9 * 4);
  DeviceBuffer out(*fake.calls, call.launch.shape.out.Elements() * 4), scratch(*fake.calls, kernel->workspace());
  void* const reads[] = {in.data(), weight.data()};
  void* const writes[] = {out.data()};
  const CudaArguments arguments{.reads = reads, .writes = writes, .workspace = scratch.data()};
  kernel->Run(stream, arguments);
  FailNext("convolution", CUDNN_STATUS_NOT_SUPPORTED);
  const DeviceError refused = ErrorOf([&] { kernel->Run(stream, arguments); });
  CHECK(refused.fault() == Fault::kRefused);
  CHECK_THAT(refused.what(), Contains("<convolution>: cudnnConvolutionForward(") && Contains("NOT_SUPPORTED") &&
                                 Contains("convolution.cc:"));
  FailNext("convolution", CUDNN_STATUS_EXECUTION_FAILED);
  CHECK(ErrorOf([&] { kernel->Run(stream, arguments); }).fault() == Fault::kFailed);
  FailNext("cudaEventQuery", cudaErrorIllegalAddress);
  CudaEvent* const event = fake.calls->MakeEvent(false);
  CHECK(ErrorOf([&] { fake.calls->IsDone(event); }).fault() == Fault::kFailed);
  FailNext("cudaEventQuery", cudaErrorNotReady);
  CHECK(!fake.calls->IsDone(event));
  CHECK(fake.calls->IsDone(event));
  fake.calls->Destroy(event);
  fake.calls->Destroy(stream);
}

TEST_CASE("handles that cannot be made leave nothing behind, and are tried again") {
  const PluginOverFake fake;
  const OpCall call = Call(OpKind::kRelu, Pass::kForward, {.in = {.c = 8}, .out = {.c = 8}});
  FailNext("cudaMalloc", cudaErrorMemoryAllocation);  // cuBLAS's workspace
  CHECK(ErrorOf([&] { fake.calls->Prepare(call); }).fault() == Fault::kNoMemory);
  CHECK(TheState().objects == 0);
  CHECK(fake.calls->Prepare(call) != nullptr);
}

TEST_CASE("memory, streams, events and copies") {
  const PluginOverFake fake;
  CudaCalls& calls = *fake.calls;
  CudaStream* const stream = calls.MakeStream(false);
  const Bytes free = calls.Memory().free;
  void* const memory = calls.Malloc(1024);
  CHECK(calls.Memory().free == free - 1024);
  CHECK(calls.Memory().total == Bytes{1} << 30);
  int* const host = static_cast<int*>(calls.MallocHost(1024));
  for (int i = 0; i < 256; ++i) host[i] = i;
  CudaEvent* const from = calls.MakeEvent(true);
  CudaEvent* const to = calls.MakeEvent(true);
  calls.Record(from, stream);
  calls.Copy(memory, host, 1024, Direction::kHostToDevice, stream);
  // 3 rows of 8 bytes, every 16 bytes on the host, every 32 on the device; 100 bytes further on.
  calls.CopyRows(static_cast<char*>(memory) + 128, 32, host, 16, 8, 3, Direction::kHostToDevice, stream);
  calls.Fill(memory, 7, 4, stream);
  calls.Copy(host, memory, 1024, Direction::kDeviceToHost, stream);
  calls.Record(to, stream);
  calls.Wait(stream, to);
  calls.Synchronize(stream);
  calls.Synchronize(to);
  calls.SynchronizeDevice();
  CHECK(host[0] == 0x07070707);
  CHECK(host[1] == 1);
  CHECK(host[32] == 0);  // row 0 is ints 0, 1; row 1 ints 4, 5; row 2 ints 8, 9
  CHECK(host[33] == 1);
  CHECK(host[34] == 34);
  CHECK(host[40] == 4);
  CHECK(host[49] == 9);
  CHECK(calls.Elapsed(from, to) == 1e6);  // a millisecond between two records
  calls.Spin(1234.5, stream);
  CHECK(TheState().calls.back() == "spin 1235");
  calls.Spin(0, stream);  // a launch all the same
  CHECK(TheState().calls.back() == "spin 0");
  CHECK(TheState().calls.size() == 2);
  host[0] = 1;
  calls.HoldUntil(host, stream);
  CHECK(TheState().calls.back() == "hold 100000000");
  CHECK(host[0] == 1);
  host[0] = 0;
  calls.HoldUntil(host, stream);
  CHECK(host[0] == kCudaHoldRanOut);
  CudaStream* const urgent = calls.MakeStream(true);
  CHECK(TheState().calls.back() == "stream of priority -5");
  calls.Destroy(urgent);
  void* const pooled = calls.MallocAsync(64, stream);
  calls.FreeAsync(pooled, stream);
  void* const managed = calls.MallocManaged(64);
  calls.PrefetchManaged(managed, 64, true, stream);
  calls.PrefetchManaged(managed, 64, false, stream);
  calls.Free(managed);
  calls.Free(memory);
  calls.FreeHost(host);
  calls.Destroy(from);
  calls.Destroy(to);
  calls.Destroy(stream);
}

TEST_CASE("properties are those of the device asked for, absent libraries leave gaps") {
  const PluginOverFake fake;
  const CudaProperties p = fake.calls->Properties();
  CHECK(p.name == "Fake");
  CHECK(p.compute_major == 8);
  CHECK(p.total_memory == Bytes{1} << 30);
  CHECK(p.cublas == "1.2.3");
  CHECK(p.runtime == cuda::CudaVersionText(CUDART_VERSION));
  CHECK(p.pci_bus == "0000:FF:1F.7");
  CHECK(p.numa_node == -1);
  CHECK(cuda::CudaVersionText(12040) == "12.4");
  CHECK(cuda::CudnnVersionText(8907) == "8.9.7");
  CHECK(cuda::CudnnVersionText(91900) == "9.19.0");
  CHECK(cuda::ThrottleText(0x1) == "");
  CHECK(cuda::ThrottleText(0x24) == "temperature");
  CHECK(cuda::LimitText(0x24) == "power cap");
  CHECK(cuda::ThrottleText(0xe8) == "hardware slowdown and temperature and hardware temperature and power brake");
  CHECK(cuda::ThrottleText(0x117) == "");
  CHECK(cuda::LimitText(0x117) == "application clocks and power cap and sync boost and display clocks");
  CHECK(cuda::LimitText(0xe9) == "");
}

TEST_CASE("devices that are not there are named with how many there are") {
  TheState() = {};
  TheState().devices = 2;
  CHECK(SpillwayCudaInterface() == SPILLWAY_CUDA_INTERFACE);
  CHECK_THAT(ErrorOf([] { MakePlugin(2); }).what(), Contains("no CUDA device 2: there are 2, counted from 0 to 1"));
  CHECK_THAT(ErrorOf([] { MakePlugin(-1); }).what(), Contains("no CUDA device -1"));
  TheState().devices = 0;
  CHECK_THAT(ErrorOf([] { MakePlugin(0); }).what(), Contains("no CUDA device 0: there are 0"));
  FailNext("cudaGetDeviceCount", cudaErrorInsufficientDriver);
  CHECK_THAT(ErrorOf([] { MakePlugin(0); }).what(), Contains("no CUDA device:") && Contains("the driver supports"));
}

}  // namespace spillway
