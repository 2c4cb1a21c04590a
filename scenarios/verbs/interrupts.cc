#include "scenarios/verbs/interrupts.h"

#include <ctime>

namespace spillway {

Interrupts::Interrupts() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

// Once one was heeded, another one (timeout sends two) does not take the exit status away.
Interrupts::~Interrupts() {
  if (came_) Take();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interrupts::Take() {
  const timespec now{};
  bool any = false;
  while (sigtimedwait(&signals_, nullptr, &now) > 0) any = true;
  return any;
}

bool Interrupts::Came() {
  came_ = came_ || Take();
  return came_;
}

}  // namespace spillway
