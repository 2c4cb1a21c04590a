#include "calibrate/devices/cpu/stream.h"

#include <bit>
#include <exception>

#include "calibrate/host/pin.h"

namespace spillway {

void StreamFailure::Set(Fault fault, std::uint32_t instruction, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (any()) return;
  fault_ = fault;
  instruction_ = instruction;
  what_ = what;
  any_.store(true, std::memory_order_release);
}

void StreamFailure::Throw() const {
  const std::lock_guard lock(mutex_);
  throw DeviceError(fault_, instruction_, what_);
}

CpuStream::CpuStream(CpuStreamOptions options, Perform perform)
    : options_(std::move(options)),
      perform_(std::move(perform)),
      items_(std::bit_ceil(options_.capacity + 1)),  // one more to stop it
      thread_([this] {
        Run();
        const std::shared_ptr<const void> keep = Leave();  // gone with it may be this stream: nothing comes behind
      }) {
  ready_.Wait(kSpinShared);
}

CpuStream::~CpuStream() { Finish(); }

bool CpuStream::Finish(Nanos patience) {
  if (!thread_.joinable()) return true;
  if (!stopping_) Publish({Item::Kind::kStop, kNoInstruction, nullptr});
  stopping_ = true;
  if (patience != kForEver && !over_.Wait(kSpinShared, patience)) return false;
  thread_.join();
  return true;
}

void CpuStream::Abandon(std::shared_ptr<const void> keep) noexcept {
  {
    const std::lock_guard lock(leaving_);
    if (!left_) {
      keep_ = std::move(keep);
      return thread_.detach();
    }
  }
  thread_.join();  // it came back meanwhile
}

std::shared_ptr<const void> CpuStream::Leave() {
  const std::lock_guard lock(leaving_);
  left_ = true;
  over_.Fire();
  return std::move(keep_);
}

bool CpuStream::Give(const Item& item) {
  if (((count_ - done()) & kCount) >= options_.capacity) return false;
  Publish(item);
  return true;
}

void CpuStream::Publish(const Item& item) {
  items_[count_ & (items_.size() - 1)] = item;
  count_ = (count_ + 1) & kCount;
  if ((given_.exchange(count_ << 1, std::memory_order_acq_rel) & 1) != 0) WakeSleepers(given_);
}

std::uint32_t CpuStream::AwaitMore(std::uint32_t taken) {
  const auto given = [this] { return given_.load(std::memory_order_acquire) >> 1; };
  while (!SpinUntil(options_.spin, [&] { return given() != taken; })) {
    std::uint32_t none = taken << 1;
    if (given_.compare_exchange_strong(none, none | 1, std::memory_order_acq_rel)) SleepWhile(given_, none | 1);
    while (given_.load(std::memory_order_acquire) == ((taken << 1) | 1)) SleepWhile(given_, (taken << 1) | 1);
  }
  return given();
}

void CpuStream::Run() {
  pinned_ = PinThisThread(options_.cores);
  WakePunctually();
  ready_.Fire();
  for (std::uint32_t taken = 0;;) {
    for (const std::uint32_t given = AwaitMore(taken); taken != given;) {
      const Item item = items_[taken & (items_.size() - 1)];
      if (item.kind == Item::Kind::kStop) return;
      Do(item);
      taken = (taken + 1) & kCount;
      done_.store(taken, std::memory_order_release);
    }
  }
}

void CpuStream::Do(const Item& item) {
  switch (item.kind) {
    case Item::Kind::kCall:
      if (!Stopped()) DoCall(item.instruction);
      return;
    case Item::Kind::kRecord:
      return item.event->Fire();
    case Item::Kind::kWait:
      if (!Stopped()) item.event->Wait(options_.spin);
      return;
    case Item::Kind::kStop:
      return;
  }
}

void CpuStream::DoCall(std::uint32_t instruction) {
  if (options_.failure == nullptr) return perform_(instruction);
  try {
    perform_(instruction);
  } catch (const DeviceError& error) {
    options_.failure->Set(error.fault(), error.instruction(), error.what());
  } catch (const std::exception& error) {
    options_.failure->Set(Fault::kFailed, instruction, error.what());
  }
}

CpuStream::Position CpuStream::At() const {
  const std::uint32_t done_now = done();
  if (done_now == count_) return {};
  const Item& item = items_[done_now & (items_.size() - 1)];
  return {item.instruction, item.kind == Item::Kind::kWait};
}

}  // namespace spillway
