#include "calibrate/host/pin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>

#include "hw/text/document.h"
#include "hw/text/lists.h"

namespace spillway {

namespace {}  // namespace

std::vector<int> AllowedCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

bool PinThisThread(int core) { return PinThisThread(std::span<const int>(&core, 1)); }

bool PinThisThread(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE) return false;
    CPU_SET(static_cast<std::size_t>(core), &set);
  }
  return !cores.empty() && sched_setaffinity(0, sizeof(set), &set) == 0;
}

void WakePunctually() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

CoreChoice ChooseCores(const std::vector<int>& allowed, int threads, int compute_core, int copy_core) {
  CoreChoice choice;
  if (Contains(allowed, compute_core)) choice.compute = {compute_core};
  for (auto core = allowed.rbegin(); core != allowed.rend(); ++core) {
    const bool free = *core != copy_core && *core != compute_core;
    if (static_cast<int>(choice.compute.size()) < threads && free) choice.compute.push_back(*core);
  }
  if (static_cast<int>(choice.compute.size()) < threads) choice.compute = allowed;
  std::sort(choice.compute.begin(), choice.compute.end());
  for (const int core : allowed) {
    if (!Contains(choice.compute, core)) choice.others.push_back(core);
  }
  if (Contains(allowed, copy_core)) choice.others = {copy_core};
  if (choice.others.empty()) choice.others = choice.compute;
  choice.shared =
      std::any_of(choice.others.begin(), choice.others.end(), [&](int core) { return Contains(choice.compute, core); });
  return choice;
}

void NeedCores(int threads, const std::string& what) {
  const int cores = static_cast<int>(AllowedCores().size());
  if (cores == 0 || threads <= cores) return;  // 0: the system does not say
  throw UserError(fmt::format("{}: computes on {} threads, but this process may use {} core{} of this machine", what,
                              threads, cores, cores == 1 ? "" : "s"));
}

std::string CoresText(std::span<const int> cores) {
  if (cores.empty()) return "any core";
  return fmt::format("{} {}", cores.size() == 1 ? "core" : "cores", fmt::join(cores, ", "));
}

}  // namespace spillway
