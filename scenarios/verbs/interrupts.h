// Ctrl-C and SIGTERM as something to ask about between two pieces of work, instead of an end anywhere.
#ifndef SPILLWAY_SCENARIOS_VERBS_INTERRUPTS_H_
#define SPILLWAY_SCENARIOS_VERBS_INTERRUPTS_H_

#include <csignal>

namespace spillway {

// Holds both signals back while it lives, also from threads that are begun meanwhile. One that came while nobody asked
// ends the process afterwards, as usual.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether one has come. Stays so.
  bool Came();

 private:
  bool Take();  // those that wait; whether there was one
  sigset_t signals_, before_;
  bool came_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VERBS_INTERRUPTS_H_
