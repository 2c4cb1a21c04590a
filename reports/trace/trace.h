// Writes a Timeline in the Chrome trace event format (JSON), which chrome://tracing, Perfetto and report.html read.
//
// Process 0 is the host, process d + 1 is device d. The host has one thread. A device has one thread for each stream,
// and a last one for the stalls of its compute stream. Events are sorted by time; events of one thread do not overlap.
// Times are microseconds with three digits, that is, whole nanoseconds.
//
//   ph  cat         meaning, and args
//   M               names of processes and threads, and their order
//   X   kernel      one launch: instruction, and with costs algorithm, workspace (bytes), source (measured, published,
//                   assumed), how, shape, flops, bytes (touched); `recompute`: a recomputation, `reason` says why
//   X   copy        swap-in or swap-out: instruction, bytes, map (its tensor), reason
//   X   stall       compute stands still: cause (swap-in, swap-out, data, ... or host), by (the instruction waited
//                   for), name
//   X   issue       the host issues the kernel or copy of that instruction; cat `host`: the host waits, with cause
//                   and by
//   s,f flow        from a swap-out to each swap-in of the same piece
//   C               "live memory" of device 0 after each change: bytes, or the bytes by class of tensor if they are
//                   known; "memory limit": bytes
//
// otherData, with a plan: format (spillway-trace), version, scenario, network, batch, machine, strategy, point,
// memory_limit_bytes, step_time_ns, lower_bound_ns; and `maps`, the step's feature maps in its order: name, bytes,
// shape, class (keep, swap, recompute), reason, copy_out_ns, copy_in_ns (one copy, nothing else on the link), again_ns
// (the forward ops that write it), after, before (the ops between which it is only kept for backward), parts (of the op
// that writes it).
//
// The trace of a validated plan also has the measured step, on the same clock from the begin of the step. With d
// devices, process d + 1 is the measured host and later processes are the measured devices. Their names end in
// "(predicted)" or "(measured)". Measured events are kernels, copies, flows and the host's waits. Instructions are the
// same in both; ids of flows differ. Measured args also have predicted_ns, the predicted time of the same instruction.
// otherData has measured_step_ns, the time of the step shown, which ran instrumented.
//
// Sources: the trace event format of the Chromium project; Perfetto shows events of one thread only where they nest,
// which is why stalls and issuing have threads of their own.
//
// Tested by trace_test, sketch_test, validation_report_test, cli_report_test and, as report.html reads the file, by
// tests/reports/html.
#ifndef SPILLWAY_REPORTS_TRACE_TRACE_H_
#define SPILLWAY_REPORTS_TRACE_TRACE_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "model/cost/cost_model.h"
#include "model/profile/machine.h"
#include "reports/rows/result_row.h"
#include "sim/engine/timeline.h"
#include "sim/plan/plan.h"

namespace spillway {

constexpr int kTraceVersion = 1;

// The data to show; refers to all of it. Pointers may be null. Without `step`, names of kernels and copies are numbers.
// Without `costs`, args of kernels hold only the instruction. Without `plan` and `row`, there is no otherData.
struct TraceSubject {
  const Timeline& timeline;
  const Program& program;
  const Machine& machine;
  const TrainingStep* step = nullptr;
  const Plan* plan = nullptr;
  const CostModel* costs = nullptr;
  const ResultRow* row = nullptr;
  const Timeline* measured = nullptr;  // the same Program as a device ran it: its spans
};

// Passes the text to `sink` in pieces of some tens of kilobytes. Memory needed besides the subject: 4 bytes per
// instruction, 12 per copy, 4 per stall, and the texts of each op, tensor and row of Program::launches.
void WriteTrace(const TraceSubject& subject, const std::function<void(std::string_view)>& sink);
std::string TraceJson(const TraceSubject& subject);

// Live device memory over time as CSV: time_ns,live_bytes, one line per change.
std::string MemoryCsv(const Timeline& timeline);

// ---- For a terminal.

// What the streams do, a column each for an equal part of the step, and the memory below:
//
//   compute   ####rr##i..   # kernels, r computed again, i o h stands still for a swap-in, a swap-out, the host; . else idle
//   copies    >>>><<<       > to the host, < to the device, = both
//   memory    ▂▃▅▇█▇▅       of the limit, in eighths; the most of each column
//
// A column shows what takes most of it. Without colours, so that NO_COLOR changes nothing.
//
// Three lines. `limit`: bytes of device memory; `columns` at least 1.
std::string TimelineSketch(const Timeline& timeline, const Program& program, Bytes limit, int columns = 72);

// ---- What the file tells of one map or op. It is read back, so that what is told is what was written.

// `trace`: the text of the file `file`. Lines for people: what was decided and why, the bytes that its copies move, how long
// compute stood still for them, what was computed again; and what the other two classes would cost at least: memory for
// how long, copies, kernels. UserError: no such map, with the nearest name, or a file that is no timeline with maps.
std::string ExplainMap(const std::string& trace, const std::string& file, const std::string& name);

// Each launch of the op called `name`: when, how long, by which algorithm, where its cost comes from, and which wait of
// compute was before it.
std::string ExplainOp(const std::string& trace, const std::string& file, const std::string& name);

// ---- A plan that a device carried out: predicted beside measured.

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
// REQUIRES: step and costs of the subject; spans of every kernel and copy of its Program in each of `measured`.
std::string ValidationOpsCsv(const TraceSubject& subject, std::span<const Timeline> measured);

// ---- A part of the file.

// otherData as one JSON object. REQUIRES: step, plan, costs and row.
std::string TraceHead(const TraceSubject& subject);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TRACE_TRACE_H_
