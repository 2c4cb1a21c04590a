#include <fmt/format.h>

#include <algorithm>

#include "calibrate/devices/cuda/bench_copy.h"
#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/measure/refused.h"

namespace spillway {
namespace {

constexpr Bytes kAlignment = 256;
constexpr double kOfFree = 0.9;  // what is left is others'

}  // namespace

CudaPeerSubject::CudaPeerSubject(const BenchItem& item, CudaCalls& calls, CudaTimer& timer, Bytes wander)
    : CudaTimedCopies(item, calls, timer) {
  step_ = RoundUp(item.bytes, kAlignment);
  places_ = std::max<Bytes>(1, wander / step_);
  from_ = Take(item.from_device);
  to_ = Take(item.to_device);
  if (item.memory != kPeerCopies) return;
  there_.emplace(calls, item.from_device, item.to_device);
  back_.emplace(calls, item.to_device, item.from_device);
}

// Nothing may run any more when memory and access go.
CudaPeerSubject::~CudaPeerSubject() { timer_.Drain(); }

OwnedMemoryOn CudaPeerSubject::Take(int device) {
  const Bytes bytes = step_ * places_, free = calls_.MemoryOf(device).free;
  if (static_cast<double>(bytes) > kOfFree * static_cast<double>(free)) {
    throw NoRoom(fmt::format("{} {} copies of {}: too much of the {} that cuda{} has to spare", item_.link,
                             item_.memory, FormatBytes(item_.bytes), FormatBytes(free), device));
  }
  return NewMemoryOn(calls_, device, bytes);
}

// What the driver stages through the host may wait for the stream.
void CudaPeerSubject::Run(int runs) {
  timer_.Add(TimedHeld({.issue = [&] {
    for (int k = 0; k < runs; ++k) {
      const Bytes at = step_ * next_;
      next_ = (next_ + 1) % places_;
      calls_.CopyPeer(to_.get() + at, item_.to_device, from_.get() + at, item_.from_device, item_.bytes,
                      timer_.stream());
    }
  }}));
  first_ = false;
}

}  // namespace spillway
