// Turns Ctrl-C (SIGINT) and SIGTERM into a question that a command asks between two pieces of work, so that a run ends
// between points and not in the middle of a file.
//
//   Interrupts interrupts;  // both signals are held back from here on
//   const std::function<bool()> stop = StopBetweenPoints(interrupts, std::cerr);
//   for (const Point& point : points) { if (stop()) break; ... }
//
// The first signal lets the points in progress finish. The second ends the process at once.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_INTERRUPTS_H_
#define SPILLWAY_SCENARIOS_OUTPUT_INTERRUPTS_H_

#include <csignal>
#include <ctime>
#include <functional>
#include <ostream>

namespace spillway {

// Blocks both signals in this thread, and in threads started afterwards, while it lives. A signal that no call of
// Came() has seen takes its usual effect at the end of the lifetime: it ends the process.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  // If Came() returned true, discards further signals: `timeout` sends two, and the second would replace the exit
  // status.
  ~Interrupts() {
    if (came_) Take();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // True once a signal has come, and ever after.
  bool Came() {
    came_ = came_ || Take();
    return came_;
  }

  // From now on a signal ends the process, as usual. Waits 0.3 s first and discards a signal that comes meanwhile,
  // because `timeout` sends two together.
  void LetGo() {
    const timespec together{.tv_sec = 0, .tv_nsec = 300'000'000};
    nanosleep(&together, nullptr);
    Take();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  // Discards the pending signals; returns true if there was one.
  bool Take() {
    const timespec now{};
    bool any = false;
    while (sigtimedwait(&signals_, nullptr, &now) > 0) any = true;
    return any;
  }
  sigset_t signals_, before_;
  bool came_ = false;
};

// A function to call between points: true means "stop". At the first true it prints a message to `err`, because points
// may take minutes to finish, and calls LetGo. `interrupts` and `err` must outlive the function.
inline std::function<bool()> StopBetweenPoints(Interrupts& interrupts, std::ostream& err) {
  return [&interrupts, &err, told = false]() mutable {
    if (!interrupts.Came()) return false;
    if (!told) {
      told = true;
      err << "interrupted: the points being worked on are finished first; once more ends at once" << std::endl;
      interrupts.LetGo();
    }
    return true;
  };
}

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_INTERRUPTS_H_
