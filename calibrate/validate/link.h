// Measures the link of a device: times of copies, alone and in both directions at once.
//
// Copies run as they do in a step: Programs of nothing but copies, timed by the device's own spans.
//
// Tested by validate_link_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_LINK_H_
#define SPILLWAY_CALIBRATE_VALIDATE_LINK_H_

#include <array>
#include <vector>

#include "calibrate/validate/results.h"
#include "model/profile/machine.h"
#include "sim/execute/execute.h"

namespace spillway {

struct LinkCurves {
  std::array<TransferCurve, 2> curves;           // by Direction
  std::array<double, 2> duplex_factor = {1, 1};  // by Direction, as in Link
  MeasuredLink Summary(double stated_rate) const;
};

struct MeasureLinkOptions {
  std::vector<Bytes> sizes = {16 * kKiB, 128 * kKiB, kMiB, 4 * kMiB, 16 * kMiB};  // increasing, at least two
  int copies = 5;                // copies of each size and direction; half as many again below 1 MiB
  Bytes duplex_size = 4 * kMiB;  // size of the copies that run in both directions at once
  int duplex_copies = 6;         // number of those, each way
};

// Throws UserError with the reason if the device fails.
LinkCurves MeasureLink(ExecutionDevice& device, const Clock& clock, const MeasureLinkOptions& options = {});

// The machine with these curves on the link of its first device. Kinds of memory that were not measured are dropped.
//
// The profile measured the slowdown of kernels by copies over a link of `profile_rate` bytes per nanosecond. It grows
// with the bytes moved meanwhile, so it is scaled to the measured rate: 1 + (slowdown - 1) x rate / profile_rate.
// Example: 1.2 at 10 bytes per nanosecond becomes 1.4 at 20.
Machine WithMeasuredLink(Machine machine, const LinkCurves& measured, double stated_rate, double profile_rate);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_LINK_H_
