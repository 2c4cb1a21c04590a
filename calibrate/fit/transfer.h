// From samples of copies to the transfer curves of each link, and what copies and kernels take from each other.
//
// Samples fall into links by host and by Sample::link; each kind of memory and direction is a curve of its own
// (fit/curve.h). Where nothing was measured, or too little, the answer says `assumed` and why, and has a range.
#ifndef SPILLWAY_CALIBRATE_FIT_TRANSFER_H_
#define SPILLWAY_CALIBRATE_FIT_TRANSFER_H_

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/curve.h"
#include "calibrate/fit/slowdown.h"
#include "calibrate/sample/sample.h"
#include "hw/machine/machine.h"

namespace spillway {

struct FittedCurve {
  TransferCurve curve;
  int samples = 0, sizes = 0;
  std::vector<TimedCopy> copies = {};  // what it was fitted to, by size
  // Copies of 64 KiB and more, each size predicted without it; empty: too few sizes to tell.
  std::vector<LeftOutCopy> left_out = {};
};

struct FittedLink {
  std::string device, host, link;  // as the samples have them
  // By Sample::kind: "pinned", "pageable", "managed_prefetch", "managed_touch" (demand faults), "write_combined", ...;
  // then by Direction. Not "pitched": `pitched_row` is what its rows cost on top of the pinned curve.
  std::map<std::string, std::array<std::optional<FittedCurve>, 2>> kinds;
  // Fraction of its rate alone at which a copy proceeds beside one in the other direction: per direction, and one for
  // both (their mean), as Link::duplex_factor.
  std::array<std::optional<RangedValue>, 2> duplex_by_direction;
  RangedValue duplex;
  RangedValue pitched_row;  // nanoseconds per row beyond the first
  // Bytes per nanosecond of demand faults once managed memory exceeds the device's, so that every page that comes makes
  // another one go. Derived, never measured: without eviction at best, twice the traffic at worst. Absent without a
  // curve of "managed_touch".
  std::optional<RangedValue> oversubscribed_rate;
  std::vector<std::string> warnings;  // what was weakened and why: one sentence each
};

struct TransferFit {
  std::vector<FittedLink> links;              // by device, host and link
  std::vector<FittedSlowdown> slowdowns;      // by device, op and pass; only what was measured
  std::vector<std::string> Warnings() const;  // those of all links
};

// Uses samples of copies between host and device, and kernel samples that have a twin without contention; leaves the
// rest aside. Contention of a copy is the other direction ("d2h" beside an h2d copy) or "none"; of a kernel, anything
// but "none" is a copy. REQUIRES: finite times.
TransferFit FitTransfers(std::span<const Sample> samples, const CurveFitOptions& options = {});

// Sets `oversubscribed_rate` from the curves.
void DeriveOversubscribed(FittedLink* link);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_TRANSFER_H_
