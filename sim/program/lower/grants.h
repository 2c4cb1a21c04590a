// A grant of workspace is an upper limit, not a reservation. Where an op is launched, what is free on the device may be
// less; a library that chooses takes the next algorithm of its menu then, in the end one without workspace. A plan that
// names an algorithm has decided: its workspace is not cut.
//
//   room 100 MB, 70 MB live with the results; the op is granted 64 MiB
//   the menu    fft 60 MB   gemm 20 MB   direct 0 B
//   launched    gemm, which 30 MB hold; in a room of 80 MB: direct
//
// Tested by grants_test (tests/).
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_GRANTS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_GRANTS_H_

#include "sim/program/lower/plan_walk.h"

namespace spillway {

// The launch within what WalkInput::room leaves beside the live bytes and `tiles` bytes that its kernels will add.
// No parts: it stays as it is. REQUIRES: its results that lie in place are allocated.
CutLaunch CutToFree(PlanWalk& w, const OpLaunch& launch, Bytes tiles);
// Cuts the first runs of the ops [first, end), which share a workspace. Returns its bytes.
Bytes CutGrants(PlanWalk& w, OpId first, OpId end);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_GRANTS_H_
