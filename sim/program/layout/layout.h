// Gives every device buffer of an arena Program a fixed address, and adds the waits that reuse of an address across
// streams makes necessary.
//
// Two buffers whose lifetimes overlap in list order get disjoint addresses. Buffers that follow each other in list
// order may share; if they are freed and allocated on different streams, the later one waits. Since list order agrees
// with every stream, such waits cannot deadlock, and a Program that was laid out cannot run out of memory whatever the
// durations are.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_H_

#include "sim/program/program.h"
#include "sim/program/synchronise.h"

namespace spillway {

// Within `capacity` bytes (0 = as few as possible). The placement that needs fewest bytes is found first; where there is
// more room than that, buffers that would wait move to where memory was given back longest ago (sim/program/layout/placement.h).
// Returns the highest address used, which may exceed `capacity`: then there was no better. The program's buffers get
// offsets, its code the waits. Deterministic; O(n x neighbours).
Bytes PlaceBuffers(Program& program, Bytes capacity = 0);
// The same from the items of a Program that was not synchronised yet (LowerItems). Where the address goes beyond `capacity`
// the program is left without code: there is nothing to run.
Bytes PlaceBuffers(Skeleton& skeleton, Program& program, Bytes capacity);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_H_
