// Dynamic tensor rematerialisation, played once over a list of ops (Kirisame et al., Dynamic Tensor Rematerialization,
// ICLR 2021, arXiv 2006.09616).
//
// DTR plans nothing in advance. If an op's results do not fit, it evicts values until they fit, each time the value
// with the least
//
//   (time to recompute it + time to recompute the evicted values around it) / (bytes x time since it was last used)
//
// If an op reads an evicted value, the ops that made it run again, and so on for their operands. Evicted values around
// a value are counted by equivalence classes (the paper's h_eq). An evicted value joins the class of its evicted
// neighbours, inputs and readers. A value that comes back takes its own time out of its class, and the class does not
// split again. The last use of a value is when an op that reads it was due, before any recomputation for that op, or
// when the value was first made. This is as in the published simulator (uwsampl/dtr-prototype). A value that no op will
// read any more is evicted at once ("eager eviction"). It may come back for a recomputation; then it stays until it is
// the cheapest to evict.
//
// The same for a training step, recorded ones among them (dtr.cc). Tested by dtr_test (tests/sim/).
#ifndef SPILLWAY_SIM_STRATEGIES_DTR_DTR_PLAY_H_
#define SPILLWAY_SIM_STRATEGIES_DTR_DTR_PLAY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/text/units.h"

namespace spillway::dtr {

struct Value {
  Bytes bytes = 0;
  Nanos time = 0;       // of the ops that give it, to have it again
  Bytes workspace = 0;  // that the largest of them wants meanwhile
  bool may_leave = false;
  std::int32_t complete = -1;  // the event after which it is all there, and may leave; -1: from the beginning
  // The operands of those ops, as indices of values. A value that may not be evicted and is gone, such as an input
  // without later readers, counts as present.
  std::vector<std::int32_t> sources{};
};

struct Event {  // an op
  Nanos time = 0;
  Bytes workspace = 0;
  std::vector<std::int32_t> needs{};   // values that have to be there, those that it overwrites among them
  std::vector<std::int32_t> writes{};  // allocated where they are not there
  std::vector<std::int32_t> dies{};    // values that no later event needs or writes
};

struct Graph {
  std::vector<Value> values;
  std::vector<Event> events;
  std::vector<std::int32_t> there;  // before the first event
};

// An eviction or recomputation of a value, before the kernel of `event`, in the order of the trace.
struct Happening {
  std::int32_t event = 0;
  std::int32_t value = 0;
  bool again = false;  // it was computed again; else it left
};

struct Trace {
  std::int32_t failed = -1;  // the event at which it gave up; -1: it came to its end
  bool too_often = false;    // it gave up since too much ran again (kMostAgain); else nothing was left to leave
  Nanos time = 0;            // of all ops, those that ran again among them
  Bytes peak = 0;
  std::vector<Happening> happened;  // without values evicted because no op reads them any more
};

// `budget`: bytes for the values and workspaces of the graph. Ties go to the value of the lowest index. Gives up, as
// failed, where more ops ran again than kMostAgain times all there are: that does not come to an end in reasonable time.
constexpr std::size_t kMostAgain = 20;
Trace Play(const Graph& graph, Bytes budget);

}  // namespace spillway::dtr

#endif  // SPILLWAY_SIM_STRATEGIES_DTR_DTR_PLAY_H_
