// The oracles of a run that were asked for last, with the facts that those of one step and machine share.
#ifndef SPILLWAY_SIM_ORACLE_MEMO_H_
#define SPILLWAY_SIM_ORACLE_MEMO_H_

#include <deque>
#include <memory>
#include <mutex>

#include "sim/evaluate.h"

namespace spillway {

// May be shared by threads.
class OracleMemo {
 public:
  // Of the problem's step, costs, device and capacity. Step and costs are told apart by their addresses and have to live as
  // long as the memo and what it returns.
  std::shared_ptr<const Oracle> For(const Problem& problem);

 private:
  std::shared_ptr<const StepFacts> FactsFor(const Problem& problem) const;

  std::mutex mutex_;
  std::deque<std::shared_ptr<const Oracle>> oracles_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ORACLE_MEMO_H_
