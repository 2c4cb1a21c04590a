// Kernels and copies of the CPU device can be measured: every kind of op, in every state of its operands. What they take
// decides nothing here.
#include <catch2/catch.hpp>

#include "calibrate/devices/cpu/bench_kernel.h"
#include "calibrate/devices/cpu/bench_target.h"
#include "calibrate/host/host_facts.h"
#include "calibrate/measure/plan.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/execute/clock.h"
#include "tests/bench_network.h"

namespace spillway {
namespace {

constexpr Bytes kReach = kMiB;

OpId Find(const TrainingStep& step, const std::string& name) {
  for (std::size_t id = 0; id < step.ops.size(); ++id) {
    if (step.ops[id].name == name) return static_cast<OpId>(id);
  }
  FAIL("no op " << name);
  return kNoOp;
}

const BenchOperand& OperandNamed(const std::vector<BenchOperand>& operands, const TrainingStep& step,
                                 const std::string& name) {
  for (const BenchOperand& operand : operands) {
    if (step.tensors[static_cast<std::size_t>(operand.tensor)].name == name) return operand;
  }
  FAIL("no operand " << name);
  return operands.front();
}

LoopOptions Once() {
  LoopOptions options;
  options.least = options.most = 1;
  options.least_timing = 1;
  return options;
}

}  // namespace

TEST_CASE("operands are fresh or not as the step leaves them") {
  const Network network = EveryOp();
  const TrainingStep step = BuildTrainingStep(network);
  // The ReLU reads what the batch norm before it wrote; its own result nobody has touched.
  const OpId relu = Find(step, "relu_conv1:forward");
  const std::vector<BenchOperand> forward = BenchOperands(step, relu, 100);
  REQUIRE(forward.size() == 2);
  CHECK(forward[0].since == 0);
  CHECK(forward[0].fresh);
  CHECK_FALSE(forward[0].sparse);
  CHECK_FALSE(forward[1].fresh);
  // The convolution behind it reads a map with zeros.
  const std::vector<BenchOperand> conv = BenchOperands(step, Find(step, "conv2:forward"), 100);
  CHECK(OperandNamed(conv, step, "relu_conv1").fresh);
  CHECK(OperandNamed(conv, step, "relu_conv1").sparse);
  CHECK(OperandNamed(conv, step, "relu_conv1").bytes == 4096);
  // On the way back the map is old, the gradient new; with a longer reach the map is new too.
  const OpId back = Find(step, "conv2:backward_filter");
  CHECK_FALSE(OperandNamed(BenchOperands(step, back, 4096), step, "relu_conv1").fresh);
  CHECK(OperandNamed(BenchOperands(step, back, kReach), step, "relu_conv1").fresh);
  // Offsets keep operands apart.
  for (std::size_t k = 1; k < conv.size(); ++k) CHECK(conv[k].offset >= conv[k - 1].offset + conv[k - 1].bytes);
}

TEST_CASE("a convolution finds its workspace fresh if little was touched since the one before") {
  const TrainingStep step = BuildTrainingStep(EveryOp());
  const OpId first = Find(step, "conv1:forward"), second = Find(step, "conv2:forward");
  REQUIRE(first < second);
  Bytes between = 0;
  for (OpId op = first + 1; op < second; ++op) {
    REQUIRE_FALSE(HasAlgorithms(step.ops[static_cast<std::size_t>(op)].kind));
    for (const BenchOperand& operand : BenchOperands(step, op, 0)) between += operand.bytes;
  }
  REQUIRE(between > 0);
  CHECK(FindsWorkspaceFresh(step, second, between));
  CHECK_FALSE(FindsWorkspaceFresh(step, second, between - 1));
  // Its two gradients come one right after the other.
  const OpId filter = Find(step, "conv2:backward_filter"), data = Find(step, "conv2:backward_data");
  REQUIRE(std::abs(filter - data) == 1);
  CHECK(FindsWorkspaceFresh(step, std::max(filter, data), 0));
  // Alone in a step it is its own next one, a whole step away.
  NetworkBuilder b("alone", {.n = 2, .c = 2, .h = 4, .w = 4});
  const TrainingStep alone = BuildTrainingStep(b.Loss(b.Linear("fc", kNetworkInput, 3)));
  CHECK_FALSE(FindsWorkspaceFresh(alone, 0, kGB));
}

TEST_CASE("every op of a step can be measured, whatever state its operands are in") {
  const auto network = MakeBenchNetwork("everything", EveryOp(), {});
  const SteadyClock clock;
  const ThreadClock own;
  CpuKernels kernels;
  BenchMemory memory(2 * kMiB, 64 * kKiB);
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    for (OpId op = 0; op < static_cast<OpId>(network->step.ops.size()); ++op) {
      INFO(BenchProtocolName(protocol) << " " << network->step.ops[static_cast<std::size_t>(op)].name);
      KernelSubject subject(*network, op, 0, protocol, kernels, memory);
      LoopOptions options;
      options.least = 2;
      options.most = 3;
      options.most_runs = subject.sets();
      const LoopResult result = MeasureLoop(subject, {&clock, &own}, options);
      CHECK(result.median > 0);
      CHECK(result.runs <= subject.sets());
    }
  }
}

