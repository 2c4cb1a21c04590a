#include "calibrate/devices/cuda/emulation.h"

#include <algorithm>
#include <cstring>

#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/timer.h"
#include "model/stats/quantile.h"

namespace spillway {

namespace {

constexpr int kRepeats = 8;      // in a row, of one timing
constexpr double kProbe = 2000;  // ns of spins that are only there to be measured
constexpr int kRuns = 4;         // of the rehearsal; the first one warms up
// Library calls behind one hold: one of them may be a hundred kernels, and a queue takes about a thousand.
constexpr std::size_t kGroup = 8;

// Whatever runs for the first time does so without a hold: CUDA loads a kernel when it is first launched, and may wait for
// the device to be idle, which a held stream never is (CUDA programming guide, lazy loading).

double TimeOnce(CudaTimer& timer, const std::function<void()>& give, bool hold) {
  if (hold) timer.Hold();
  timer.Start();
  give();
  timer.Stop();
  return timer.Finish();
}

// What the calls of `give` take on the timer's stream, from one end to the other: the second time. Not held where the
// hold runs out.
double TimeOf(CudaTimer& timer, const std::function<void()>& give) {
  TimeOnce(timer, give, false);
  const double time = TimeOnce(timer, give, true);
  return timer.ran_out() ? TimeOnce(timer, give, false) : time;
}

PieceTime MeasurePiece(CudaCalls& calls, CudaTimer& timer, std::byte* device, std::byte* host, Direction direction) {
  const bool in = direction == Direction::kHostToDevice;
  const auto measure = [&](Bytes bytes) {
    const double time = TimeOf(timer, [&] {
      for (int k = 0; k < kRepeats; ++k) {
        calls.Copy(in ? device : host, in ? host : device, bytes, direction, timer.stream());
        calls.Spin(kProbe, timer.stream());
      }
    });
    return time / kRepeats - kProbe;
  };
  constexpr Bytes kSmall = kPacedPiece / 64;
  const double small = measure(kSmall), large = measure(kPacedPiece);
  PieceTime time;
  time.per_byte = std::max(0.0, (large - small) / static_cast<double>(kPacedPiece - kSmall));
  time.latency = std::max(0.0, large - time.per_byte * static_cast<double>(kPacedPiece));
  return time;
}

// One run of kernels [begin, end). What a pair of events with nothing between them takes is taken off. Not held where
// the hold runs out.
void RunGroup(CudaTimer& timer, std::size_t begin, std::size_t end,
              const std::function<void(std::size_t, CudaStream*)>& run, bool hold, std::vector<double>& times) {
  if (hold) timer.Hold(static_cast<int>(end - begin) + 1);
  timer.Start();
  timer.Stop();
  for (std::size_t k = begin; k < end; ++k) {
    timer.Start();
    run(k, timer.stream());
    timer.Stop();
  }
  timer.Finish();
  if (timer.ran_out()) return RunGroup(timer, begin, end, run, false, times);
  const double nothing = timer.times()[0];
  for (std::size_t k = begin; k < end; ++k) times[k] = std::max(0.0, timer.times()[k - begin + 1] - nothing);
}

}  // namespace

LinkTimes MeasurePieces(CudaCalls& calls) {
  const OwnedDeviceMemory device = NewDeviceMemory(calls, kPacedPiece);
  const OwnedPinnedMemory host = NewPinnedMemory(calls, kPacedPiece);
  std::memset(host.get(), 0, static_cast<std::size_t>(kPacedPiece));
  CudaTimer timer(calls);
  const DrainAtEnd drain(timer);
  LinkTimes times;
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    times[static_cast<std::size_t>(direction)] = MeasurePiece(calls, timer, device.get(), host.get(), direction);
  }
  return times;
}

double MeasureSpinGap(CudaCalls& calls) {
  CudaTimer timer(calls);
  const DrainAtEnd drain(timer);
  const double time = TimeOf(timer, [&] {
    for (int k = 0; k < kRepeats; ++k) calls.Spin(kProbe, timer.stream());
  });
  return std::max(0.0, time / kRepeats - kProbe);
}

void PacedCopy(CudaCalls& calls, double link_rate, const LinkTimes& pieces, std::byte* to, const std::byte* from,
               Bytes bytes, Direction direction, CudaStream* stream) {
  const PieceTime& piece = pieces[static_cast<std::size_t>(direction)];
  for (Bytes done = 0; done < bytes;) {
    const Bytes more = std::min(kPacedPiece, bytes - done);
    calls.Copy(to + done, from + done, more, direction, stream);
    const double rest = static_cast<double>(more) / link_rate - piece.Of(more);
    if (rest > 0) calls.Spin(rest, stream);
    done += more;
  }
}

std::vector<double> RehearseKernels(CudaCalls& calls, std::size_t count,
                                    const std::function<void(std::size_t k, CudaStream* stream)>& run) {
  std::vector<std::vector<double>> runs(kRuns, std::vector<double>(count));
  CudaTimer timer(calls);
  const DrainAtEnd drain(timer);
  for (std::vector<double>& times : runs) {
    for (std::size_t begin = 0; begin < count; begin += kGroup) {
      RunGroup(timer, begin, std::min(count, begin + kGroup), run, &times != runs.data(), times);
    }
  }
  std::vector<double> medians;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> of_kernel;
    for (std::size_t r = 1; r < runs.size(); ++r) of_kernel.push_back(runs[r][k]);
    medians.push_back(Median(std::move(of_kernel)));
  }
  return medians;
}

}  // namespace spillway
