#include <algorithm>
#include <functional>
#include <memory>

#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/devices/cuda/known_launches.h"
#include "calibrate/measure/host.h"

namespace spillway {
namespace {

constexpr Bytes kSmallCopy = 4 * kKiB, kAllocation = 64 * kMiB, kPinned = 16 * kMiB;
constexpr int kSlowCalls = 10;
constexpr int kCallsHeld = 50;  // of one kind, so that no queue fills

// A ReLU of 4 KiB: the library's call, and one kernel.
OpCall SmallOp() { return CallOf(ReluOf(1024)); }

class HostCalls {
 public:
  HostCalls(CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer, const Clock& clock)
      : calls_(calls), timer_(timer), clock_(clock), kernel_(calls.Prepare(SmallOp())), event_(calls.MakeEvent(false)) {
    device_ = memory.Block("host calls").AtLeast(4 * kSmallCopy);
    host_ = memory.Block("host calls, pinned", CudaPlace::kPinned).AtLeast(kSmallCopy);
    if (kernel_->workspace() > 0) workspace_ = memory.Block("workspace").AtLeast(kernel_->workspace());
    Launch();
    calls_.Record(event_, timer_.stream());
    calls_.Synchronize(timer_.stream());
  }
  ~HostCalls() { calls_.Destroy(event_); }
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;

  void MeasureQueued(int repetitions) {
    Queued("kernel_launch", repetitions, [this] { Launch(); });
    Queued("copy_submit", repetitions,
           [this] { calls_.Copy(device_, host_, kSmallCopy, Direction::kHostToDevice, timer_.stream()); });
    Queued("event_record", repetitions, [this] { calls_.Record(event_, timer_.stream()); });
    Queued("stream_wait", repetitions, [this] { calls_.Wait(timer_.stream(), event_); });
  }
  void MeasureSync(int repetitions);
  void MeasureAllocation(int repetitions);
  std::map<std::string, LoopResult> Results() const {
    std::map<std::string, LoopResult> results;
    for (const auto& [name, times] : times_) results[name] = ResultOfTimes(times);
    return results;
  }

 private:
  void Launch() {
    void* const reads[] = {device_};
    void* const writes[] = {device_ + 2 * kSmallCopy};
    kernel_->Run(timer_.stream(), {.reads = reads, .writes = writes, .workspace = workspace_});
  }
  double Time(const std::function<void()>& call) const {
    const Nanos begin = clock_.Now();
    call();
    return static_cast<double>(clock_.Now() - begin);
  }
  // The stream is held, so that the host runs ahead of it as in training.
  void Queued(const char* name, int repetitions, const std::function<void()>& call) {
    for (int done = 0; done < repetitions; done += kCallsHeld) {
      const ReleaseAtEnd release(timer_);
      timer_.Hold();
      std::vector<double> times;
      for (int k = 0; k < std::min(kCallsHeld, repetitions - done); ++k) times.push_back(Time(call));
      timer_.Release();
      calls_.Synchronize(timer_.stream());
      if (timer_.ran_out()) {  // some call waited for the held stream
        for (double& time : times) time = Time(call);
        calls_.Synchronize(timer_.stream());
      }
      times_[name].insert(times_[name].end(), times.begin(), times.end());
    }
  }

  CudaCalls& calls_;
  CudaTimer& timer_;
  const Clock& clock_;
  std::unique_ptr<CudaKernel> kernel_;
  CudaEvent* event_;
  std::byte* device_ = nullptr;
  std::byte* host_ = nullptr;
  void* workspace_ = nullptr;
  std::map<std::string, std::vector<double>> times_;
};

void HostCalls::MeasureSync(int repetitions) {
  for (int k = 0; k < repetitions; ++k) {
    const ReleaseAtEnd release(timer_);
    timer_.Hold();
    calls_.Record(event_, timer_.stream());
    times_["sync"].push_back(Time([this] {
      timer_.Release();
      calls_.Synchronize(event_);
    }));
  }
}

void HostCalls::MeasureAllocation(int repetitions) {
  for (int k = 0; k < repetitions; ++k) {
    void* memory = nullptr;
    times_["malloc"].push_back(Time([&] { memory = calls_.Malloc(kAllocation); }));
    times_["free"].push_back(Time([&] { calls_.Free(memory); }));
    times_["malloc_host"].push_back(Time([&] { memory = calls_.MallocHost(kPinned); }));
    calls_.FreeHost(memory);
  }
  // The first one takes the memory from the system.
  calls_.FreeAsync(calls_.MallocAsync(kAllocation, timer_.stream()), timer_.stream());
  for (int k = 0; k < repetitions; ++k) {
    void* memory = nullptr;
    times_["pool_alloc"].push_back(Time([&] { memory = calls_.MallocAsync(kAllocation, timer_.stream()); }));
    times_["pool_free"].push_back(Time([&] { calls_.FreeAsync(memory, timer_.stream()); }));
  }
  calls_.Synchronize(timer_.stream());
}

}  // namespace

const std::vector<std::string>& CudaHostCallNames() {
  static const std::vector<std::string> names = {"kernel_launch", "copy_submit", "event_record", "stream_wait",
                                                 "sync",          "malloc",      "free",         "malloc_host",
                                                 "pool_alloc",    "pool_free"};
  return names;
}

std::map<std::string, LoopResult> MeasureCudaHostCalls(CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                                                       const Clock& clock, int repetitions) {
  HostCalls host(calls, memory, timer, clock);
  host.MeasureQueued(repetitions);
  host.MeasureSync(repetitions);
  host.MeasureAllocation(std::min(repetitions, kSlowCalls));
  return host.Results();
}

}  // namespace spillway
