// One command line carried out inside a fuzzer.
#ifndef SPILLWAY_TESTS_FUZZ_COMMAND_H_
#define SPILLWAY_TESTS_FUZZ_COMMAND_H_

#include <string>
#include <vector>

#include "tests/temporary_folder.h"

namespace spillway::fuzz {

struct Outcome {
  int status = 0;
  std::string out, err;
};

// Carries the words out. Ends the process with the messages where the status is 70, or is not 0 and nothing says why.
Outcome Command(const std::vector<std::string>& words);

// A folder of this process alone, removed when the process ends in peace.
const TemporaryFolder& Folder();

// Prints what is wrong and ends the process as a failed assertion does.
[[noreturn]] void Fail(const std::string& what);

}  // namespace spillway::fuzz

#endif  // SPILLWAY_TESTS_FUZZ_COMMAND_H_
