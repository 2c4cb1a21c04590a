#include "calibrate/devices/cuda/bench_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "hw/text/document.h"

namespace spillway {
namespace {

constexpr Bytes kAlignment = 256;

}  // namespace

double CudaTimedCopies::Timed(bool hold, const std::function<void()>& begin, const std::function<void()>& issue) {
  const ReleaseAtEnd release(timer_);
  if (hold) timer_.Hold();
  begin();
  timer_.Start();
  issue();
  timer_.Stop();
  return timer_.Finish();
}

double CudaTimedCopies::TimedHeld(const HeldCopies& copies) {
  const double time = Timed(copies.may_hold && !first_ && !unheld_, copies.begin, copies.issue);
  if (!timer_.ran_out()) return time;
  unheld_ = true;
  copies.before_again();
  return Timed(false, copies.begin, copies.issue);
}

CudaCopySubject::CudaCopySubject(const BenchItem& item, CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                                 Bytes wander, const Clock& host)
    : CudaTimedCopies(item, calls, timer), memory_(memory), host_clock_(host) {
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

int CudaCopySubject::most_runs() const { return way_ == Way::kManaged ? 1 : CudaTimedCopies::most_runs(); }

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

// What the driver does before managed memory moves may wait for the stream.
double CudaCopySubject::RunQueued(int runs) {
  const bool managed = way_ == Way::kManaged;
  const auto issue = [&] {
    for (int k = 0; k < runs; ++k) {
      if (managed) {
        calls_.PrefetchManaged(device_, item_.bytes, direction_ == Direction::kHostToDevice, timer_.stream());
      } else {
        CopyOnce();
      }
    }
  };
  if (beside_ == nullptr) return TimedHeld({.issue = issue, .may_hold = !managed});
  return TimedHeld({.issue = issue,
                    .begin = [&] { beside_->Begin(timer_.stream()); },
                    .before_again = [&] { beside_->EndAndTell(); },
                    .may_hold = !managed});
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

CudaCopiesBeside::CudaCopiesBeside(CudaCalls& calls, CudaBenchMemory& memory, Direction direction, Bytes bytes)
    : calls_(calls), direction_(direction), bytes_(bytes) {
  std::byte* const device = memory.Block("beside").AtLeast(bytes);
  std::byte* const host = memory.Block("beside on the host", CudaPlace::kPinned).AtLeast(bytes);
  const bool in = direction == Direction::kHostToDevice;
  to_ = in ? device : host;
  from_ = in ? host : device;
  stream_ = calls.MakeStream(false);
  go_ = calls.MakeEvent(false);
  end_ = calls.MakeEvent(false);
}

CudaCopiesBeside::~CudaCopiesBeside() {
  try {
    calls_.Synchronize(stream_);     // something may have been thrown while they run
  } catch (const std::exception&) {  // whoever caused it has been told
  }
  calls_.Destroy(end_);
  calls_.Destroy(go_);
  calls_.Destroy(stream_);
}

void CudaCopiesBeside::Begin(CudaStream* stream) {
  calls_.Record(go_, stream);
  calls_.Wait(stream_, go_);
  for (int k = 0; k < copies_; ++k) calls_.Copy(to_, from_, bytes_, direction_, stream_);
  calls_.Record(end_, stream_);
}

bool CudaCopiesBeside::EndAndTell() {
  const bool all_the_time = !calls_.IsDone(end_);
  calls_.Synchronize(end_);
  if (!all_the_time) copies_ = std::min(2 * copies_, kMostCopies);
  return all_the_time;
}

}  // namespace spillway
