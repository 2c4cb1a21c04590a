// Emulates another machine's balance of computing and copying on this GPU: slower kernels and a slower link. Both keep
// streams busy with CudaCalls::Spin, which uses neither memory nor arithmetic. Example: with compute_slowdown 2, a
// kernel of 100 us is followed by a spin of 100 us.
//
// The times of kernels and copies alone are measured beforehand. Kernels run in the order of the session, so that the
// cache holds the same data as in a step. A piece of a copy runs with the spin that follows it. The time that streams
// add between two operations is subtracted from the spins. Competition of copies and kernels for memory is not
// emulated.
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
  double compute_slowdown = 1;  // factor on the time of every kernel; at least 1
  double link_rate = 0;         // bytes per nanosecond (1 = 1 GB/s) in each direction; 0 = as fast as the link is
  bool operator==(const CudaEmulation&) const = default;
};

// Copies of an emulated link are made in pieces of this size, so that data come as evenly as over a slow link.
constexpr Bytes kPacedPiece = 4 * kMiB;

// The time of a piece of a copy in nanoseconds, with the delay between the piece and a spin.
struct PieceTime {
  double latency = 0, per_byte = 0;
  double Of(Bytes bytes) const { return latency + per_byte * static_cast<double>(bytes); }
};
using LinkTimes = std::array<PieceTime, 2>;  // by Direction

// Both functions wait until the device is idle, and free their memory. Errors as in CudaCalls.
LinkTimes MeasurePieces(CudaCalls& calls);
// The nanoseconds that a spin takes in addition to its argument.
double MeasureSpinGap(CudaCalls& calls);

// Enqueues a copy in pieces, each followed by a spin up to its bytes / `link_rate`. Errors as in CudaCalls.
void PacedCopy(CudaCalls& calls, double link_rate, const LinkTimes& pieces, std::byte* to, const std::byte* from,
               Bytes bytes, Direction direction, CudaStream* stream);

// The time in nanoseconds of each of `count` kernels, run in order: the median of some runs. `run` enqueues kernel k.
std::vector<double> RehearseKernels(CudaCalls& calls, std::size_t count,
                                    const std::function<void(std::size_t k, CudaStream* stream)>& run);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_EMULATION_H_
