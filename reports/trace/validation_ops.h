// A table of every kernel and copy of a validated plan: predicted and measured time.
//
// ops/POINT.csv has one row per kernel and copy, in the order in which the host issues them:
//
//   instruction            its index in the Program, as in the point's trace
//   what                   kernel, recompute, swap-in, swap-out
//   name                   the op, or the tensor that is copied
//   shape                  the op's shape; empty for copies
//   algorithm              its name; empty for copies and for ops without a choice
//   bytes                  bytes copied; empty for kernels
//   how                    the source of the prediction. Kernels: "measured" if the profile timed this very launch,
//                          else model, law or roofline. Copies: measured, published or assumed, as the link's curve
//   predicted_s            seconds alone, by the costs that the row of validation.csv is compared with
//   measured_s             seconds, median over the instrumented steps, while other kernels and copies run
//   low_s, high_s          the least and the largest of these
//   steps                  the number of instrumented steps
//   error                  predicted_s / measured_s - 1
//
// kernel_error and copy_error of validation.csv compare the sums of these times, step by step.
//
// Tested by validation_report_test.
#ifndef SPILLWAY_REPORTS_TRACE_VALIDATION_OPS_H_
#define SPILLWAY_REPORTS_TRACE_VALIDATION_OPS_H_

#include <span>
#include <string>

#include "reports/trace/trace.h"

namespace spillway {

// REQUIRES: step and costs of the subject; spans of every kernel and copy of its Program in each of `measured`.
std::string ValidationOpsCsv(const TraceSubject& subject, std::span<const Timeline> measured);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TRACE_VALIDATION_OPS_H_
