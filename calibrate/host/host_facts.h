// What this machine says of itself: names and sizes for a profile, and how busy it is.
#ifndef SPILLWAY_CALIBRATE_HOST_HOST_FACTS_H_
#define SPILLWAY_CALIBRATE_HOST_HOST_FACTS_H_

#include <string>

#include "hw/text/units.h"
#include "sim/execute/clock.h"

namespace spillway {

struct HostFacts {
  std::string processor;  // "AMD EPYC"; "processor" where the system does not say
  int cores = 1;          // that this process may use
  Bytes memory = 0;       // ReadHostMemory(), then
  Bytes l2_cache = 0;     // of one core; 0 = not known
  Bytes l3_cache = 0;     // that one core can use; 0 = not known
  Bytes LastCache() const { return l3_cache > 0 ? l3_cache : l2_cache; }  // before memory; 0 = not known
};
// Some virtual machines do not state caches: kUsualLastCache and kUsualCoreCache are assumed then, by what measures and by
// the profile alike, whose laws ask what fits into the last one.
HostFacts ReadHostFacts();
constexpr Bytes kUsualLastCache = 32 * kMiB, kUsualCoreCache = kMiB;

// Of the machine, as the system has it at this moment: some virtual machines are given more after they have started. 0: it
// does not say.
Bytes ReadHostMemory();

// Of the machine, whether or not this process may use them; at least 1.
int OnlineCores();

// Runnable processes, as the one-minute average; 0 where the system does not say.
double ReadLoad();

// Counts while the calling thread runs.
class ThreadClock : public Clock {
 public:
  Nanos Now() const override;
};

// ---- How long a thread that computes waits for its core.
//
// Where more threads want a core than there are, each computes for a time slice of some milliseconds and then waits until
// all others have had theirs. A timing shorter than a slice mostly falls between two waits, and now and then holds one
// that is many times as long: a dozen of them say little of the mean, their median nothing. A step is many slices long
// and pays the mean. So a thread computes without pause for as long as a step does, and what passed is held against what
// it had of its core.

struct WaitingOptions {
  Nanos own = 100 * kMillisecond;  // that the thread computes: some thirty slices
  Nanos limit = 4 * kSecond;       // of time that passes
};
// Time that passes over what the calling thread has of its core; 1: nobody else wants it. 0: it had nothing.
// `own` counts while the calling thread runs.
double MeasureWaiting(const Clock& wall, const Clock& own, const WaitingOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_HOST_HOST_FACTS_H_
