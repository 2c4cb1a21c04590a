// Copies of the CPU device as subjects of measurement, and as load while something else is measured.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_COPY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_COPY_H_

#include <atomic>
#include <span>
#include <thread>

#include "calibrate/devices/cpu/link.h"
#include "calibrate/host/host_memory.h"
#include "calibrate/measure/loop.h"

namespace spillway {

// Memory of one direction: larger than the last cache by far, so that copies go from memory to memory.
struct CopyMemory {
  explicit CopyMemory(Bytes bytes) : from(bytes), to(bytes) {}
  MappedMemory from, to;
};

// Copies of one size through the link, each from another place to another place. The calling thread copies.
// REQUIRES: the memory holds at least one copy; no other thread uses it.
class CopySubject : public BenchSubject {
 public:
  CopySubject(CpuLink& link, Direction direction, Bytes bytes, CopyMemory& memory)
      : link_(link), direction_(direction), bytes_(bytes), memory_(memory) {}
  void Run(int runs) override;

 private:
  CpuLink& link_;
  Direction direction_;
  Bytes bytes_;
  CopyMemory& memory_;
  Bytes next_ = 0;
};

// A thread that copies until this is destroyed. The constructor returns when copying has begun. Other copies and
// kernels are measured while it runs.
class CopyingBeside {
 public:
  CopyingBeside(CpuLink& link, Direction direction, Bytes bytes, CopyMemory& memory, std::span<const int> cores);
  ~CopyingBeside();
  CopyingBeside(const CopyingBeside&) = delete;
  CopyingBeside& operator=(const CopyingBeside&) = delete;

 private:
  std::atomic<bool> stop_{false}, begun_{false};
  CopySubject subject_;
  std::thread thread_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_COPY_H_
