#include "tests/fuzz/command.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "scenarios/cli/command.h"

namespace spillway::fuzz {

void Fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

Outcome Command(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Console console{.out = out, .err = err};
  Outcome outcome;
  outcome.status = RunCommandLine(words, console);
  outcome.out = out.str();
  outcome.err = err.str();
  std::string line = "spillway";
  for (const std::string& word : words) line += " " + word;
  if (outcome.status == kExitInternalError) Fail(line + "\n" + outcome.err);
  if (outcome.status != kExitDone && (outcome.out + outcome.err).empty()) Fail(line + "\nno message");
  return outcome;
}

const TemporaryFolder& Folder() {
  static const TemporaryFolder folder("fuzz");
  return folder;
}

}  // namespace spillway::fuzz
