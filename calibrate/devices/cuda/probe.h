// A look at a GPU that nobody has used yet, within a minute: what it is, whether its clocks and holds do what measuring
// relies on, and whether the library's convolutions run. No profile comes of it.
//
// Each section says its lines as soon as it knows them, so that whatever ends the process leaves those before. In order:
//
//   device       name, software, memory in use before and behind the libraries' first kernels, clocks as the driver has them
//   timer        how the device's timer ticks; what a pair of events takes with nothing between; what spins take
//   hold         a held stream waits, goes on when it is let go, and goes on by itself when it is not
//   clock        megahertz by the multiprocessors' own counters, from rest, 0.1 s at a time
//   launches     one launch between a pair of events beside many between one pair: what pairs add to short kernels
//   copies       64 MiB of pinned memory each way and both ways, by events
//   pacing       a copy held to 10 GB/s by spins, alone and beside products: what the emulation of a link is off by
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

// Calls `tell` with each line, without a line feed. The number of sections in which something is not as it has to be: a
// hold that does not hold, a pass without any algorithm, or a call that failed, which is told with its message. Sections
// behind one that fails still run unless the device is lost.
int ProbeCuda(CudaCalls& calls, const Clock& clock, const CudaProbeOptions& options,
              const std::function<void(const std::string&)>& tell);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBE_H_
