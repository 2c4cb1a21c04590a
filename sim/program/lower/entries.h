// Entries of a schedule of recomputations (Plan::recompute): forward ops that are recomputed at a moment of their own.
// Each says how long its results stay. Example: norm computes n from c, relu computes r from n, c is on the device.
//
//   entries before op 9               items
//   {run norm, keep false}            norm  r=c w=n          n waits to leave, since the next entry reads it
//   {run relu}                        relu  r=n w=r          r stays for its next use
//                                     free n
//
// An entry computes the results whose gap is open and recomputed. If there are none, it computes results that no op
// uses any more, for other entries. It passes over results that are on the device.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_ENTRIES_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_ENTRIES_H_

#include "sim/program/lower/plan_walk.h"

namespace spillway {

void RunEntriesBefore(PlanWalk& w, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_ENTRIES_H_
