// Copies of the CUDA device as they are measured: between it and the host, by kind of memory (Sample::kind); memory that
// comes by faults; copies between two devices.
//
//   pinned            queued one behind the other on a held stream, each from another place to another place
//   pageable          ordinary memory; the call returns when the driver has staged it, so that the host's clock tells
//   pitched           pinned memory whose rows lie apart on the host; the device's side is dense
//   device            from device memory to device memory
//   managed_prefetch  unified memory, brought back before each timing; never more than a quarter of what is free
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_COPY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_COPY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/calls.h"
#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"

namespace spillway {

// ---- Copies that run beside what is measured, for as long as it takes.

// Copies of one size in one direction on a stream of their own, pinned memory on the host's side.
class CudaCopiesBeside {
 public:
  CudaCopiesBeside(CudaCalls& calls, CudaBenchMemory& memory, Direction direction, Bytes bytes);
  ~CudaCopiesBeside();
  CudaCopiesBeside(const CudaCopiesBeside&) = delete;
  CudaCopiesBeside& operator=(const CudaCopiesBeside&) = delete;

  // Issues them; they begin when `stream` gets this far.
  void Begin(CudaStream* stream);
  // Whether they still run, so that they ran all the time; then waits for them. Where they did not, the next time there
  // are twice as many. REQUIRES: what was measured is done.
  bool EndAndTell();
  // Whether more of them could be had.
  bool CanGrow() const { return copies_ < kMostCopies; }

 private:
  static constexpr int kMostCopies = 256;  // a queue takes about a thousand
  CudaCalls& calls_;
  Direction direction_;
  Bytes bytes_;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  CudaStream* stream_ = nullptr;
  CudaEvent* go_ = nullptr;
  CudaEvent* end_ = nullptr;
  int copies_ = 2;
};

// ---- Copies that are measured.

// What they have in common: copies are queued one behind the other on a held stream, but for the first time. Where issuing
// them takes longer than a hold they are timed once more, and from then on, without one.
class CudaTimedCopies : public BenchSubject {
 public:
  void Prepare(int /*runs*/) override {}
  virtual int most_runs() const { return CudaTimer::kMostHeld / 2; }  // of one timing
  bool unheld() const { return unheld_; }                             // their times are not the device's alone

 protected:
  // All must outlive it.
  CudaTimedCopies(const BenchItem& item, CudaCalls& calls, CudaTimer& timer)
      : item_(item), calls_(calls), timer_(timer) {}
  struct HeldCopies {
    std::function<void()> issue;                 // gives the stream what is timed
    std::function<void()> begin = [] {};         // right before, held too
    std::function<void()> before_again = [] {};  // where they have to be timed once more
    bool may_hold = true;
  };
  double TimedHeld(const HeldCopies& copies);  // nanoseconds

  const BenchItem& item_;
  CudaCalls& calls_;
  CudaTimer& timer_;
  bool first_ = true;  // nothing has been timed yet

 private:
  double Timed(bool hold, const std::function<void()>& begin, const std::function<void()>& issue);
  bool unheld_ = false;
};

class CudaCopySubject : public CudaTimedCopies {
 public:
  // All must outlive it. `wander`: bytes that small copies go through. `host`: the clock of copies that the host waits
  // for. UserError: no such kind of memory, or no room for it.
  CudaCopySubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer, Bytes wander,
                  const Clock& host);

  void SetBeside(CudaCopiesBeside* beside) { beside_ = beside; }
  void Prepare(int runs) override;
  void Run(int runs) override;
  int most_runs() const override;

 private:
  enum class Way : std::uint8_t { kQueued, kBlocking, kManaged };
  void TakeMemory(Bytes wander);
  void CopyOnce();
  double RunQueued(int runs);
  double RunBlocking(int runs);
  CudaBenchMemory& memory_;
  const Clock& host_clock_;
  CudaCopiesBeside* beside_ = nullptr;
  Way way_ = Way::kQueued;
  Direction direction_ = Direction::kHostToDevice;
  bool on_device_ = false;
  std::byte* device_ = nullptr;
  std::byte* other_ = nullptr;  // the host's side, or the second place on the device
  Bytes span_ = 0;              // bytes of a copy on the host's side, gaps included
  Bytes places_ = 1, next_ = 0;
};

// ---- Managed memory that comes by faults, nobody having asked for it before (Sample::kind `managed_touch`): to the device,
// where a kernel reads pages that the host touched last; to the host, which reads a byte of each page that the device
// has. Never more than a quarter of what the device has free.
//
// The kernel is a ReLU into memory of the device: what it takes beside the faults is a few percent of them at most.

constexpr const char* kManagedTouch = "managed_touch";

class CudaTouchSubject : public CudaTimedCopies {
 public:
  // All must outlive it. `host`: the clock of what the host touches. UserError: no unified memory whose pages move by
  // faults, or no room.
  CudaTouchSubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                   const Clock& host);
  ~CudaTouchSubject() override;
  CudaTouchSubject(const CudaTouchSubject&) = delete;
  CudaTouchSubject& operator=(const CudaTouchSubject&) = delete;

  void Prepare(int runs) override;  // pages go to where they are to come from
  void Run(int runs) override;      // REQUIRES: one
  int most_runs() const override { return 1; }

 private:
  double RunKernel();
  double RunOnHost();
  const Clock& host_clock_;
  std::byte* managed_ = nullptr;
  void* result_ = nullptr;
  std::unique_ptr<CudaKernel> kernel_;  // nullptr: the host touches
};

// ---- Copies between two GPUs as they are measured: queued one behind the other on a held stream of this device, each from
// another place to another place. Either of the two may be this device.

class CudaPeerSubject : public CudaTimedCopies {
 public:
  // Lets the two devices reach each other's memory for as long as it lives where the copies are to be straight
  // (kPeerCopies), and takes memory of both. All must outlive it. `wander`: bytes that small copies go through.
  // UserError: one of the devices has no room. DeviceError: it refuses.
  CudaPeerSubject(const BenchItem& item, CudaCalls& calls, CudaTimer& timer, Bytes wander);
  ~CudaPeerSubject() override;
  CudaPeerSubject(const CudaPeerSubject&) = delete;
  CudaPeerSubject& operator=(const CudaPeerSubject&) = delete;

  void Run(int runs) override;

 private:
  OwnedMemoryOn Take(int device);
  Bytes step_ = 0, places_ = 1, next_ = 0;
  OwnedMemoryOn from_, to_;
  std::optional<OwnedPeerAccess> there_, back_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_COPY_H_
