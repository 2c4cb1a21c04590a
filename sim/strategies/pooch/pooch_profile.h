// What PoocH learns about a training step by running it (paper section 4.2), as flat tables for its timeline model.
//
// The original records times, allocations and the computation graph during one iteration in which every map is
// swapped. Here the same tables come from the TrainingStep and the cost model, free of contention, as the original's
// compute times are.
//
//   forward op      allocates its results and workspace, runs, releases what nobody needs; then some maps had their
//                   last forward use and may leave the device
//   timing          the consecutive backward ops of one layer, or of one break point of the published code
//                   (BackwardUnits); the unit in which swap-ins are issued and maps are needed. Recomputation runs at
//                   its start, before its first op
//   stretch         ops of a timing up to one after which a map is gone; a timing of one op has one
//   value           a forward result that can be computed again: every map, then every transient
//
// Memory that strategies do not decide on (transients, gradients, workspace, saved statistics) appears as bytes of
// the forward ops and of the timings; parameters and optimizer state are taken off the capacity.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_PROFILE_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/step/training_step.h"
#include "sim/plan/plan.h"

namespace spillway {

// Times are nanoseconds, sizes bytes. Tables are flat, since a search walks them some ten thousand times: a row names what
// belongs to it as [begin, end) of another table.
struct PoochProfile {
  struct Map {  // by position in TrainingStep::maps
    TensorId tensor = kNoTensor;
    Bytes bytes = 0;
    Nanos out_time = 0, in_time = 0;
    OpId last_forward_op = kNoOp, first_backward_op = kNoOp;
    std::int32_t last_timing = -1;  // that uses it; -1: backward never does, and there is nothing to decide
    bool on_host = false;           // the network input: dropped at no cost, never recomputed
    bool may_run_again = true;      // what computes it, before its first backward use
    bool convolution = false;       // written by a convolution
    bool Decidable() const { return last_timing >= 0; }
    bool Recomputable() const { return Decidable() && !on_host && may_run_again; }
  };
  struct ForwardOp {
    OpId op = kNoOp;
    Nanos time = 0;
    Bytes allocates = 0;  // its results
    Bytes workspace = 0;
    Bytes releases = 0;                         // afterwards; undecidable things only
    std::int32_t maps_begin = 0, maps_end = 0;  // rows of `leaving`: maps whose last forward use this is
  };
  struct Timing {
    OpId first_op = kNoOp;
    Nanos time = 0;
    Bytes before = 0;                                     // undecidable bytes live when it starts
    std::int32_t stretches_begin = 0, stretches_end = 0;  // rows of `stretches`, at least one
    std::int32_t needs_begin = 0, needs_end = 0;          // rows of `needs`: maps in order of use, each once
    bool convolution = false;                             // holds a convolution's backward
  };
  struct Stretch {
    Bytes peak = 0;                             // most undecidable bytes while it runs, workspace included
    std::int32_t ends_begin = 0, ends_end = 0;  // rows of `ends`: maps whose last use is its last op
  };
  struct Value {
    Bytes bytes = 0;
    std::int32_t writers_begin = 0, writers_end = 0;  // rows of `writers`: to be run in order
  };
  struct Writer {  // a forward op
    Nanos time = 0;
    Bytes workspace = 0;
    std::int32_t inputs_begin = 0, inputs_end = 0;  // rows of `inputs`: values read, but for the one written
    OpId op = kNoOp;
  };

  Bytes capacity = 0;    // left for what the tables speak of
  Bytes persistent = 0;  // parameters and optimizer state, already off the capacity
  Bytes initial = 0;     // live before the first op: the batch, labels
  Nanos upload = 0;      // copying the batch to the device
  std::vector<Map> maps;
  std::vector<ForwardOp> forward;
  std::vector<std::int32_t> leaving;
  std::vector<Timing> timings;
  std::vector<std::int32_t> needs;
  std::vector<Stretch> stretches;
  std::vector<std::int32_t> ends;
  std::vector<Value> values;  // values[m] is maps[m] for m < maps.size()
  std::vector<Writer> writers;
  std::vector<std::int32_t> inputs;
};
// So many rows of a table, as rows are named.
inline std::int32_t Count(std::size_t rows) { return static_cast<std::int32_t>(rows); }

class FixedOps;  // sim/strategies/pooch/fixed_ops.h

// `capacity`: bytes of device memory to plan with, persistent tensors included. `fixed`: what is decided already, of the same
// step; maps that it holds are not to be decided, and their copies, which overlap with all else, have no row. REQUIRES: a step
// of one batch part.
PoochProfile ProfileStep(const TrainingStep& step, const CostModel& costs, Bytes capacity, int device = 0,
                         BackwardUnits units = BackwardUnits::kLayers, const FixedOps* fixed = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_PROFILE_H_
