// Kernels as they are measured on the CUDA device, one behind the other between two marks: the time that comes out is the
// kernel's own, whatever state its operands are in.
#include <catch2/catch.hpp>
#include <set>

#include "tests/cuda/cuda_bench.h"

namespace spillway {
namespace {

using Did = CudaStandIn::Work;

}  // namespace

TEST_CASE("every op of a step is measured at its own time, whatever state its operands are in") {
  const auto network = SmallBenchNetwork();
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    CudaStandIn cuda(UsualStandIn());
    {
      CudaBenchMemory memory(cuda, 2 * kMiB);
      CudaTimer timer(cuda);
      for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
        INFO(BenchProtocolName(protocol) << " " << network->step.ops[static_cast<std::size_t>(op)].name);
        CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, protocol, cuda, memory, timer);
        LoopOptions options = FewTimings();
        options.most_runs = std::min(options.most_runs, subject.most_runs());
        const LoopResult result = MeasureLoop(subject, {.wall = &timer, .limit = &cuda}, options);
        CHECK(result.median == kKernel);
        CHECK(result.p90 == kKernel);
      }
    }
    CHECK(cuda.leaks().empty());
    CHECK(cuda.violations() == std::vector<std::string>{});
  }
}

TEST_CASE("operands wander through more than the cache holds, and fresh ones are written just before") {
  const auto network = SmallBenchNetwork();
  CudaStandIn cuda(UsualStandIn());
  CudaBenchMemory memory(cuda, 64 * kKiB);
  CudaTimer timer(cuda);
  const OpId op = FirstConvolution(*network);
  CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, BenchProtocol::kStep, cuda, memory, timer);
  subject.Prepare(1);
  subject.Run(1);
  cuda.ForgetDone();
  std::set<const void*> inputs;
  for (int k = 0; k < 4; ++k) {
    subject.Prepare(2);
    subject.Run(2);
  }
  const std::vector<CudaStandIn::Done>& done = cuda.done();
  for (std::size_t k = 0; k < done.size(); ++k) {
    if (done[k].work != Did::kKernel) continue;
    inputs.insert(done[k].reads.at(0));
    // What the step's last op wrote is fresh for its first one: the copy before the kernel wrote some operand of it. A
    // spin lies between.
    REQUIRE(k > 1);
    CHECK(done[k - 1].work == Did::kSpin);
    CHECK(done[k - 2].work == Did::kOnDevice);
  }
  CHECK(inputs.size() == 8);  // another set each time
}

TEST_CASE("masks and saved statistics are made by running the forward op") {
  const auto network = SmallBenchNetwork();
  StandInOptions options = UsualStandIn();
  options.compute = true;
  CudaStandIn cuda(options);
  CudaBenchMemory memory(cuda, 64 * kKiB);
  CudaTimer timer(cuda);
  int forwards = 0;
  for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
    const Op& node = network->step.ops[static_cast<std::size_t>(op)];
    if (!NeedsForward(node)) continue;
    cuda.ForgetDone();
    CudaKernelSubject subject(*network, op, ItemOf(network, op).launch, BenchProtocol::kWarm, cuda, memory, timer);
    subject.Run(1);
    int kernels = 0;
    for (const CudaStandIn::Done& done : cuda.done()) kernels += done.work == Did::kKernel ? 1 : 0;
    INFO(node.name);
    CHECK(kernels == 2);  // of the one set, and this
    ++forwards;
  }
  CHECK(forwards == 5);  // batch norm, max pool, LRN, dropout, loss
  CHECK(cuda.violations() == std::vector<std::string>{});
}

TEST_CASE("recording events takes time on the device, and none of the kernel's") {
  const auto network = SmallBenchNetwork();
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    StandInOptions options = UsualStandIn();
    options.record_time = 700;
    CudaStandIn cuda(options);
    CudaBenchMemory memory(cuda, 2 * kMiB);
    CudaTimer timer(cuda);
    CudaKernelSubject subject(*network, 0, ItemOf(network, 0).launch, protocol, cuda, memory, timer);
    CHECK(MeasureLoop(subject, {.wall = &timer, .limit = &cuda}, FewTimings()).median == kKernel);
  }
}

}  // namespace spillway
