// The probe's sections on what tells time: the device's timer, events, holds, the multiprocessors' clock.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/devices/cuda/known_launches.h"
#include "calibrate/devices/cuda/probe_internal.h"
#include "calibrate/devices/cuda/timer.h"

namespace spillway {
namespace {

constexpr double kPerMicrosecond = 1000;

std::vector<double> TicksOf(CudaCalls& calls) {
  constexpr int kTicks = 256;
  const OwnedCudaStream stream = NewStream(calls);
  const OwnedPinnedMemory memory = NewPinnedMemory(calls, kTicks * static_cast<Bytes>(sizeof(std::int64_t)));
  auto* const values = reinterpret_cast<std::int64_t*>(memory.get());
  calls.ReadTicks(values, kTicks, stream.get());
  calls.Synchronize(stream.get());
  std::vector<double> steps;
  for (int k = 1; k < kTicks; ++k) steps.push_back(static_cast<double>(values[k] - values[k - 1]));
  std::sort(steps.begin(), steps.end());
  return steps;
}

// What pairs of events take with nothing between them, sorted.
std::vector<double> EmptyPairs(CudaTimer& timer) {
  constexpr int kPairs = 50;
  timer.Hold(kPairs);
  for (int k = 0; k < kPairs; ++k) {
    timer.Start();
    timer.Stop();
  }
  timer.Finish();
  std::vector<double> times = timer.times();
  std::sort(times.begin(), times.end());
  return times;
}

std::string SpinText(CudaCalls& calls, CudaTimer& timer, double nanoseconds) {
  const double took = TimeOfRuns(
      timer, [&] { calls.Spin(nanoseconds, timer.stream()); }, 1);
  return fmt::format("{:g} as {:.2f}", nanoseconds / kPerMicrosecond, took / kPerMicrosecond);
}

}  // namespace

bool ProbeTimer(const Probe& probe) {
  const std::vector<double> steps = TicksOf(probe.calls);
  probe.tell(fmt::format("ticks every {:.0f} ns, from {:.0f} to {:.0f}", steps[steps.size() / 2], steps.front(),
                         steps.back()));
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  EmptyPairs(timer);  // the first hold loads its code
  const std::vector<double> pairs = EmptyPairs(timer);
  probe.tell(fmt::format("a pair of events with nothing between takes {:.2f} us, from {:.2f} to {:.2f}",
                         pairs[pairs.size() / 2] / kPerMicrosecond, pairs.front() / kPerMicrosecond,
                         pairs.back() / kPerMicrosecond));
  std::string spins;
  for (const double told : {1e3, 1e4, 1e5, 1e6}) {
    spins += (spins.empty() ? "" : ", ") + SpinText(probe.calls, timer, told);
  }
  probe.tell("spins, us told as us taken: " + spins);
  return true;
}

bool ProbeHold(const Probe& probe) {
  constexpr Nanos kWhile = 2 * kMillisecond;
  const OwnedCudaEvent behind = NewEvent(probe.calls, false);
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  timer.Hold();
  probe.calls.Record(behind.get(), timer.stream());
  for (const Nanos begin = probe.clock.Now(); probe.clock.Now() - begin < kWhile;) {
    if (probe.calls.IsDone(behind.get())) break;
  }
  const bool holds = !probe.calls.IsDone(behind.get());
  timer.Release();
  probe.calls.Synchronize(timer.stream());
  probe.tell(holds ? "a held stream waits, and goes on when it is let go" : "a held stream does not wait");
  // Nobody lets go: it does by itself.
  timer.Hold();
  timer.Start();
  timer.Stop();
  const Nanos begin = probe.clock.Now();
  probe.calls.Synchronize(timer.stream());
  const Nanos waited = probe.clock.Now() - begin;
  timer.Finish();
  probe.tell(fmt::format("left alone it goes on after {:.1f} ms{}", static_cast<double>(waited) / kMillisecond,
                         timer.ran_out() ? "" : ", and does not tell"));
  return holds && timer.ran_out();
}

bool ProbeClock(const Probe& probe) {
  constexpr Nanos kAtATime = 100 * kMillisecond;
  constexpr std::int64_t kSize = 2048;
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  ProbeKernel product(probe.calls, ProductOf(kSize), timer.stream());
  std::string text;
  for (const Nanos begin = probe.clock.Now(); probe.clock.Now() - begin < probe.options.warm_up;) {
    timer.MarkBegin();
    timer.Start();
    for (const Nanos start = probe.clock.Now(); probe.clock.Now() - start < kAtATime;) {
      product.Run();
      probe.calls.Synchronize(timer.stream());
    }
    timer.Stop();
    timer.MarkEnd();
    timer.Finish();
    text += fmt::format("{}{:.0f}", text.empty() ? "" : ", ", Megahertz(timer.between_marks()));
  }
  probe.tell(fmt::format("MHz by the counters, from rest: {}; the driver says {}", text, probe.calls.Clocks().sm_mhz));
  return true;
}

}  // namespace spillway
