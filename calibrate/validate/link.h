// The link of a device as it is: how long copies take, alone and in both directions at once.
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
  int copies = 5;                // of each size and direction; half as many again of those below a MiB
  Bytes duplex_size = 4 * kMiB;  // of the copies that run in both directions at once
  int duplex_copies = 6;         // each way
};

// Throws a UserError that says what failed.
LinkCurves MeasureLink(ExecutionDevice& device, const Clock& clock, const MeasureLinkOptions& options = {});

// The machine with these curves on the link of its first device. Kinds of memory that were not measured are dropped.
// What copies slow kernels down by was measured over a link of `profile_rate` bytes per nanosecond; it grows with the
// bytes that are moved meanwhile, so it is brought to the rate measured now: 1 + (slowdown - 1) x rate / profile_rate.
Machine WithMeasuredLink(Machine machine, const LinkCurves& measured, double stated_rate, double profile_rate);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_LINK_H_
