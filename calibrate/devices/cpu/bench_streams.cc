#include <vector>

#include "calibrate/devices/cpu/bench_target.h"
#include "calibrate/devices/cpu/stream.h"
#include "calibrate/measure/host.h"

namespace spillway {
namespace {

constexpr Nanos kAsleep = 300 * kMicrosecond;  // a stream has stopped watching by then

CpuStreamOptions OptionsOf(const std::vector<int>& cores, Spin spin) {
  return {.capacity = 8, .cores = cores, .spin = spin, .failure = nullptr};
}

double WakeOnce(const CoreChoice& cores, const Clock& clock) {
  Nanos recorded = 0, woken = 0;
  CpuEvent event, end;
  CpuStream compute(OptionsOf(cores.compute, kSpinAlone), [&](std::uint32_t) {
    for (const Nanos begin = clock.Now(); clock.Now() - begin < kAsleep;) continue;
    recorded = clock.Now();
  });
  CpuStream copy(OptionsOf(cores.others, kSpinShared), [&](std::uint32_t) { woken = clock.Now(); });
  copy.Wait(0, event);
  copy.Call(1);
  copy.Record(2, end);
  compute.Call(0);
  compute.Record(1, event);
  end.Wait(kSpinShared);
  return static_cast<double>(woken - recorded);
}

}  // namespace

std::map<std::string, LoopResult> MeasureStreams(const CoreChoice& cores, const Clock& clock, int repetitions) {
  const PinnedHere pinned(cores.others);
  std::vector<double> starts, wakes;
  for (int k = 0; k < repetitions; ++k) {
    const Nanos begin = clock.Now();
    const CpuStream stream(OptionsOf(cores.compute, kSpinAlone), [](std::uint32_t) {});
    starts.push_back(static_cast<double>(clock.Now() - begin));
  }
  for (int k = 0; k < repetitions; ++k) wakes.push_back(WakeOnce(cores, clock));
  return {{"thread_start", ResultOfTimes(starts)}, {"event_wake", ResultOfTimes(wakes)}};
}

}  // namespace spillway
