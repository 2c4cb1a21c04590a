// Which places of buffers a kernel or copy touches, and whether later ones that touch the same are ordered behind it: clause
// 4 of Programs whose buffers, operands and copies name boxes. Internal to verify.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_PLACES_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_PLACES_H_

#include <vector>

#include "sim/verify/verify_internal.h"

namespace spillway::verifying {

// The accesses of one buffer that a later one may have to follow.
class PlaceAccesses {
 public:
  struct Known {
    Box box;
    InstructionIndex at = kNowhere;
    StreamId stream = 0;
    bool write = false;
  };
  // Calls f(earlier) for each that `box` has places in common with and of which one, or this, is a write.
  template <typename F>
  void ForEachConflict(const Box& box, bool write, F f) const {
    for (const Known& known : known_) {
      if ((write || known.write) && Intersection(known.box, box).Elements() > 0) f(known);
    }
  }
  // Earlier ones that any further conflict with is a conflict with this one too are forgotten: they happen before it, or
  // were reported when it came.
  void Remember(const Known& now);

 private:
  std::vector<Known> known_;
};

// What an operand touches, of a buffer that is no tensor's one place.
Box PlacesOf(const Program& program, const TrainingStep& step, const Operand& operand);
// What a copy reads or writes there; a copy with `fill` writes all that the buffer holds.
Box PlacesOf(const Program& program, const TrainingStep& step, const Copy& copy, bool written);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_PLACES_H_
