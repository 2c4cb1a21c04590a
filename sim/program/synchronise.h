// From "this must come before that" to the fewest events and waits that ensure it.
//
// `lower` and `layout` think in items, i.e. instructions other than kRecord and kWait, and dependencies between them;
// this is the one place where those become events. A dependency that stream order, host syncs and earlier waits
// already imply costs nothing (sim/program/program.h, clause 7); vector clocks, one component per stream, tell.
#ifndef SPILLWAY_SIM_PROGRAM_SYNCHRONISE_H_
#define SPILLWAY_SIM_PROGRAM_SYNCHRONISE_H_

#include <vector>

#include "sim/program/program.h"

namespace spillway {

struct Dependency {
  std::uint32_t before = 0;  // item
  std::uint32_t after = 0;   // item, before < after
  Cause cause = Cause::kNone;
};

struct Skeleton {
  std::vector<Instruction> items;        // no kRecord, no kWait; the arg of a kHostSync is the item it waits for
  std::vector<Dependency> dependencies;  // in order of `after`
};

// Writes program.code and program.events. The other tables of `program` are left alone and must fit the items.
void Synchronise(const Skeleton& skeleton, Program& program);

// The skeleton a synchronised program came from, up to implied dependencies.
Skeleton Strip(const Program& program);

// Gives every device buffer of an arena Program a fixed address, and adds the waits that reuse of an address across
// streams makes necessary.
//
// Two buffers whose lifetimes overlap in list order get disjoint addresses. Buffers that follow each other in list
// order may share; if they are freed and allocated on different streams, the later one waits. Since list order agrees
// with every stream, such waits cannot deadlock, and a Program that was laid out cannot run out of memory whatever the
// durations are.

// Within `capacity` bytes (0 = as few as possible). The placement that needs fewest bytes is found first; where there is
// more room than that, buffers that would wait move to where memory was given back longest ago (sim/program/placement.h).
// Returns the highest address used, which may exceed `capacity`: then there was no better. The program's buffers get
// offsets, its code the waits. Deterministic; O(n x neighbours).
Bytes PlaceBuffers(Program& program, Bytes capacity = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_SYNCHRONISE_H_
