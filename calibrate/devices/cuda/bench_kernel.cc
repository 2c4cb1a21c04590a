#include "calibrate/devices/cuda/bench_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

// Calls that one run may come to, so that held streams never fill their queues: kernels of one library call, their two
// pairs of events and the spin between, the copies that make operands fresh.
constexpr int kKernelsOfCall = 6, kCallsAround = 5;

}  // namespace

OpCall BenchCallOf(const BenchNetwork& network, OpId op, const Launch& launch) {
  OpCall call = CallOf(network.step.ops[Index(op)]);
  call.launch.algorithm = launch.algorithm;
  call.launch.workspace = launch.workspace;
  call.launch.math = launch.math;
  return call;
}

CudaKernelSubject::CudaKernelSubject(const BenchNetwork& network, OpId op, const Launch& launch, BenchProtocol protocol,
                                     CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer)
    : calls_(calls),
      timer_(timer),
      kernel_(calls.Prepare(BenchCallOf(network, op, launch))),
      workspace_(kernel_->workspace() > 0 ? memory.Block("workspace").AtLeast(kernel_->workspace()) : nullptr),
      sets_(network, op, protocol, calls, memory, timer.stream()),
      each_(protocol == BenchProtocol::kStep) {
  const int calls_of_run = kKernelsOfCall + kCallsAround + static_cast<int>(sets_.ring().operands().size());
  most_runs_ = CudaTimer::kMostHeld / calls_of_run;
  if (each_) most_runs_ = std::min(most_runs_, sets_.ring().sets());
}

CudaKernelSubject::~CudaKernelSubject() { timer_.Drain(); }

void CudaKernelSubject::Prepare(int runs) { sets_.Rewind(runs); }

// Adds to `issues` what the call costs the host; nullptr: it is not timed.
void CudaKernelSubject::RunOn(std::byte* set, std::vector<double>* issues) {
  const CudaArguments arguments = sets_.ArgumentsOn(set, workspace_, stream_number_++);
  const Nanos begin = issues == nullptr ? 0 : host_clock_->Now();
  kernel_->Run(timer_.stream(), arguments);
  if (issues != nullptr) issues->push_back(static_cast<double>(host_clock_->Now() - begin));
}

double CudaKernelSubject::issue_time() const { return issues_.empty() ? 0 : Median(issues_); }

// Times a pair of events with nothing between them: with kStep before each run, else once before and once after all
// runs.
void CudaKernelSubject::TimeNothing() {
  timer_.Start();
  timer_.Stop();
}

void CudaKernelSubject::IssueRuns(int runs, std::vector<double>* issues) {
  if (!each_) {
    TimeNothing();
    timer_.Start();
  }
  for (int k = 0; k < runs; ++k) {
    std::byte* const set = sets_.ring().Ahead(k);
    if (each_) {
      sets_.Freshen(set);
      calls_.Spin(1, timer_.stream());  // what it costs to go from copies to kernels is not this one's
      TimeNothing();
      timer_.Start();
    }
    RunOn(set, issues != nullptr && k < kTimedIssues ? issues : nullptr);
    if (each_) timer_.Stop();
  }
  if (each_) return;
  timer_.Stop();
  TimeNothing();
}

// With kStep each run is timed by itself, after its operands have been made fresh; otherwise all runs are timed
// together. The time of an empty pair of events, measured at the same moment, is subtracted.
double CudaKernelSubject::TryRun(int runs, bool hold) {
  const ReleaseAtEnd release(timer_);
  if (hold) timer_.Hold(each_ ? 2 * runs : 3);
  if (beside_ != nullptr) beside_->Begin(timer_.stream());
  std::vector<double> issues;
  timer_.MarkBegin();
  IssueRuns(runs, hold && host_clock_ != nullptr ? &issues : nullptr);
  timer_.MarkEnd();
  timer_.Finish();
  if (!timer_.ran_out()) issues_.insert(issues_.end(), issues.begin(), issues.end());
  clock_.cycles += timer_.between_marks().cycles;
  clock_.nanoseconds += timer_.between_marks().nanoseconds;
  // Event pairs alternate: an even entry of times() timed nothing, the odd entry after it timed runs.
  std::vector<double> nothing;
  for (std::size_t k = 0; k < timer_.times().size(); k += 2) nothing.push_back(timer_.times()[k]);
  const double taken_off = Median(std::move(nothing));
  double time = 0;
  for (std::size_t k = 1; k < timer_.times().size(); k += 2) time += std::max(0.0, timer_.times()[k] - taken_off);
  return time;
}

// The first time a kernel's code may have to be loaded, which waits for the device: nothing may hold it then. Where a
// hold runs out (a library's call may be a hundred kernels, and fill the queue), fewer runs follow the next one; in the
// end there is none.
void CudaKernelSubject::Run(int runs) {
  constexpr int kFewer = 4;
  double time = 0;
  for (int left = runs; left > 0;) {
    const bool hold = loaded_ && at_once_ > 0;
    const int now = hold ? std::min(left, at_once_) : left;
    const double taken = TryRun(now, hold);
    const bool covered = beside_ == nullptr || beside_->EndAndTell() || !loaded_;
    if (timer_.ran_out()) {
      at_once_ = now / kFewer;
      continue;
    }
    if (!covered) {
      if (!beside_->CanGrow())
        throw UserError(sets_.ring().op().name + ": no number of copies beside it lasts as long as it does");
      continue;
    }
    loaded_ = true;
    time += taken;
    left -= now;
    sets_.ring().Advance(now);
  }
  timer_.Add(time);
}

}  // namespace spillway
