#include "calibrate/devices/cpu/link.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

#include "calibrate/devices/cpu/event.h"

namespace spillway {

namespace {

// Small enough to fit a core's cache and to let copies of the other direction in between, large enough that the clock
// is read seldom.
constexpr Bytes kChunk = 256 * kKiB;
// Sleeping ends late by some 25 to 60 us on virtual machines. Less is not worth sleeping, and the last moments of a copy are watched.
constexpr Nanos kOversleep = 60 * kMicrosecond;

}  // namespace

Nanos TokenBucket::Take(Bytes bytes, Nanos now) {
  if (rate_ <= 0) return now;
  const double time = static_cast<double>(now), kept = static_cast<double>(depth_) / rate_;
  paid_ = (used_ ? std::max(paid_, time - kept) : time - kept) + static_cast<double>(bytes) / rate_;
  used_ = true;
  return std::max(now, static_cast<Nanos>(std::ceil(paid_)));
}

Sleep SystemSleep() {
  return [](Nanos time) {
    const timespec span{.tv_sec = static_cast<time_t>(time / kSecond), .tv_nsec = static_cast<long>(time % kSecond)};
    nanosleep(&span, nullptr);
  };
}

CpuLink::CpuLink(double rate, const Clock& clock, Sleep sleep)
    : rate_(rate), clock_(clock), sleep_(std::move(sleep)), buckets_{TokenBucket(rate, 0), TokenBucket(rate, 0)} {}

void CpuLink::Copy(Direction direction, void* to, const void* from, Bytes bytes, const std::atomic<bool>* cancelled) {
  BoxRuns one;
  one.run = bytes;
  Copy(direction, to, from, one, cancelled);
}

void CpuLink::Copy(Direction direction, void* to, const void* from, const BoxRuns& runs,
                   const std::atomic<bool>* cancelled) {
  const auto stop = [cancelled] { return cancelled != nullptr && cancelled->load(std::memory_order_acquire); };
  const Bytes all = runs.Total();
  const Nanos end = rate_ > 0 ? buckets_[static_cast<std::size_t>(direction)].Take(all, clock_.Now()) : 0;
  ++awake_;
  Bytes done = 0, since = 0;  // since the clock was read
  ForEachRun(runs, [&](Bytes from_offset, Bytes to_offset, Bytes run) {
    for (Bytes at = 0; at < run && !stop();) {
      const Bytes chunk = std::min(kChunk - since, run - at);
      std::memcpy(static_cast<char*>(to) + to_offset + at, static_cast<const char*>(from) + from_offset + at,
                  static_cast<std::size_t>(chunk));
      at += chunk, done += chunk, since += chunk;
      if (since < kChunk && done < all) continue;
      since = 0;
      if (rate_ > 0) SleepUntil(end - static_cast<Nanos>(static_cast<double>(all - done) / rate_) - kOversleep);
    }
  });
  if (rate_ > 0 && !stop()) WatchUntil(end);
  --awake_;
}

// Gives up the core if that is worth while; comes back early rather than late.
void CpuLink::SleepUntil(Nanos time) {
  const Nanos left = time - clock_.Now();
  if (left <= 0) return;
  --awake_;
  sleep_(left);
  ++awake_;
}

void CpuLink::WatchUntil(Nanos time) const {
  while (clock_.Now() < time) {
    if (awake_.load(std::memory_order_relaxed) > 1) {
      sched_yield();
    } else {
      Pause();
    }
  }
}

}  // namespace spillway
