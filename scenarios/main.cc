#include <unistd.h>

#include <iostream>

#include "scenarios/command.h"

int main(int argc, char** argv) {
  spillway::Console console{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  const int status = spillway::RunCommandLine({argv + 1, argv + argc}, console);
  std::cout.flush();
  return status;
}
