// Predicted against measured, for people and for scripts.
//
// validation.csv has one row per plan that was looked at:
//
//   network, batch, device, memory_limit_bytes
//   link_rate              stated, bytes per second each way; 0 = not limited
//   strategy               or "random N"
//   predicted_s, measured_s   step time; measured is the median of the uninstrumented steps
//   measured_spread        interquartile range of these steps over their median
//   error                  predicted / measured - 1
//   replay_error           the step simulated with its measured spans / the same step measured - 1
//   predicted_peak_bytes, measured_peak_bytes       highest arena address; highest byte of the arena that changed
//   predicted_device_bytes, measured_device_bytes   memory_limit_bytes, as the arena, and the profile's reserve; what was
//                                                   in use of a device's own memory, at most, by whomever, else growth
//                                                   of the process without host buffers; empty where the system does
//                                                   not tell
//   numerics               against the step in-core: bitwise, the largest relative difference, or skipped
// and from here on columns that may grow in number:
//   scenario, machine, kind (strategy or random), stratum, feasible, reason (why not feasible, or what failed)
//   measured_low_s, measured_high_s                 95 % interval of the median, bootstrap over rounds and steps
//   steps                                           measured
//   kernel_error, seen_kernel_error, modelled_kernel_error   kernels: predicted / measured spans - 1, summed; those whose
//                          very launch the profile has timed, and those that a model answers for
//   isolated_error         kernels: predicted / measured by themselves - 1: the cost model
//   context_error          kernels: measured by themselves / measured spans - 1: the step around them
//   copy_error             copies: predicted / measured spans - 1, summed
//   gap_share              of the step: the compute stream stood still although all it needed was there
//   perturbation           step time with spans taken / without - 1
//   seen_share             of the predicted kernel time: launches that the profile has timed
//   predicted_host_bytes, measured_host_bytes       pinned: what the plan takes; what the device allocated, in whole pages
//   in_rate, out_rate      of the link as measured, bytes per second, host to device and back
//   duplex_factor          of the link as measured
//   measured_fastest_s     the fastest step: what the machine can do when nothing else runs
//   products_pace, others_pace   kernel times now / the profile's, of convolutions and products, of all others
//   as_calibrated_s        the step time predicted at the profile's own pace
//   profile_reserve_bytes, measured_reserve_bytes   of a device's own memory, what is in use beside arenas: by the
//                          profile, as predicted_device_bytes has it; the most while the case's plans trained, with
//                          context, libraries, code of the kernels loaded by then and other users: measured_device_bytes
//                          less this is the arena and what training keeps beside it. Empty where a device has none
//   clock_mhz, lowest_clock_mhz   of a device that tells: at how many megahertz it ran in the steps, median and slowest
//   products_pace_applied, others_pace_applied   1: predicted_s is at products_pace, others_pace; 0: at the profile's own
//                          pace, as the interval of the factor holds 1, or launches timed between the steps deny it; empty:
//                          not measured
//   products_pace_meanwhile, others_pace_meanwhile   the factors by launches timed between the steps
//   at_pace_s              the step time predicted at the factors measured before, applied or not
//   tracked_s, tracked_error   predicted at the pace of each step's own moment, and that / the step - 1: medians over steps
//   load                   most threads that wanted a core around this case, one-minute average
//   rounds_differ          of one plan: largest less smallest median of a round, over their median; median over plans
//   launches_differ        the same of launches that were timed again and again between the rounds
//   trusted                1, or 0: nobody should believe this case's numbers (MachineNoise); empty: neither is known
//   forward_error, recomputed_error, backward_error   kernel_error by ops of the forward pass, ops computed once more, the
//                          backward pass and the update
//   point                  names the files of a strategy's row that was measured: timelines/POINT.trace.json
//                          (reports/trace/trace.h), ops/POINT.csv (reports/trace/validation_ops.h); empty of random plans
// Numbers that there are not are empty.
#ifndef SPILLWAY_REPORTS_TABLES_VALIDATION_H_
#define SPILLWAY_REPORTS_TABLES_VALIDATION_H_

#include <string>

#include "calibrate/validate/results.h"

namespace spillway {

std::string ValidationCsv(const ValidationSet& set);
// One row per model: variant, median_error, worst_error, tau, full_closer, full_farther, sign_test_p, gain_low, gain_high,
// verdict, scaled (1: with one factor per case for each model). gain: |its error| - |the full model's|.
std::string FalsificationCsv(const ValidationSet& set);

std::string NumericsText(const Numerics& numerics);  // "bitwise", "3.1e-07", "skipped"

// "do not trust these numbers: load 4.0, rounds differ by 31 %\n"; "" where nothing speaks against them.
std::string NoiseVerdict(const MachineNoise& noise);

// A block per case with its rows.
std::string ValidationCaseTable(const ValidationSet& set, std::size_t case_index);
// Errors by group, order, choice, falsification, notes, and what the columns mean.
std::string ValidationSummaryTable(const ValidationSet& set);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_VALIDATION_H_
