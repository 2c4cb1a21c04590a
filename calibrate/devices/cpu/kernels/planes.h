// Loops over the planes of samples and channels. Private to calibrate/devices/cpu/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_PLANES_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_PLANES_H_

#include <cstdint>

#include "model/step/tensor.h"

namespace spillway::cpu {

// body(plane, channel, begin, end): the elements [begin, end) of plane n * c + channel.
template <typename Body>
void ForEachPlane(const Shape& shape, Body body) {
  const std::int64_t size = shape.Spatial();
  for (std::int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
    body(plane, plane % shape.c, plane * size, (plane + 1) * size);
  }
}

// For each channel the sum of value(i) over all of its elements, in double; added to what `sums` holds if `accumulate`.
template <typename Value>
void SumChannels(const Shape& shape, bool accumulate, float* sums, Value value) {
  const std::int64_t size = shape.Spatial();
  for (std::int64_t channel = 0; channel < shape.c; ++channel) {
    double sum = accumulate ? sums[channel] : 0.0;
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const std::int64_t begin = (n * shape.c + channel) * size;
      for (std::int64_t i = begin; i < begin + size; ++i) sum += value(i);
    }
    sums[channel] = static_cast<float>(sum);
  }
}

}  // namespace spillway::cpu

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_PLANES_H_
