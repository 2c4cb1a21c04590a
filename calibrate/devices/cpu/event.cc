#include "calibrate/devices/cpu/event.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace spillway {

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void SleepWhile(std::atomic<std::uint32_t>& word, std::uint32_t value, Nanos timeout) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  const timespec most{.tv_sec = static_cast<time_t>(timeout / kSecond),
                      .tv_nsec = static_cast<long>(timeout % kSecond)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, timeout < 0 ? nullptr : &most, nullptr, 0);
}

void WakeSleepers(std::atomic<std::uint32_t>& word) {
  constexpr int kAll = 0x7fffffff;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, kAll, nullptr, nullptr, 0);
}

bool SpinUntil(Spin spin, bool (*done)(const void*), const void* context) {
  for (int k = 0; k < spin.pauses; ++k) {
    if (done(context)) return true;
    Pause();
  }
  return done(context);
}

bool CpuEvent::Wait(Spin spin, Nanos patience) {
  if (SpinUntil(spin, [this] { return fired(); })) return true;
  std::uint32_t state = kOpen;
  state_.compare_exchange_strong(state, kSleepers, std::memory_order_acq_rel);
  if (patience != kForEver) {
    if (!fired()) SleepWhile(state_, kSleepers, patience);
    return fired();
  }
  while (!fired()) SleepWhile(state_, kSleepers);
  return true;
}

}  // namespace spillway
