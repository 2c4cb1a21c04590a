// Dynamic tensor rematerialisation, played once over a list of ops (Kirisame et al., Dynamic Tensor Rematerialization,
// ICLR 2021, arXiv 2006.09616).
//
// Nothing is planned. Where an op's results do not fit, values leave until they do, the one of the least
//
//   (time to compute it again + that of the values missing around it) / (bytes x time since it was last used)
//
// first; where an op reads a value that has left, the ops that gave it run again, with what they read in turn. What is
// missing around a value is counted by classes of equivalence (the paper's h_eq): a value that leaves joins the class of
// its missing neighbours, inputs and readers; one that comes back takes its own time out of its class, and the class does
// not fall apart again. A value was last used when an op that reads it was wanted, before anything ran again for that op,
// or when it was given for the first time, as in the system's published simulator (uwsampl/dtr-prototype). A value that no
// op will read any more leaves at once ("eager eviction") and may come back for another one's sake; then it stays until it
// is the cheapest to lose.
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
  // What those ops read: values by index. What may not leave and is gone, like an input that nobody reads any more, is
  // taken for there.
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

// What happened to a value: before the kernel of `event`, in the order of the trace.
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
  std::vector<Happening> happened;  // without what left because nobody reads it any more
};

// `budget`: bytes for the values and workspaces of the graph. Ties go to the value of the lowest index. Gives up, as
// failed, where more ops ran again than kMostAgain times all there are: that does not come to an end in reasonable time.
constexpr std::size_t kMostAgain = 20;
Trace Play(const Graph& graph, Bytes budget);

}  // namespace spillway::dtr

#endif  // SPILLWAY_SIM_STRATEGIES_DTR_DTR_PLAY_H_
