#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>

#include "scenarios/cli/command.h"

// A standard stream that was closed would be the next file that is opened, and what is printed would land there. Opened
// the wrong way round it fails as a closed one does.
static void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int main(int argc, char** argv) {
  OccupyStandardStreams();
  spillway::Console console{.out = std::cout,
                            .err = std::cerr,
                            .terminal = isatty(STDERR_FILENO) == 1 && spillway::MovesCursor(std::getenv("TERM")),
                            .out_terminal = isatty(STDOUT_FILENO) == 1,
                            .screen = &std::cerr};
  return spillway::RunCommandLine({argv + 1, argv + argc}, console);
}
