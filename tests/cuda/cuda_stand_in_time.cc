// The stand-in's clock: its own, or the host's.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <numbers>

#include "model/util/hash.h"
#include "sim/execute/clock.h"
#include "tests/cuda/cuda_stand_in_parts.h"

namespace spillway {

namespace {

// A sleep ends this much late on a usual system; the rest is waited for awake.
constexpr double kSleepsLate = 100'000;

double HostNow() { return static_cast<double>(SteadyClock().Now()); }

// Uniform in (0, 1), the same for the same number.
double Uniform(std::uint64_t number) {
  constexpr int kBits = 53;
  return (static_cast<double>(Hasher(number).Value() >> (64 - kBits)) + 0.5) * std::ldexp(1.0, -kBits);
}

}  // namespace

// With real time: to the host's now, and carries out what has ended by then.
void CudaStandIn::Advance() {
  if (!options_.real_time) return;
  now_ = std::max(now_, HostNow());
  Run(now_);
}

// The host is busy, or waits, until then.
void CudaStandIn::MoveTo(double time) {
  if (!options_.real_time) {
    now_ = time;
    return;
  }
  const double sleep = time - HostNow() - kSleepsLate;
  if (sleep > 0) {
    constexpr double kPerSecond = 1e9;
    timespec left{};
    left.tv_sec = static_cast<std::time_t>(sleep / kPerSecond);
    left.tv_nsec = static_cast<long>(std::fmod(sleep, kPerSecond));
    while (nanosleep(&left, &left) != 0) {
    }
  }
  double now = HostNow();
  while (now < time) now = HostNow();
  now_ = std::max(now_, now);
}

// Normal numbers from pairs of uniform ones (Box and Muller).
double CudaStandIn::Noisy(double time) {
  if (options_.noise == 0) return time;
  const double radius = std::sqrt(-2 * std::log(Uniform(drawn_))), angle = Uniform(drawn_ + 1);
  drawn_ += 2;
  return time * std::exp(options_.noise * radius * std::cos(2 * std::numbers::pi * angle));
}

}  // namespace spillway
