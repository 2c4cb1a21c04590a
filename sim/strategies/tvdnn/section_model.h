// tvDNN's decisions: for each gap between two uses of a tensor, the number of its sections that are on the host
// meanwhile.
//
// The poster (Park et al., PPoPP 2018) names memory-object sectioning and an integer program and gives neither; all of this
// is ours. Sections of one tensor are batch ranges of one size. They are interchangeable, so that a count says it all: the
// last ones leave.
#ifndef SPILLWAY_SIM_STRATEGIES_TVDNN_SECTION_MODEL_H_
#define SPILLWAY_SIM_STRATEGIES_TVDNN_SECTION_MODEL_H_

#include <cstdint>
#include <vector>

#include "sim/program/step_tables.h"

namespace spillway::tvdnn {

struct SectionGap {
  TensorId tensor = kNoTensor;
  OpId after = kNoOp, before = kNoOp;  // at least one op in between
  std::int64_t sections = 1;           // that the tensor has
  Bytes bytes = 0;                     // of one
  bool on_host = false;                // the input: nothing is copied out
  // The gap before, of the same tensor, unwritten since: what was away then has its copy on the host. -1: none.
  int copied_by = -1;
};

struct SectionModel {
  std::vector<SectionGap> gaps;      // by tensor, then by op
  std::vector<Bytes> live;           // by op: with everything kept, workspaces as usual
  std::vector<Nanos> time;           // by op
  double out_rate = 0, in_rate = 0;  // nanoseconds a byte, of copies of a section
  int copy_streams = 2;
  OpId ops() const { return static_cast<OpId>(time.size()); }
};

// Sections of at most `section` bytes, as far as the batch and alignment allow it: the fewest of equal size. Tensors that
// do not allow two are moved whole; those below a thousandth of `capacity` stay. Times as the library runs ops by itself.
SectionModel SectionModelOf(const StepTables& tables, const CostModel& costs, Bytes capacity, Bytes section,
                            int copy_streams);

using Counts = std::vector<std::int64_t>;  // by gap: sections that are away
// Swaps them: out after the use before, in as early as there is room.
void AddSwaps(const SectionModel& model, const Counts& counts, const TrainingStep& step, Plan& plan);

// Belady: an op that finds no room sends away, of tensors that it does not use, sections of the one that is used last.
// Where even that does not suffice, all of these are away.
Counts FarthestUse(const SectionModel& model, Bytes capacity);

struct CountedProgram {
  Counts counts;
  double stall = 0, bound = 0;  // nanoseconds: of the counts, and of all counts that there are
  bool found = false;
  std::int64_t nodes = 0;
};
// The counts with the least stall. Time passes op by op: stall w_t, in which nothing runs, then the op; copies go on in both.
// What is out when an op begins is not there while it runs, what has begun to come in by its end is:
//
//   O_t, I_t    bytes out, in when op t begins        O'_t, I'_t   when it ends        x_g  sections away in gap g, whole
//   rate (O_t - O'_{t-1}) <= w_t, rate (O'_t - O_t) <= time_t        each direction, or both together with one copy stream
//   O'_t <= sum over gaps begun before t of bytes_g (x_g - d_g)      d_g: copied by an earlier gap; inputs: all
//   I_t <= O'_{t-1} + there_t,  I'_t <= O_t + there_t                there_t: sum over gaps begun before t of bytes_g d_g
//   I_t >= sum over gaps ended by t of bytes_g x_g
//   live_t - O_t - there_t + I'_t <= capacity
//
// minimise sum w_t, of equal ones with the fewest bytes away. Steps of more than 128 ops have so many moments of several ops
// each. Which sections a copy is of does not matter: those that leave first, and are needed first, come first.
CountedProgram LeastStall(const SectionModel& whole, Bytes capacity, std::int64_t most_nodes);
// The stall in nanoseconds for given counts; < 0: they do not fit.
double StallOf(const SectionModel& model, Bytes capacity, const Counts& counts);

}  // namespace spillway::tvdnn

#endif  // SPILLWAY_SIM_STRATEGIES_TVDNN_SECTION_MODEL_H_
