#include "calibrate/devices/cuda/bench_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"

namespace spillway {
namespace {

constexpr Bytes kAlignment = 256;
constexpr int kMostQueued = CudaTimer::kMostHeld / 2;

}  // namespace

CudaCopySubject::CudaCopySubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                                 Bytes wander, const Clock& host)
    : item_(item), calls_(calls), memory_(memory), timer_(timer), host_clock_(host) {
  direction_ = item.direction == "d2h" ? Direction::kDeviceToHost : Direction::kHostToDevice;
  on_device_ = item.direction == "d2d";
  if (item.memory == "pageable") way_ = Way::kBlocking;
  if (item.memory == "managed_prefetch") way_ = Way::kManaged;
  span_ = item.row_bytes > 0 ? item.bytes / item.row_bytes * item.pitch_bytes : item.bytes;
  TakeMemory(wander);
}

void CudaCopySubject::TakeMemory(Bytes wander) {
  if (way_ == Way::kManaged) {
    if (!calls_.Properties().managed_memory)
      throw UserError("this device has no unified memory that can be prefetched");
    device_ = memory_.Block("managed", CudaPlace::kManaged).AtLeast(item_.bytes);
    return;
  }
  places_ = std::max<Bytes>(1, wander / RoundUp(span_, kAlignment));
  const bool pageable = way_ == Way::kBlocking;
  const CudaPlace place = on_device_ ? CudaPlace::kDevice : pageable ? CudaPlace::kPageable : CudaPlace::kPinned;
  const char* const name = on_device_ ? "copied to" : pageable ? "pageable" : "pinned";
  device_ = memory_.Block("copied").AtLeast(RoundUp(item_.bytes, kAlignment) * places_);
  other_ = memory_.Block(name, place).AtLeast(RoundUp(span_, kAlignment) * places_);
}

int CudaCopySubject::most_runs() const {
  if (way_ == Way::kManaged) return 1;
  return kMostQueued;
}

void CudaCopySubject::CopyOnce() {
  std::byte* const device = device_ + next_ * RoundUp(item_.bytes, kAlignment);
  std::byte* const other = other_ + next_ * RoundUp(span_, kAlignment);
  next_ = (next_ + 1) % places_;
  if (on_device_) return calls_.CopyOnDevice(other, device, item_.bytes, timer_.stream());
  const bool in = direction_ == Direction::kHostToDevice;
  std::byte* const to = in ? device : other;
  const std::byte* const from = in ? other : device;
  if (item_.row_bytes == 0) return calls_.Copy(to, from, item_.bytes, direction_, timer_.stream());
  const Bytes to_pitch = in ? item_.row_bytes : item_.pitch_bytes;
  const Bytes from_pitch = in ? item_.pitch_bytes : item_.row_bytes;
  calls_.CopyRows(to, to_pitch, from, from_pitch, item_.row_bytes, item_.bytes / item_.row_bytes, direction_,
                  timer_.stream());
}

// Managed memory goes back to where it is to come from.
void CudaCopySubject::Prepare(int /*runs*/) {
  if (way_ != Way::kManaged) return;
  calls_.PrefetchManaged(device_, item_.bytes, direction_ == Direction::kDeviceToHost, timer_.stream());
  calls_.Synchronize(timer_.stream());
}

double CudaCopySubject::TryQueued(int runs, bool hold) {
  const ReleaseAtEnd release(timer_);
  const bool managed = way_ == Way::kManaged;
  if (hold) timer_.Hold();
  if (beside_ != nullptr) beside_->Begin(timer_.stream());
  timer_.Start();
  for (int k = 0; k < runs; ++k) {
    if (managed) {
      calls_.PrefetchManaged(device_, item_.bytes, direction_ == Direction::kHostToDevice, timer_.stream());
    } else {
      CopyOnce();
    }
  }
  timer_.Stop();
  return timer_.Finish();
}

// What the driver does before managed memory moves may wait for the stream.
double CudaCopySubject::RunQueued(int runs) {
  const double time = TryQueued(runs, !first_ && !unheld_ && way_ != Way::kManaged);
  if (!timer_.ran_out()) return time;
  unheld_ = true;
  if (beside_ != nullptr) beside_->EndAndTell();
  return TryQueued(runs, false);
}

double CudaCopySubject::RunBlocking(int runs) {
  const Nanos begin = host_clock_.Now();
  for (int k = 0; k < runs; ++k) {
    CopyOnce();
    calls_.Synchronize(timer_.stream());
  }
  return static_cast<double>(host_clock_.Now() - begin);
}

void CudaCopySubject::Run(int runs) {
  if (way_ == Way::kBlocking) return timer_.Add(RunBlocking(runs));
  double time = RunQueued(runs);
  while (beside_ != nullptr && !beside_->EndAndTell() && !first_) {
    if (!beside_->CanGrow()) {
      throw UserError(fmt::format("{} copies of {}: no number of copies in the other direction lasts as long",
                                  item_.direction, FormatBytes(item_.bytes)));
    }
    time = RunQueued(runs);
  }
  first_ = false;
  timer_.Add(time);
}

}  // namespace spillway
