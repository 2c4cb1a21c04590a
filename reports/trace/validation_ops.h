// Each kernel and copy of a plan that was carried out: predicted beside measured.
//
// ops/POINT.csv has one row per kernel and copy, in the order in which the host issues them:
//
//   instruction            of the Program: the one that slices of the point's trace have
//   what                   kernel, recompute, swap-in, swap-out
//   name                   of the op, or of the tensor that is copied
//   shape                  of the op; empty of copies
//   algorithm              by name; empty where there is no choice, and of copies
//   bytes                  copied; empty of kernels
//   how                    where the prediction comes from: "measured" where the profile has timed this very launch, else
//                          what answers for it (model, law, roofline); of copies measured, published or assumed, as the
//                          link's curve is
//   predicted_s            by the costs that the row of validation.csv is held to, nothing else running
//   measured_s             median over the steps with instruments, as it ran among the others
//   low_s, high_s          least and most of these
//   steps                  how many there are
//   error                  predicted_s / measured_s - 1
//
// kernel_error and copy_error of validation.csv are of the sums of these, step by step.
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
