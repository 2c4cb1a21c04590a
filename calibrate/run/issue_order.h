// Other orders in which the instructions of a Program may be issued.
//
// Any order that keeps each stream's own order, puts kWait and kHostSync behind the kRecord that they wait for, and
// whatever is listed after a kHostSync behind that, is a linear extension of the partial order on which verify proves
// safety: a safe Program computes the same in all of them, an unsafe one does not in some. Drawn as in Burckhardt,
// Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs" (ASPLOS 2010):
// streams and the host have random priorities, the highest one that can go on does, and priorities change at a few
// random places. So one stream runs far ahead of the others, which uniform choice hardly ever lets happen.
#ifndef SPILLWAY_CALIBRATE_RUN_ISSUE_ORDER_H_
#define SPILLWAY_CALIBRATE_RUN_ISSUE_ORDER_H_

#include <cstdint>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

// Indices into program.code, each once. The same for the same seed on every machine. Of a wait without an earlier
// record nothing is asked: that is the device's to report.
std::vector<std::uint32_t> ShuffledOrder(const Program& program, std::uint64_t seed);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_ISSUE_ORDER_H_
