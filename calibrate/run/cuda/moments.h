// How fast a device's multiprocessors ran, by their own cycle counters (CudaCalls::Mark).
//
// What a driver tells of clocks is sampled every 20 to 100 ms, and is of another moment than a timing of 100 us. Two marks
// around the timing tell its own: cycles over nanoseconds. Counters of different multiprocessors do not begin together, so
// that each is held against itself.
#ifndef SPILLWAY_CALIBRATE_RUN_CUDA_MOMENTS_H_
#define SPILLWAY_CALIBRATE_RUN_CUDA_MOMENTS_H_

#include <span>

#include "calibrate/run/cuda/calls.h"

namespace spillway {

// Cycles and nanoseconds from one mark to another, of the multiprocessor with the median rate; both 0 where none took part
// in both. The timer ticks every 32 ns to 1 us by model: marks 100 us apart tell the rate within 1 %.
CudaMoment Between(std::span<const CudaMoment> from, std::span<const CudaMoment> to);

// Megahertz; 0 where nothing is known.
inline double Megahertz(const CudaMoment& between) {
  if (between.nanoseconds <= 0) return 0;
  return 1000.0 * static_cast<double>(between.cycles) / static_cast<double>(between.nanoseconds);
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_CUDA_MOMENTS_H_
