// How far transfer curves are from measured copies, and from sizes they have not seen.
#ifndef SPILLWAY_CALIBRATE_FIT_TRANSFER_REPORT_H_
#define SPILLWAY_CALIBRATE_FIT_TRANSFER_REPORT_H_

#include <string>

#include "calibrate/fit/transfer.h"

namespace spillway {

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

#endif  // SPILLWAY_CALIBRATE_FIT_TRANSFER_REPORT_H_
