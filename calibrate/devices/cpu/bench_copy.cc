#include "calibrate/devices/cpu/bench_copy.h"

#include <vector>

#include "calibrate/host/pin.h"

namespace spillway {

void CopySubject::Run(int runs) {
  for (int k = 0; k < runs; ++k) {
    if (next_ + bytes_ > memory_.from.bytes()) next_ = 0;
    link_.Copy(direction_, memory_.to.data() + next_, memory_.from.data() + next_, bytes_);
    next_ += bytes_;
  }
}

CopyingBeside::CopyingBeside(CpuLink& link, Direction direction, Bytes bytes, CopyMemory& memory,
                             std::span<const int> cores)
    : subject_(link, direction, bytes, memory), thread_([this, where = std::vector<int>(cores.begin(), cores.end())] {
        PinThisThread(where);
        WakePunctually();
        while (!stop_.load(std::memory_order_acquire)) {
          subject_.Run(1);
          begun_.store(true, std::memory_order_release);
        }
      }) {
  while (!begun_.load(std::memory_order_acquire)) std::this_thread::yield();
}

CopyingBeside::~CopyingBeside() {
  stop_.store(true, std::memory_order_release);
  thread_.join();
}

}  // namespace spillway
