// What verify says of a Program that claims to compute a step, as text.
#ifndef SPILLWAY_TESTS_VIOLATIONS_H_
#define SPILLWAY_TESTS_VIOLATIONS_H_

#include <string>

#include "sim/verify/verify.h"

namespace spillway {

// One a line; "" where the Program is right.
inline std::string ViolationsOf(const Program& program, const TrainingStep& step) {
  std::string text;
  for (const Violation& violation : Verify(program, &step)) text += violation.message + "\n";
  return text;
}

// The first one alone, without an end of line.
inline std::string FirstViolation(const Program& program, const TrainingStep& step) {
  const std::string all = ViolationsOf(program, step);
  return all.substr(0, all.find('\n'));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_VIOLATIONS_H_
