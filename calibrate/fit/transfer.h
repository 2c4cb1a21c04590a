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
#include "model/profile/machine.h"
#include "model/samples/sample.h"

namespace spillway {

// ---- How much a kernel slows down while a copy runs: the copy takes memory bandwidth.

// A number with the interval that it is believed to lie in: of the samples, or of the assumption.
struct RangedValue {
  double value = 0, low = 0, high = 0;
  int samples = 0;  // 0 = assumed
  Source source;
};

// Factor on a kernel's time while a copy runs, by op and pass (KernelModel::copy_slowdown).
struct FittedSlowdown {
  std::string device;
  OpKind kind = OpKind::kCopy;
  Pass pass = Pass::kForward;
  RangedValue factor;  // at least 1
};

// From kernel samples with contention, each against the median of its twins without: same device, harness, launch and
// Sample::kind. By device, op and pass; the value is the median over the pairs, the interval all of them. Only what was
// measured.
std::vector<FittedSlowdown> FitSlowdowns(std::span<const Sample> samples);

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
  // By Direction: the fraction of its rate alone at which a copy proceeds while one in the other direction runs, as
  // Link::duplex_factor. A direction that was not measured has the other's; `samples` are 0 where neither was.
  std::array<RangedValue, 2> duplex;
  bool DuplexMeasured() const { return duplex[0].samples > 0; }
  RangedValue pitched_row;  // nanoseconds per row beyond the first
  // Bytes per nanosecond of demand faults once managed memory exceeds the device's, so that every page that comes makes
  // another one go. Derived, never measured: without eviction at best, twice the traffic at worst. Absent without a
  // curve of "managed_touch".
  std::optional<RangedValue> oversubscribed_rate;
  std::vector<std::string> warnings;  // what was weakened and why: one sentence each
};

struct TransferFit {
  std::vector<FittedLink> links;          // by device, host and link
  std::vector<FittedSlowdown> slowdowns;  // by device, op and pass; only what was measured
};

// Uses samples of copies between host and device, and kernel samples that have a twin without contention; leaves the
// rest aside. Contention of a copy is the other direction ("d2h" beside an h2d copy) or "none"; of a kernel, anything
// but "none" is a copy. REQUIRES: finite times.
TransferFit FitTransfers(std::span<const Sample> samples, const CurveFitOptions& options = {});

// Sets `oversubscribed_rate` from the curves.
void DeriveOversubscribed(FittedLink* link);

// How far transfer curves are from measured copies, and from sizes they have not seen.
struct TransferReport {
  // Median and 90th percentile of |curve / measured - 1| from 64 KiB on: of the curve, of curves to which each size was
  // unknown, and of the law latency + bytes / rate to which it was unknown. By kind of memory, by curve, and the sizes
  // that were predicted worst with the rates measured around them.
  std::string markdown;
  // One row per curve: device,host,link,kind,direction,samples,sizes,points,curve_median,curve_p90,left_out_median,
  // left_out_p90,left_out_worst,worst_bytes,law_median,law_p90. Empty where there are too few sizes to tell.
  std::string csv;
};

// Deterministic: same input, same bytes.
TransferReport ReportTransfers(const TransferFit& fit);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_TRANSFER_H_
