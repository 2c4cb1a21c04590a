#include "scenarios/interrupts.h"

#include <ctime>

namespace spillway {

Interrupts::Interrupts() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::Came() {
  const timespec now{};
  came_ = came_ || sigtimedwait(&signals_, nullptr, &now) > 0;
  return came_;
}

}  // namespace spillway
