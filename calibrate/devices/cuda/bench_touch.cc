#include "calibrate/devices/cuda/bench_touch.h"

#include "hw/text/document.h"

namespace spillway {
namespace {

OpCall ReluOver(Bytes bytes) {
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = {.n = 1, .c = bytes / static_cast<Bytes>(sizeof(float))};
  return CallOf(launch);
}

}  // namespace

CudaTouchSubject::CudaTouchSubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                                   const Clock& host)
    : item_(item), calls_(calls), timer_(timer), host_clock_(host) {
  if (!calls.Properties().managed_memory)
    throw UserError("this device has no unified memory whose pages move by faults");
  managed_ = memory.Block("managed", CudaPlace::kManaged).AtLeast(item.bytes);
  if (item.direction == "d2h") return;
  result_ = memory.Block("copied to").AtLeast(item.bytes);
  kernel_ = calls.Prepare(ReluOver(item.bytes));  // of one pass over memory: it wants no workspace
}

CudaTouchSubject::~CudaTouchSubject() { timer_.Drain(); }

// A prefetch is the fast way there; the host's touch maps what came.
void CudaTouchSubject::Prepare(int /*runs*/) {
  const bool to_device = kernel_ == nullptr;
  calls_.PrefetchManaged(managed_, item_.bytes, to_device, timer_.stream());
  calls_.Synchronize(timer_.stream());
  if (!to_device) calls_.TouchOnHost(managed_, item_.bytes);
}

double CudaTouchSubject::TryKernel(bool hold) {
  const ReleaseAtEnd release(timer_);
  void* const reads[] = {managed_};
  void* const writes[] = {result_};
  if (hold) timer_.Hold();
  timer_.Start();
  kernel_->Run(timer_.stream(), {.reads = reads, .writes = writes});
  timer_.Stop();
  return timer_.Finish();
}

double CudaTouchSubject::RunKernel() {
  const double time = TryKernel(!first_ && !unheld_);
  first_ = false;
  if (!timer_.ran_out()) return time;
  unheld_ = true;
  Prepare(1);
  return TryKernel(false);
}

double CudaTouchSubject::RunOnHost() {
  const Nanos begin = host_clock_.Now();
  calls_.TouchOnHost(managed_, item_.bytes);
  return static_cast<double>(host_clock_.Now() - begin);
}

void CudaTouchSubject::Run(int /*runs*/) { timer_.Add(kernel_ != nullptr ? RunKernel() : RunOnHost()); }

}  // namespace spillway
