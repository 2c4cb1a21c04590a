// Which thread runs on which core. Best effort: where pinning is not allowed everything works, only less evenly.
#ifndef SPILLWAY_CALIBRATE_HOST_PIN_H_
#define SPILLWAY_CALIBRATE_HOST_PIN_H_

#include <span>
#include <string>
#include <vector>

namespace spillway {

// The cores that the calling thread may run on, ascending; empty where the system does not say.
std::vector<int> AllowedCores();

// False: the system refused, or `cores` is empty; the thread runs where it did before.
bool PinThisThread(int core);
bool PinThisThread(std::span<const int> cores);

// Timers of the calling thread end on the microsecond, not up to 50 us later as is usual.
void WakePunctually();

// Where the CPU device's threads run. Empty: anywhere.
struct CoreChoice {
  std::vector<int> compute;  // kernels
  std::vector<int> others;   // copies and the issuing thread
  bool shared = false;       // they have cores in common
  bool operator==(const CoreChoice&) const = default;
};
// Kernels get the last `threads` cores, as interrupts prefer the first ones; everything else gets the rest. With too
// few cores all share all. A wish that is not -1 is met if it is among `allowed`: the compute core is then one of those
// of kernels, however many they are, and copies have theirs alone.
CoreChoice ChooseCores(const std::vector<int>& allowed, int threads, int compute_core = -1, int copy_core = -1);

// Throws UserError, whose message begins with `what`, if so many compute threads want more cores than this process may
// use: they would take turns, which no profile describes.
void NeedCores(int threads, const std::string& what);

std::string CoresText(std::span<const int> cores);  // "core 1", "cores 2, 3", "any core"

// Pins the calling thread until it is destroyed, on the same thread.
class PinnedHere {
 public:
  explicit PinnedHere(std::span<const int> cores) : before_(AllowedCores()), pinned_(PinThisThread(cores)) {}
  ~PinnedHere() {
    if (pinned_) PinThisThread(before_);
  }
  PinnedHere(const PinnedHere&) = delete;
  PinnedHere& operator=(const PinnedHere&) = delete;
  bool pinned() const { return pinned_; }

 private:
  std::vector<int> before_;
  bool pinned_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_HOST_PIN_H_
