// A check of a new GPU, within a minute: its properties, the clocks and holds on which measuring relies, and the
// library's convolutions. It makes no profile.
//
// Each section prints its lines at once, so that they remain if the process ends early. The sections in order:
//
//   device       name, software, memory in use before and after the libraries' first kernels, clocks by the driver
//   timer        how the device's timer ticks; what a pair of events takes with nothing between; what spins take
//   hold         a held stream waits, goes on when it is let go, and goes on by itself when it is not
//   clock        megahertz by the multiprocessors' own counters, from rest, 0.1 s at a time
//   launches     one launch per pair of events, and many between one pair: the time that pairs add to short kernels
//   copies       64 MiB of pinned memory each way and both ways, by events
//   pacing       a copy limited to 10 GB/s by spins, alone and while products run: the error of an emulated link
//   convolution  every algorithm of one convolution: its time and workspace, or what the library says
//
// Times are of operands that stay in the cache; they are no rows of a profile.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_H_

#include <functional>
#include <string>

#include "calibrate/devices/cuda/calls.h"
#include "sim/execute/clock.h"

namespace spillway {

struct CudaProbeOptions {
  Nanos warm_up = kSecond;  // of the section `clock`
  Bytes copy = 64 * kMiB;
  double paced = 10;  // bytes per nanosecond
};

// Calls `tell` with each line, without a line feed. Returns the number of failed sections: a hold that does not hold, a
// pass without any algorithm, or a failed call, whose message is told. Sections after a failed one still run, unless
// the device is lost.
int ProbeCuda(CudaCalls& calls, const Clock& clock, const CudaProbeOptions& options,
              const std::function<void(const std::string&)>& tell);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_H_