TEST_CASE("more sets than the ring holds are never asked for") {
  const auto network = MakeBenchNetwork("everything", EveryOp(), {});
  CpuKernels kernels;
  BenchMemory memory(16 * kKiB, 4 * kKiB);
  KernelSubject subject(*network, 0, 0, BenchProtocol::kStep, kernels, memory);
  for (int runs = 1; runs <= subject.sets(); ++runs) {
    subject.Prepare(runs);
    subject.Run(runs);
  }
  KernelSubject warm(*network, 0, 0, BenchProtocol::kWarm, kernels, memory);
  CHECK(warm.sets() == 1);
}

TEST_CASE("the target measures kernels, copies and host calls") {
  const SteadyClock clock;
  CpuBenchTarget target({.link_rate = 4, .version = "test"}, clock);
  CHECK(target.Identity().driver.find("link 4 GB/s") != std::string::npos);
  CHECK(target.Identity().driver.find(CpuLibrary()) != std::string::npos);
  const auto network = MakeBenchNetwork("everything", EveryOp(), {});
  int kinds = 0;
  for (const BenchItem& item : MakeBenchPlan({network}, {}, {.quick = true})) {
    const bool first = item.group != BenchGroup::kAgain && item.bytes <= kMiB;
    if (!first) continue;
    ++kinds;
    BenchVariant variant;
    if (item.kind == BenchItem::Kind::kKernel) {
      const std::vector<BenchVariant> variants = target.Variants(item);
      REQUIRE_FALSE(variants.empty());
      variant = variants.back();
    }
    const LoopResult result = target.Measure(item, variant, Once());
    CHECK(result.median >= 0);
    if (item.kind != BenchItem::Kind::kHost) CHECK(result.median > 0);
  }
  CHECK(kinds > 40);
}

TEST_CASE("streams begin and wake up") {
  const SteadyClock clock;
  const auto times = MeasureStreams(ChooseCores(AllowedCores(), 1), clock, 3);
  CHECK(times.at("thread_start").median > 0);
  CHECK(times.at("event_wake").median > 0);
}

TEST_CASE("a launch larger than the machine is refused by name") {
  const auto network = MakeBenchNetwork("huge", BuildZooNetwork("cifar-vgg", {.batch = 1'000'000}), {});
  CpuKernels kernels;
  BenchMemory memory(kMiB, kKiB);
  const OpId relu = Find(network->step, "relu_conv1_1:forward");
  CHECK_THROWS_WITH(KernelSubject(*network, relu, 0, BenchProtocol::kStep, kernels, memory),
                    Catch::Contains("relu_conv1_1:forward of huge") && Catch::Contains("too much"));
}

TEST_CASE("this machine says what it is") {
  const HostFacts facts = ReadHostFacts();
  CHECK(facts.cores >= 1);
  CHECK_FALSE(facts.processor.empty());
  CHECK(ReadLoad() >= 0);
}

}  // namespace spillway
