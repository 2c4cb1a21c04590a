// Times work on a stream by the device's own clock, as a Clock that MeasureLoop can read.
//
// A kernel of a few microseconds takes less than issuing it: the stream is held back until the host is ahead, so that
// the device runs at its own pace. Time is counted between pairs of events, and only what lies between a Start and its
// Stop.
//
//   CudaTimer timer(calls);
//   timer.Hold();                                        // unless the call to come waits for the stream
//   timer.Start();  kernel.Run(timer.stream(), ...);  timer.Stop();
//   timer.Add(timer.Finish());                           // lets go, waits; Now() has grown by what it took
//
// Whatever is thrown in between, the stream is let go: Release(), which the destructor also calls.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_TIMER_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_TIMER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "calibrate/devices/cuda/calls.h"
#include "sim/execute/clock.h"

namespace spillway {

// How fast a device's multiprocessors ran, by their own cycle counters (CudaCalls::Mark).
//
// What a driver tells of clocks is sampled every 20 to 100 ms, and is of another moment than a timing of 100 us. Two marks
// around the timing tell its own: cycles over nanoseconds. Counters of different multiprocessors do not begin together, so
// that each is held against itself.
// Cycles and nanoseconds from one mark to another, of the multiprocessor with the median rate; both 0 where none took part
// in both. The timer ticks every 32 ns to 1 us by model: marks 100 us apart tell the rate within 1 %.
CudaMoment Between(std::span<const CudaMoment> from, std::span<const CudaMoment> to);

// Megahertz; 0 where nothing is known.
inline double Megahertz(const CudaMoment& between) {
  if (between.nanoseconds <= 0) return 0;
  return 1000.0 * static_cast<double>(between.cycles) / static_cast<double>(between.nanoseconds);
}

class CudaTimer : public Clock {
 public:
  explicit CudaTimer(CudaCalls& calls);
  ~CudaTimer() override;
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  Nanos Now() const override { return passed_; }  // everything added
  void Add(double nanoseconds);

  CudaStream* stream() const { return stream_; }
  // What is issued from here on waits until Finish() or Release(), or for kCudaLongestHold. At most kMostHeld calls
  // should follow: a full queue makes the host wait for a stream that waits for the host, until the hold runs out.
  // `pairs`: how many of them will be wanted; events are not made under a hold.
  void Hold(int pairs = 1);
  // Whether the hold before the last Finish() or Release() ran out: what was timed then waited for the host in between.
  bool ran_out() const { return ran_out_; }
  void Start();
  void Stop();
  // Around what is timed, outside of the pairs: the device tells its clock there. Both or neither, before Finish().
  void MarkBegin();
  void MarkEnd();
  // How fast the multiprocessors' clocks ran between the marks of the last Finish(): cycles of one, and nanoseconds; 0
  // without marks.
  const CudaMoment& between_marks() const { return between_; }
  // Waits for the last Stop; nanoseconds between all pairs. REQUIRES: a pair.
  double Finish();
  const std::vector<double>& times() const { return times_; }  // of each pair of the last Finish()
  void Release() noexcept;
  // Release(), and waits for the stream, so that nothing runs behind what it needs; failures are somebody else's matter.
  void Drain() noexcept;

  static constexpr int kMostHeld = 400;

 private:
  struct Pair {
    CudaEvent* start = nullptr;
    CudaEvent* stop = nullptr;
  };
  void Destroy() noexcept;
  void MakePairs(std::size_t count);
  CudaCalls& calls_;
  CudaStream* stream_ = nullptr;
  volatile int* flag_ = nullptr;  // in pinned memory
  std::vector<Pair> pairs_;       // made when first needed, used again
  std::size_t used_ = 0;
  bool held_ = false, ran_out_ = false;
  std::vector<double> times_;
  CudaMoment* marks_ = nullptr;  // in pinned memory: those of the beginning, those of the end
  bool marked_ = false;
  CudaMoment between_;
  Nanos passed_ = 0;
};

// Lets a held stream go at the end of a scope, so that nothing waits for ever behind an exception.
class ReleaseAtEnd {
 public:
  explicit ReleaseAtEnd(CudaTimer& timer) : timer_(timer) {}
  ~ReleaseAtEnd() { timer_.Release(); }
  ReleaseAtEnd(const ReleaseAtEnd&) = delete;
  ReleaseAtEnd& operator=(const ReleaseAtEnd&) = delete;

 private:
  CudaTimer& timer_;
};

// However what is timed ends, nothing runs behind the end of a scope.
class DrainAtEnd {
 public:
  explicit DrainAtEnd(CudaTimer& timer) : timer_(timer) {}
  ~DrainAtEnd() { timer_.Drain(); }
  DrainAtEnd(const DrainAtEnd&) = delete;
  DrainAtEnd& operator=(const DrainAtEnd&) = delete;

 private:
  CudaTimer& timer_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_TIMER_H_
