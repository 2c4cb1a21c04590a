#include "calibrate/devices/cuda/bench_copy.h"
#include "calibrate/devices/cuda/known_launches.h"
#include "hw/text/document.h"

namespace spillway {

CudaTouchSubject::CudaTouchSubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                                   const Clock& host)
    : CudaTimedCopies(item, calls, timer), host_clock_(host) {
  if (!calls.Properties().managed_memory)
    throw UserError("this device has no unified memory whose pages move by faults");
  managed_ = memory.Block("managed", CudaPlace::kManaged).AtLeast(item.bytes);
  if (item.direction == "d2h") return;
  result_ = memory.Block("copied to").AtLeast(item.bytes);
  kernel_ = calls.Prepare(CallOf(
      ReluOf(item.bytes / static_cast<Bytes>(sizeof(float)))));  // of one pass over memory: it wants no workspace
}

CudaTouchSubject::~CudaTouchSubject() { timer_.Drain(); }

// A prefetch is the fast way there; the host's touch maps what came.
void CudaTouchSubject::Prepare(int /*runs*/) {
  const bool to_device = kernel_ == nullptr;
  calls_.PrefetchManaged(managed_, item_.bytes, to_device, timer_.stream());
  calls_.Synchronize(timer_.stream());
  if (!to_device) calls_.TouchOnHost(managed_, item_.bytes);
}

double CudaTouchSubject::RunKernel() {
  void* const reads[] = {managed_};
  void* const writes[] = {result_};
  const double time = TimedHeld({.issue = [&] { kernel_->Run(timer_.stream(), {.reads = reads, .writes = writes}); },
                                 .before_again = [&] { Prepare(1); }});
  first_ = false;
  return time;
}

double CudaTouchSubject::RunOnHost() {
  const Nanos begin = host_clock_.Now();
  calls_.TouchOnHost(managed_, item_.bytes);
  return static_cast<double>(host_clock_.Now() - begin);
}

void CudaTouchSubject::Run(int /*runs*/) { timer_.Add(kernel_ != nullptr ? RunKernel() : RunOnHost()); }

}  // namespace spillway
