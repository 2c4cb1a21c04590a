// Another machine's balance of computing and moving on this GPU: kernels that take a multiple of their time, a link that
// is slower than it is. Both by keeping streams busy with CudaCalls::Spin, which uses neither memory nor arithmetic.
//
// What a kernel or a copy takes by itself is measured beforehand, by running it, with everything that belongs to it: a
// kernel in the order of the session's kernels, so that it finds in the cache what it finds there in a step; a piece of
// a copy with the spin behind it. What streams add between one thing and the next is taken off the spins. Memory that
// copies and kernels compete for is not emulated.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_EMULATION_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_EMULATION_H_

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "calibrate/devices/cuda/calls.h"
#include "sim/execute/device.h"

namespace spillway {

struct CudaEmulation {
  double compute_slowdown = 1;  // every kernel takes so many times its time; at least 1
  double link_rate = 0;         // bytes per nanosecond (1 = 1 GB/s) in each direction; 0 = as fast as the link is
  bool operator==(const CudaEmulation&) const = default;
};

// Copies of an emulated link are made in pieces of this size, so that data come as evenly as over a slow link.
constexpr Bytes kPacedPiece = 4 * kMiB;

// What a piece of a copy takes, with what lies between it and a spin.
struct PieceTime {
  double latency = 0, per_byte = 0;
  double Of(Bytes bytes) const { return latency + per_byte * static_cast<double>(bytes); }
};
using LinkTimes = std::array<PieceTime, 2>;  // by Direction

// Both wait until the device is idle and give back what they take. Errors as in CudaCalls.
LinkTimes MeasurePieces(CudaCalls& calls);
// What a spin takes beyond what it is told.
double MeasureSpinGap(CudaCalls& calls);

// Enqueues a copy in pieces, each followed by a spin up to its bytes / `link_rate`. Errors as in CudaCalls.
void PacedCopy(CudaCalls& calls, double link_rate, const LinkTimes& pieces, std::byte* to, const std::byte* from,
               Bytes bytes, Direction direction, CudaStream* stream);

// Nanoseconds of each of `count` kernels, run in their order: the median of some runs. `run` enqueues kernel k.
std::vector<double> RehearseKernels(CudaCalls& calls, std::size_t count,
                                    const std::function<void(std::size_t k, CudaStream* stream)>& run);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_EMULATION_H_
