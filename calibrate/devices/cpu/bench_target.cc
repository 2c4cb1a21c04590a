#include "calibrate/devices/cpu/bench_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calibrate/devices/cpu/device.h"
#include "calibrate/measure/host.h"

namespace spillway {
namespace {

// What runs beside a kernel: large copies, one after another.
constexpr Bytes kBeside = 4 * kMiB;
constexpr Bytes kLargestCopy = 64 * kMiB;
constexpr int kMoreForCopies = 2;  // than for kernels: there are few of them, and much depends on them
constexpr int kLeastCopies = 3;
constexpr Nanos kLeastStepTiming = 2 * kMicrosecond;  // a hundred times what reading the clock takes
constexpr int kHostSteps = 15, kHostRounds = 20, kStreamRepetitions = 25;

}  // namespace

CpuBenchTarget::CpuBenchTarget(const CpuBenchOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      facts_(ReadHostFacts()),
      cores_(ChooseCores(AllowedCores(), options.threads)),
      pinned_(cores_.compute),
      link_(options.link_rate, clock),
      kernels_(options.threads),
      memory_(facts_.LastCache(), facts_.l2_cache) {}

CpuBenchTarget::~CpuBenchTarget() = default;

Sample CpuBenchTarget::Identity() const {
  Sample sample;
  sample.device = fmt::format("cpu: {}", facts_.processor);
  sample.host = fmt::format("{} cores", facts_.cores);
  const std::string rate = options_.link_rate > 0 ? fmt::format("{:g} GB/s", options_.link_rate) : "memcpy";
  sample.driver = fmt::format("spillway {}, {}, {} thread{}, link {}", options_.version, CpuLibrary(), options_.threads,
                              options_.threads == 1 ? "" : "s", rate);
  sample.kind = BenchProtocolName(options_.protocol);
  return sample;
}

std::vector<BenchVariant> CpuBenchTarget::Variants(const BenchItem& item) {
  const auto [found, is_new] = variants_.try_emplace({item.from.get(), item.op});
  if (!is_new) return found->second;
  const OpCall call = CallOf(item.from->step.ops[Index(item.op)]);
  for (const CpuAlgorithm& algorithm : kernels_.Algorithms(call)) {
    found->second.push_back({algorithm.algorithm, algorithm.workspace});
  }
  return found->second;
}

double CpuBenchTarget::Waiting() { return options_.threads == 1 ? MeasureWaiting(clock_, own_) : 0; }

CopyMemory& CpuBenchTarget::MemoryOf(const std::string& direction) {
  return copy_memory_.try_emplace(direction, std::max(kLargestCopy, 2 * memory_.last_cache())).first->second;
}

LoopResult CpuBenchTarget::MeasureKernel(const BenchItem& item, const BenchVariant& variant, LoopOptions options) {
  KernelSubject subject(*item.from, item.op, variant.algorithm, options_.protocol, kernels_, memory_);
  options.most_runs = std::min(options.most_runs, subject.sets());
  // In a step a kernel runs once, then others run.
  if (options_.protocol == BenchProtocol::kStep) options.least_timing = kLeastStepTiming;
  std::optional<CopyingBeside> beside;
  if (item.contention != "none") {
    beside.emplace(link_, DirectionOf(item.contention), kBeside, MemoryOf(item.contention), cores_.others);
  }
  return MeasureLoop(subject, {&clock_, options_.threads == 1 ? &own_ : nullptr}, options);
}

LoopResult CpuBenchTarget::MeasureCopy(const BenchItem& item, LoopOptions options) {
  const PinnedHere pinned(cores_.others);
  WakePunctually();
  options.time_limit *= kMoreForCopies;
  options.least = std::min(options.least, kLeastCopies);
  CopySubject subject(link_, DirectionOf(item.direction), item.bytes, MemoryOf(item.direction));
  std::optional<CopyingBeside> beside;
  if (item.contention != "none") {
    beside.emplace(link_, DirectionOf(item.contention), item.bytes, MemoryOf(item.contention), cores_.others);
  }
  return MeasureLoop(subject, {&clock_, nullptr}, options);
}

LoopResult CpuBenchTarget::MeasureHost(const BenchItem& item) {
  if (host_calls_.empty()) {
    CpuDevice device({.link_rate = options_.link_rate, .threads = options_.threads}, clock_);
    host_calls_ = MeasureHostCalls(device, clock_, kHostSteps, kHostRounds);
    host_calls_.merge(MeasureStreams(cores_, clock_, kStreamRepetitions));
  }
  return host_calls_[item.call];
}

LoopResult CpuBenchTarget::Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) {
  switch (item.kind) {
    case BenchItem::Kind::kKernel:
      return MeasureKernel(item, variant, options);
    case BenchItem::Kind::kCopy:
      return MeasureCopy(item, options);
    case BenchItem::Kind::kHost:
      break;
  }
  return MeasureHost(item);
}

}  // namespace spillway
