// Holds the caller of a device to the order of calls: sim/execute/device.h, and clauses 1 and 2 of sim/program/program.h.
#ifndef SPILLWAY_SIM_EXECUTE_SESSION_ORDER_H_
#define SPILLWAY_SIM_EXECUTE_SESSION_ORDER_H_

#include <vector>

#include "sim/execute/device.h"

namespace spillway {

// All but the constructor and BeginStep throw DeviceError (kContract), blaming the instruction.
class SessionOrder {
 public:
  // The Program must outlive this.
  explicit SessionOrder(const Program& program);

  void BeginStep();
  void Give(Issue issue);  // kAlloc, kFree: there are such a stream and such an instruction, and it is the first time
  void GiveKernel(Issue issue);
  void GiveCopy(Issue issue, Direction direction);
  void Record(Issue issue, EventId event);
  void Wait(Issue issue, EventId event) const;
  void HostSync(Issue issue, EventId event) const;
  void EndStep() const;

 private:
  StreamKind KindOf(Issue issue) const;
  void NeedEvent(Issue issue, EventId event, bool recorded) const;

  const Program& program_;
  std::uint64_t step_ = 0;            // steps begun
  std::vector<std::uint64_t> given_;  // by instruction: the step in which it was given last
  std::vector<char> recorded_;        // by event: in this step
  std::uint32_t records_ = 0;         // in this step
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_SESSION_ORDER_H_
