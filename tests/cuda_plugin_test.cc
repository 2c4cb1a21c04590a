// The CUDA plugin's sources against a fake of the C libraries (cuda_fake_c/): wrong arguments, descriptors and factors
// show here without a GPU.
#include <catch2/catch.hpp>

#include "calibrate/cuda/plugin/entry.h"
#include "calibrate/cuda/plugin/nvml.h"
#include "calibrate/cuda/plugin/runtime_calls.h"
#include "tests/cuda_fake_c/fake.h"
#include "tests/cuda_kernel_compare.h"
#include "tests/training_networks.h"

extern "C" int SpillwayCudaInterface();
extern "C" void SpillwayMakeCudaCalls(int device, const spillway::cuda::PluginHost& host,
                                      std::shared_ptr<spillway::CudaCalls>& calls);

namespace spillway {
namespace {

using Catch::Contains;
using cuda_fake::TheState;

std::string TextOf(const Launch& launch) { return std::string("<") + OpKindName(launch.kind) + ">"; }

std::shared_ptr<CudaCalls> Make(int device = 0) {
  std::shared_ptr<CudaCalls> calls;
  SpillwayMakeCudaCalls(device, {.launch_text = TextOf}, calls);
  return calls;
}

// Calls for one test; everything is given back at its end.
class Fake {
 public:
  Fake() {
    TheState() = {};
    calls = Make();
  }
  ~Fake() {
    calls.reset();
    CHECK(TheState().device.empty());
    CHECK(TheState().host.empty());
    CHECK(TheState().objects == 0);
  }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;
  std::shared_ptr<CudaCalls> calls;
};

void FailNext(const char* function, int status) {
  TheState().fail_function = function;
  TheState().fail_status = status;
}

// What the call throws.
template <typename Function>
DeviceError ErrorOf(Function function) {
  try {
    function();
  } catch (const DeviceError& error) {
    return error;
  }
  FAIL("no DeviceError");
  return {Fault::kFailed, 0, ""};
}

OpShape ConvolutionShape() {
  return {.in = {.n = 2, .c = 4, .h = 6, .w = 5},
          .out = {.n = 2, .c = 3, .h = 6, .w = 5},
          .window = {1, 3, 3},
          .pad = {0, 1, 1}};
}

struct Case {
  const char* name;
  Network (*build)();
};
Network ResNet() { return BuildZooNetwork("cifar-resnet20", {.batch = 2, .image = 8}); }
const std::vector<Case> kCases = {
    {"everything", Everything}, {"deep", Deep}, {"uneven", Uneven}, {"cifar-resnet20", ResNet}};

}  // namespace

TEST_CASE("the plugin computes every op of training steps as the CPU device does") {
  const Case& test = GENERATE(from_range(kCases));
  const Fake fake;
  std::vector<StepOptions> all = StepOptionTable();
  all.push_back(all[0]);
  all.back().inplace_gradient = all.back().inplace_relu = true;
  for (const StepOptions& options : all) {
    INFO(test.name << ' ' << options.name);
    StepCompare compare(*fake.calls, test.build(), options, 2e-5);
    compare.Run();
    compare.Run();  // momenta and running statistics are not 0 now
    CHECK(compare.compared() > 20);
  }
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
  for (const OpKind kind : {OpKind::kConvolution, OpKind::kLinear}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
      CHECK(seen.count({kind, pass}) == 1);
    }
  }
  CHECK(seen.count({OpKind::kAdd, Pass::kForward}) == 1);
  CHECK(seen.count({OpKind::kBias, Pass::kForward}) == 1);
  CHECK(seen.count({OpKind::kBias, Pass::kBackwardBias}) == 1);
  CHECK(accumulated.count({OpKind::kConvolution, Pass::kBackwardData}) == 1);
  CHECK(accumulated.count({OpKind::kConcat, Pass::kBackward}) == 1);
  CHECK(accumulated.size() >= 4);
}

