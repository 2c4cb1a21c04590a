#include "calibrate/devices/cuda/bench_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibrate/devices/cuda/bench_checks.h"
#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/devices/cuda/known_launches.h"
#include "calibrate/host/host_facts.h"
#include "calibrate/measure/guard.h"
#include "calibrate/measure/refused.h"
#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "sim/execute/device.h"

namespace spillway {
namespace {

// Events tell half a microsecond.
constexpr Nanos kLeastTiming = 100 * kMicrosecond;
constexpr int kWarmUpRuns = 3;  // the first loads code, the second is held back for the first time
constexpr int kMoreForCopies = 2;
constexpr int kLeastCopies = 5;
constexpr int kRepeats = 2;  // of what was throttled
// The clock has settled when it changes by less than this from one look to the next.
constexpr int kSettledMegahertz = 15;
constexpr Nanos kCools = kSecond;           // idle for longer, the device may have lowered its clock
constexpr std::int64_t kWarmUpSize = 4096;  // of a square product

// Errors that do not go away come back from the next call that waits.
bool StillWorks(CudaCalls& calls) {
  try {
    calls.SynchronizeDevice();
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

}  // namespace

CudaBenchTarget::~CudaBenchTarget() = default;

double CudaBenchTarget::Load() const { return ReadLoad(); }

// What the library refuses, or memory has no room for, is the launch's matter, and so is what fails while the device goes
// on: a call that some algorithm cannot carry out. A device that was lost says so again when it is waited for. Everything
// is dropped, since others may fit when this one does not.
template <typename Call>
auto CudaBenchTarget::Judged(const Call& call) {
  try {
    return call();
  } catch (const DeviceError& error) {
    const Fault fault = error.fault();
    if (fault != Fault::kRefused && fault != Fault::kNoMemory && fault != Fault::kFailed) throw;
    if (!StillWorks(*calls_)) throw;
    memory_.DropAll();
    if (fault == Fault::kNoMemory) throw NoRoom(error.what());
    throw UserError(error.what());
  } catch (const UserError&) {
    memory_.DropAll();
    throw;
  }
}

std::vector<BenchVariant> CudaBenchTarget::Variants(const BenchItem& item) {
  if (!HasAlgorithms(item.launch.kind)) return {{}};
  return AlgorithmsOf(item);
}

const std::vector<BenchVariant>& CudaBenchTarget::AlgorithmsOf(const BenchItem& item) {
  const OpCall call = BenchCallOf(*item.from, item.op, item.launch);
  if (const auto* const known = variants_.Find(call.launch)) return *known;
  std::vector<BenchVariant> variants;
  for (const CudaAlgorithm& algorithm : Judged([&] { return calls_->Algorithms(call); })) {
    if (algorithm.workspace > options_.workspace_limit) continue;
    variants.push_back({.algorithm = algorithm.algorithm,
                        .workspace = algorithm.workspace,
                        .deterministic = algorithm.deterministic ? 1 : 0,
                        .rank = algorithm.rank});
  }
  std::stable_sort(variants.begin(), variants.end(), [](const BenchVariant& a, const BenchVariant& b) {
    return static_cast<unsigned>(a.rank) < static_cast<unsigned>(b.rank);  // those without a rank last
  });
  if (variants.empty()) {
    throw UserError(fmt::format("{} of {}{}: the library has no algorithm for it",
                                item.from->step.ops[static_cast<std::size_t>(item.op)].name, item.from->name,
                                FormatText(item.launch)));
  }
  return variants_.Keep(call.launch, std::move(variants));
}

// Twenty products at a time until the clock stands still; a quarter of the time where it only idled for a while, as it
// does while the profile is fitted between two groups.
void CudaBenchTarget::WarmUp() {
  if (options_.warm_up == 0) return;
  const Nanos least = !warm_ ? options_.warm_up : clock_.Now() - busy_ > kCools ? options_.warm_up / 4 : 0;
  if (least == 0) return;
  warm_ = true;
  constexpr int kAtATime = 20, kMostTimes = 3;
  const std::unique_ptr<CudaKernel> kernel = calls_->Prepare(CallOf(ProductOf(kWarmUpSize)));
  const Bytes bytes = kWarmUpSize * kWarmUpSize * static_cast<Bytes>(sizeof(float));
  std::byte* const ring = memory_.Block("ring").AtLeast(3 * bytes);
  void* const workspace = kernel->workspace() > 0 ? memory_.Block("workspace").AtLeast(kernel->workspace()) : nullptr;
  memory_.Fill(ring, 2 * bytes, false, timer_.stream());
  void* const reads[] = {ring, ring + bytes};
  void* const writes[] = {ring + 2 * bytes};
  const Nanos begin = clock_.Now();
  for (int last = -1; clock_.Now() - begin < kMostTimes * least;) {
    for (int k = 0; k < kAtATime; ++k) {
      kernel->Run(timer_.stream(), {.reads = reads, .writes = writes, .workspace = workspace});
    }
    calls_->Synchronize(timer_.stream());
    const int now = calls_->Clocks().sm_mhz;
    const bool settled = std::abs(now - last) < kSettledMegahertz;
    if (clock_.Now() - begin >= least && settled) return;
    last = now;
  }
}

// A row of TF32 says so of a kernel that the library ran so, not of one that it was allowed to.
void CudaBenchTarget::CheckTf32(const BenchItem& item, const Launch& launch) {
  if (launch.math != MathMode::kTf32 || item.round > 1 || item.contention != "none") return;
  const OpCall call = BenchCallOf(*item.from, item.op, launch);
  if (RoundingOf(call, item.from->step, item.op, *calls_, memory_, timer_.stream()) != Rounding::kAsFp32) return;
  throw UserError(NameOf(item) + ": TF32 is allowed, but results are those of fp32: no TF32 kernel ran");
}

LoopResult CudaBenchTarget::MeasureKernel(const BenchItem& item, const BenchVariant& variant, LoopOptions options) {
  WarmUp();
  Launch launch = item.launch;
  launch.algorithm = variant.algorithm;
  launch.workspace = variant.workspace;
  CheckTf32(item, launch);
  CudaKernelSubject subject(*item.from, item.op, launch, options_.protocol, *calls_, memory_, timer_);
  subject.SetHostClock(&clock_);
  std::optional<CudaCopiesBeside> beside;
  if (item.contention != "none") {
    beside.emplace(*calls_, memory_, DirectionOf(item.contention), options_.beside);
    subject.SetBeside(&*beside);
  }
  options.warm_up = std::max(options.warm_up, kWarmUpRuns);
  options.least_timing = std::max(options.least_timing, kLeastTiming);
  options.most_runs = std::min(options.most_runs, subject.most_runs());
  LoopResult result = MeasureLoop(subject, {.wall = &timer_, .limit = &clock_}, options);
  result.unheld = subject.unheld();
  result.host = subject.issue_time();
  if (subject.clock_mhz() > 0) result.sm_clock_mhz = static_cast<int>(std::lround(subject.clock_mhz()));
  return result;
}

LoopResult CudaBenchTarget::TimeCopies(CudaTimedCopies& subject, LoopOptions options) {
  options.warm_up = std::max(options.warm_up, kWarmUpRuns);
  options.least_timing = std::max(options.least_timing, kLeastTiming);
  options.most_runs = std::min(options.most_runs, subject.most_runs());
  options.time_limit *= kMoreForCopies;
  options.least = std::min(options.least, kLeastCopies);
  LoopResult result = MeasureLoop(subject, {.wall = &timer_, .limit = &clock_}, options);
  result.unheld = subject.unheld();
  return result;
}

LoopResult CudaBenchTarget::MeasureCopy(const BenchItem& item, const LoopOptions& options) {
  if (item.from_device >= 0) {
    CudaPeerSubject between(item, *calls_, timer_, options_.wander);
    return TimeCopies(between, options);
  }
  if (item.memory == kManagedTouch) {
    CudaTouchSubject touched(item, *calls_, memory_, timer_, clock_);
    return TimeCopies(touched, options);
  }
  const bool pinned = item.memory.empty() || item.memory == CopyKind();
  if (pinned && item.direction != "d2d") copy_check_.Check(DirectionOf(item.direction), timer_.stream());
  CudaCopySubject subject(item, *calls_, memory_, timer_, options_.wander, clock_);
  std::optional<CudaCopiesBeside> beside;
  if (item.contention != "none") {
    beside.emplace(*calls_, memory_, DirectionOf(item.contention), item.bytes);
    subject.SetBeside(&*beside);
  }
  return TimeCopies(subject, options);
}

LoopResult CudaBenchTarget::MeasureHost(const BenchItem& item) {
  if (host_calls_.empty()) {
    host_calls_ = MeasureCudaHostCalls(*calls_, memory_, timer_, clock_, options_.host_repetitions);
  }
  return host_calls_[item.call];
}

LoopResult CudaBenchTarget::MeasureOnce(const BenchItem& item, const BenchVariant& variant,
                                        const LoopOptions& options) {
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

// Idle for a moment, which cools.
void CudaBenchTarget::Settle() {
  calls_->Spin(static_cast<double>(options_.warm_up) / 4, timer_.stream());
  calls_->Synchronize(timer_.stream());
}

LoopResult CudaBenchTarget::Steady(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) {
  for (int take = 0;; ++take) {
    LoopResult result = MeasureOnce(item, variant, options);
    busy_ = clock_.Now();
    const CudaClocks clocks = calls_->Clocks();
    const bool kernel = item.kind == BenchItem::Kind::kKernel;
    if (result.sm_clock_mhz < 0) result.sm_clock_mhz = clocks.sm_mhz;
    result.throttled = kernel && !clocks.throttled.empty();
    if (kernel) result.limited = clocks.limited;
    if (!result.throttled || result.cut_short || take == kRepeats) return result;
    Settle();
  }
}

LoopResult CudaBenchTarget::Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) {
  return Judged([&] { return Steady(item, variant, options); });
}

}  // namespace spillway
