#include "calibrate/devices/cuda/staging.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace spillway {

Bytes CudaStaging::HalfFor(Bytes needed, Bytes most) {
  return RoundUp(std::max<Bytes>(1, std::min(needed, most)), kPage);
}

CudaStaging::CudaStaging(CudaCalls& calls, CudaService& service) : calls_(calls), service_(service) {
  for (Half& half : halves_) half.moved = NewEvent(calls, false);
}

void CudaStaging::Use(std::span<std::byte> pinned) {
  assert(!pinned.empty() && pinned.size() % (2 * kPage) == 0);
  half_bytes_ = static_cast<Bytes>(pinned.size() / 2);
  halves_[0].memory = pinned.data();
  halves_[1].memory = pinned.data() + half_bytes_;
}

void CudaStaging::Give(Half& half, std::byte* to, const std::byte* from, Bytes bytes, Direction direction) {
  calls_.Copy(to, from, bytes, direction, service_.stream());
  calls_.Record(half.moved.get(), service_.stream());
  half.in_flight = true;
  next_ = &half == &halves_[0] ? 1 : 0;
}

void CudaStaging::Await(Half& half) {
  if (half.in_flight) service_.Await(half.moved.get());
  half.in_flight = false;
}

void CudaStaging::Upload(std::byte* to, std::span<const std::byte> from) {
  while (!from.empty()) {
    Half& half = halves_[next_];
    const std::size_t piece = std::min(from.size(), static_cast<std::size_t>(half_bytes_));
    Await(half);
    std::memcpy(half.memory, from.data(), piece);
    Give(half, to, half.memory, static_cast<Bytes>(piece), Direction::kHostToDevice);
    to += piece;
    from = from.subspan(piece);
  }
}

void CudaStaging::Download(std::span<std::byte> to, const std::byte* from) {
  Look(from, static_cast<Bytes>(to.size()), Order::kFromBegin, [&](Bytes offset, std::span<const std::byte> piece) {
    std::memcpy(to.data() + offset, piece.data(), piece.size());
    return true;
  });
}

// Two pieces ahead. What was asked for and is not looked at any more is waited for by whoever uses that half next.
void CudaStaging::Look(const std::byte* from, Bytes bytes, Order order, const See& see) {
  const Bytes count = (bytes + half_bytes_ - 1) / half_bytes_;
  const auto begin_of = [&](Bytes k) {
    return order == Order::kFromBegin ? k * half_bytes_ : std::max<Bytes>(0, bytes - (k + 1) * half_bytes_);
  };
  const auto bytes_of = [&](Bytes k) { return k + 1 < count ? half_bytes_ : bytes - (count - 1) * half_bytes_; };
  const std::size_t first = next_;
  const auto half_of = [&](Bytes k) -> Half& { return halves_[(first + static_cast<std::size_t>(k)) % 2]; };
  const auto ask = [&](Bytes k) {
    if (k < count) Give(half_of(k), half_of(k).memory, from + begin_of(k), bytes_of(k), Direction::kDeviceToHost);
  };
  ask(0);
  ask(1);
  for (Bytes k = 0; k < count; ++k) {
    Await(half_of(k));
    if (!see(begin_of(k), {half_of(k).memory, static_cast<std::size_t>(bytes_of(k))})) return;
    ask(k + 2);
  }
}

}  // namespace spillway