// Adding to a gradient is rare in networks: every backward op that may do it, on numbers of its own.
TEST_CASE("results are added to where the call says so") {
  const Fake fake;
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
  const Fake fake;
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

TEST_CASE("an update needs no kernel of our own, dropout does") {
  const Fake fake;
  TheState().has_own_kernels = false;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const OpShape shape{.in = {.n = 1, .c = 3}, .out = {.n = 1, .c = 3}, .operands = 3};
  DeviceBuffer gradient(*fake.calls, 12), parameter(*fake.calls, 12), velocity(*fake.calls, 12);
  gradient.Put(Values{1, 2, 3}.data(), stream);
  parameter.Put(Values{10, 20, 30}.data(), stream);
  velocity.Put(Values{4, 0, -4}.data(), stream);
  void* const reads[] = {gradient.data(), parameter.data(), velocity.data()};
  void* const writes[] = {parameter.data(), velocity.data()};
  const std::unique_ptr<CudaKernel> kernel = fake.calls->Prepare(Call(OpKind::kUpdate, Pass::kUpdate, shape));
  CHECK(kernel->implementation() == "cublas");
  kernel->Run(stream, {.reads = reads, .writes = writes, .learning_rate = 2, .momentum = 0.5f});
  CHECK(velocity.Get<float>(stream) == Values{3, 2, 1});     // 4/2 + 1, 0/2 + 2, -4/2 + 3
  CHECK(parameter.Get<float>(stream) == Values{4, 16, 28});  // less twice that
  const DeviceError error =
      ErrorOf([&] { fake.calls->Prepare(Call(OpKind::kDropout, Pass::kForward, {.in = {.c = 3}, .out = {.c = 3}})); });
  CHECK(error.fault() == Fault::kRefused);
  CHECK_THAT(error.what(), Contains("<dropout>") && Contains("nvcc"));
  fake.calls->Destroy(stream);
}

TEST_CASE("convolutions: algorithms by the numbers of AlgorithmNames, ranked, the impossible left out") {
  const Fake fake;
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
  const Fake fake;
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

TEST_CASE("true fp32 and TF32 are told to the libraries apart") {
  const Fake fake;
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
  const Fake fake;
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
}

TEST_CASE("failed calls name expression, status, file and line") {
  const Fake fake;
  CudaStream* const stream = fake.calls->MakeStream(false);
  const DeviceError memory = ErrorOf([&] { fake.calls->Malloc(Bytes{2} << 30); });
  CHECK(memory.fault() == Fault::kNoMemory);
  CHECK(memory.instruction() == kNoInstruction);
  CHECK_THAT(memory.what(), Contains("cudaMalloc(&memory, SizeOf(bytes)): out of memory (cudaErrorMemoryAllocation)") &&
                                Contains("calibrate/cuda/plugin/runtime_calls.cc:"));
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
  const Fake fake;
  const OpCall call = Call(OpKind::kRelu, Pass::kForward, {.in = {.c = 8}, .out = {.c = 8}});
  FailNext("cudaMalloc", cudaErrorMemoryAllocation);  // cuBLAS's workspace
  CHECK(ErrorOf([&] { fake.calls->Prepare(call); }).fault() == Fault::kNoMemory);
  CHECK(TheState().objects == 0);
  CHECK(fake.calls->Prepare(call) != nullptr);
}

TEST_CASE("memory, streams, events and copies") {
  const Fake fake;
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
  const Fake fake;
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
  CHECK(SpillwayCudaInterface() == cuda::kInterface);
  CHECK_THAT(ErrorOf([] { Make(2); }).what(), Contains("no CUDA device 2: there are 2, counted from 0 to 1"));
  CHECK_THAT(ErrorOf([] { Make(-1); }).what(), Contains("no CUDA device -1"));
  TheState().devices = 0;
  CHECK_THAT(ErrorOf([] { Make(0); }).what(), Contains("no CUDA device 0: there are 0"));
  FailNext("cudaGetDeviceCount", cudaErrorInsufficientDriver);
  CHECK_THAT(ErrorOf([] { Make(0); }).what(), Contains("no CUDA device:") && Contains("the driver supports"));
}

}  // namespace spillway
