// The command line as a user meets it: words in, status and both outputs out.
#ifndef SPILLWAY_TESTS_COMMAND_LINE_H_
#define SPILLWAY_TESTS_COMMAND_LINE_H_

#include <sstream>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"

namespace spillway {

struct Outcome {
  int status;
  std::string out, err;
};

inline Outcome Spillway(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Console console{out, err};
  const int status = RunCommandLine(words, console);
  return {status, out.str(), err.str()};
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_COMMAND_LINE_H_
