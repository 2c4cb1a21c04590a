// Ctrl-C and SIGTERM as something to ask about between two pieces of work, instead of an end anywhere.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_INTERRUPTS_H_
#define SPILLWAY_SCENARIOS_OUTPUT_INTERRUPTS_H_

#include <csignal>
#include <ctime>
#include <functional>
#include <ostream>

namespace spillway {

// Holds both signals back while it lives, also from threads that are begun meanwhile. One that came while nobody asked
// ends the process afterwards, as usual.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  // Once one was heeded, another one (timeout sends two) does not take the exit status away.
  ~Interrupts() {
    if (came_) Take();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether one has come. Stays so.
  bool Came() {
    came_ = came_ || Take();
    return came_;
  }

  // From now on another signal ends the process, as usual; not one that came together with the first (timeout sends two).
  void LetGo() {
    const timespec together{.tv_sec = 0, .tv_nsec = 300'000'000};
    nanosleep(&together, nullptr);
    Take();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  // Those that wait; whether there was one.
  bool Take() {
    const timespec now{};
    bool any = false;
    while (sigtimedwait(&signals_, nullptr, &now) > 0) any = true;
    return any;
  }
  sigset_t signals_, before_;
  bool came_ = false;
};

// What to ask between points, which may take minutes each: says at once that the end was asked for. `interrupts` and `err`
// must outlive what is returned.
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
